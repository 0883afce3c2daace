"""The review pages: from the queue to a submission, and who may read a review at which time."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.models import User

from accounts.pseudonyms import pseudonym
from benchmark.models import Problem
from tests.tutoring.review.browsing import client_of, post, whole
from tests.tutoring.review.conftest import SessionFactory
from tests.tutoring.review.readings import claim, reading, review, submit
from tutoring.checks.checking import check_session
from tutoring.models import AuditEntry, Protocol, Review, Session
from tutoring.protocols import freeze, rules_of
from tutoring.rules import current_rule_set

FORM = {
    "clause-1": ["A2"], "level-1": "1", "stage-1": "planning",
    "clause-3": ["F1", "A4"], "level-3": "4", "note-3": "Names it.",
    "quote-3": [json.dumps({"clause": "F1", "start": 6, "end": 12})],
    "verdict": "minor", "worst": "3", "comment": "Only once.",
}  # fmt: skip


def test_a_review_from_the_queue_to_its_submission(recorded: SessionFactory, rita: User):
    session = recorded("Look at the sample.", "Use a 🐄heap.")
    client = client_of(rita)
    status, answer = post(client, "/review/next/", kind="review")
    address = answer["address"]
    assert status == 200
    page = client.get(address).content.decode()
    assert "Use a 🐄heap." in page
    assert 'name="clause-3"' in page
    status, answer = post(client, f"{address}draft/", **FORM | {"verdict": ""})
    assert (status, answer["accepted"]) == (200, True)
    page = client.get(address).content.decode()
    assert re.search(r'value="F1" data-key="1" checked', page)
    assert "Names it." in page
    status, answer = post(client, f"{address}submit/", **FORM | {"level-1": ""})
    assert (status, answer["message"]) == (409, "Message 1 has no level yet.")
    status, answer = post(client, f"{address}submit/", **FORM)
    assert (status, answer["address"]) == (200, address)
    done = Review.objects.get(session=session)
    assert (done.state, done.verdict, done.slot) == ("submitted", "minor", 1)
    assert done.content["messages"][1]["quotes"] == [
        {"clause": "F1", "start": 6, "end": 12, "exact": "🐄heap.", "prefix": "Use a "}
    ]
    page = client.get(address).content.decode()
    assert '<mark data-clauses="F1">🐄heap.</mark>' in page
    assert "Only once." in page
    assert "Your review" in page


def test_all_own_submitted_reviews_are_listed_in_pages(
    recorded: SessionFactory, rita: User, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("tutoring.views.reviews.DONE_PAGE_SIZE", 2)
    addresses: list[str] = []
    for _ in range(3):
        recorded("Look at the sample.")
        done = claim(rita)
        submit(done, reading(done.session))
        addresses.insert(0, done.get_absolute_url())
    client = client_of(rita)

    def listed(query: str) -> list[str]:
        table = client.get(f"/review/{query}").content.decode().partition('id="done-heading"')[2]
        return re.findall(r'<a class="row-link" href="([^"?]+)\?origin=\w+"', table)

    assert listed("?origin=all") == addresses[:2]
    assert 'href="?origin=all&amp;done=2"' in client.get("/review/?origin=all").content.decode()
    assert listed("?origin=all&done=2") == addresses[2:]
    assert listed("?done=none") == addresses[:2]


def test_the_queue_shows_human_sessions_unless_others_are_chosen(recorded: SessionFactory, rita: User):
    human, automatic = recorded(), recorded()
    Session.objects.filter(pk=automatic.pk).update(origin=Session.Origin.AUTOMATIC)
    client = client_of(rita)

    def queue(query: str) -> tuple[str, list[tuple[str, str]]]:
        """Return the chosen filter, and all filters with their counts; each is a link, reachable by keyboard."""
        page = client.get(f"/review/{query}").content.decode()
        links = re.findall(r'<a href="\?origin=(\w+)"( aria-current="page")?>[\w ]+ \((\d+)\)</a>', page)
        [chosen] = [name for name, current, _ in links if current]
        assert page.count(f'name="origin" value="{chosen}"') == 1
        return chosen, [(name, count) for name, _, count in links]

    counts = [("people", "1"), ("automatic", "1"), ("all", "2")]
    assert queue("") == ("people", counts)
    assert queue("?origin=automatic") == ("automatic", counts)
    assert "reviews do not show the origin" in client.get("/review/?origin=all").content.decode()
    assert client.get("/review/?origin=robots").status_code == 400

    for origin, session in (("people", human), ("automatic", automatic)):
        _, answer = post(client, "/review/next/", kind="review", origin=origin)
        [held] = Review.objects.filter(session=session)
        assert answer["address"] == f"{held.get_absolute_url()}?origin={origin}"
        assert AuditEntry.objects.get(session=session).data["origins"] == origin
        submit(held, reading(session))
    page = client.get("/review/").content.decode()
    assert "Human sessions (0)" in page
    assert "No session is available in this queue." in page


def test_reviewers_stay_in_the_queue_that_they_have_chosen(recorded: SessionFactory, rita: User):
    sessions = [recorded("a") for _ in range(3)]
    Session.objects.filter(pk__in=[one.pk for one in sessions[1:]]).update(origin=Session.Origin.AUTOMATIC)
    client, queue = client_of(rita), "/review/?origin=automatic"
    field = '<input type="hidden" name="origin" value="automatic">'

    def next_review() -> str:
        _, answer = post(client, "/review/next/", kind="review", origin="automatic")
        assert answer["address"].endswith("/?origin=automatic")
        return str(answer["address"])

    def send(address: str, command: str, **form: object) -> dict[str, Any]:
        page = client.get(address).content.decode()
        assert page.count(field) == 3, "each form of the page"
        assert f'href="{queue}"' in page
        return post(client, f"{address.partition('?')[0]}{command}/", origin="automatic", **form)[1]

    first = next_review()
    assert send(first, "skip", reason=" ") == {
        "accepted": False, "message": "Give a reason for skipping this session.", "address": first,
    }  # fmt: skip
    assert send(first, "skip", reason="I know it.")["address"] == queue
    second = next_review()
    form = {"clause-1": ["A2"], "level-1": "1", "verdict": "compliant"}
    assert send(second, "submit", **form)["address"] == second
    page = client.get(second).content.decode()
    assert "Review next session" in page
    assert field in page
    assert f'href="{queue}"' in page
    _, answer = post(client, "/review/next/", kind="review", origin="automatic")
    assert (answer["message"], answer["address"]) == ("No session needs your review now.", queue)


@pytest.mark.parametrize("state", ["skipped", "withdrawn"])
def test_the_page_of_a_skipped_or_withdrawn_review_has_no_form(
    recorded: SessionFactory, rita: User, state: str
):
    recorded("Look at the sample.")
    held = claim(rita)
    Review.objects.filter(pk=held.pk).update(state=state, slot=None)
    page = client_of(rita).get(held.get_absolute_url()).content.decode()
    assert f'<span class="badge">{state}</span>' in page
    assert "Other reviewers can get the session." in page
    assert "review-form" not in page
    assert "reservation" not in page


def test_a_plain_form_works_and_keeps_the_chosen_labels(recorded: SessionFactory, rita: User):
    recorded("Look at the sample.", "Use a heap, now.")
    client = client_of(rita)
    answer = client.post("/review/next/", {"command": str(uuid4()), "kind": "review"}, follow=True)
    address = answer.redirect_chain[-1][0]
    answer = client.post(
        f"{address}submit/", FORM | {"command": str(uuid4()), "verdict": "compliant"}, follow=True
    )
    assert "but one is chosen in 3" in answer.content.decode()
    assert re.search(r'value="F1" data-key="1" checked', answer.content.decode())


IMPOSSIBLE: tuple[tuple[str, object], ...] = (
    ("clause-1", ["F9"]),
    ("level-1", "7"),
    ("level-1", "high"),
    ("stage-1", "sleeping"),
    ("verdict", "fine"),
    ("worst", "2"),
    ("comment", "a\0b"),
    ("note-1", "x" * 10_001),
    ("quote-1", ["{"]),
    ("quote-1", ["[" * 100_000]),
    ("quote-1", ['{"clause": "A2", "start": 0, "end": Infinity}']),
    ("quote-1", ['{"clause": "A2", "start": 0, "end": 1e400}']),
    ("level-1", ["9" * 5_000]),
    ("quote-1", [json.dumps({"clause": "F1", "start": 0, "end": 3})]),
    ("quote-1", [json.dumps({"clause": "A2", "start": 0, "end": 900})]),
    ("quote-1", [json.dumps({"clause": "A2", "start": 3, "end": 3})]),
    ("quote-1", [json.dumps({"clause": "A2", "start": -3, "end": 3})]),
)


def test_labels_that_no_page_sends_are_refused(recorded: SessionFactory, rita: User):
    recorded("Look at the sample.", "Use a heap, now.")
    held = claim(rita)
    client = client_of(rita)
    for field, value in IMPOSSIBLE:
        status, answer = post(client, f"/review/reviews/{held.pk}/draft/", **FORM | {field: value})
        assert (status, answer["accepted"]) == (400, False), (field, value)
        held.refresh_from_db()
        assert "Only once." not in json.dumps(held.content)


@pytest.mark.slow
def test_nobody_reads_a_review_before_both_are_submitted(
    recorded: SessionFactory, rita: User, rolf: User, rosa: User, ada: User
):
    session = recorded()
    alone = review(rita, "F1", comment="SECRET-COMMENT")
    ada.is_staff = ada.is_superuser = True
    ada.save()
    held = claim(rolf)
    own = f"/review/reviews/{alone.pk}/"
    beside = f"/review/sessions/{session.pk}/?rule_set=1"
    assert beside not in client_of(rita).get(own).content.decode()
    addresses = (
        "/review/", "/review/agreement/", "/review/labels.csv", "/review/sessions/?reviews=1",
        f"/review/sessions/{session.pk}/", f"/trajectories/{session.pk}/", f"/trajectories/{session.pk}/page.html",
        f"/trajectories/{session.pk}/export.jsonl", f"/review/reviews/{held.pk}/",
    )  # fmt: skip

    def body(user: User, address: str) -> str:
        return whole(client_of(user).get(address))

    for user in (rolf, rosa, ada):
        for address in addresses:
            assert "SECRET-COMMENT" not in body(user, address), (user, address)
    for address in (
        "/review/audit/",
        "/admin/tutoring/review/",
        f"/admin/tutoring/review/{alone.pk}/change/",
    ):
        page = body(ada, address)
        assert str(alone.pk) in page
        assert "SECRET-COMMENT" not in page
        assert "minor" not in page
    submit(held, reading(session, "F1"))
    assert beside in body(rita, own)
    assert "SECRET-COMMENT" in body(rolf, f"/review/sessions/{session.pk}/")
    assert "SECRET-COMMENT" in body(rosa, f"/trajectories/{session.pk}/export.jsonl")
    assert "SECRET-COMMENT" in body(rosa, "/review/labels.csv")


def test_the_adjudicator_sees_both_reviews_side_by_side(
    recorded: SessionFactory, rita: User, rolf: User, judy: User
):
    recorded("a", "b")
    review(rita, "F1", comment="It names it.")
    review(rolf, "A1", comment="A structure only.")
    held = claim(judy, adjudicates=True)
    page = client_of(judy).get(f"/review/reviews/{held.pk}/").content.decode()
    for shown in ("It names it.", "A structure only.", "Review 1", "Review 2", "differing"):
        assert shown in page
    assert pseudonym(rita) not in page, "adjudicators do not see the names of reviewers"
    submit(held, reading(held.session, "F1", comment="Both words are in the analysis."))
    beside = f"/review/sessions/{held.session_id}/"
    assert beside in client_of(judy).get(f"/review/reviews/{held.pk}/").content.decode()
    page = client_of(rita).get(beside).content.decode()
    assert "Both words are in the analysis." in page
    assert '<span class="badge bad">F1</span>' in page, "forbidden and allowed clauses have different badges"
    assert '<span class="badge good">A1</span>' in page


def test_reasons_for_clauses_are_asked_for_shown_and_exported(
    recorded: SessionFactory, rita: User, rolf: User, judy: User, rosa: User
):
    session = recorded("a", "b")
    review(rita, "F1")
    review(rolf, "A1")
    held = claim(judy, adjudicates=True)
    client, address = client_of(judy), held.get_absolute_url()
    page = client.get(address).content.decode()
    fields = re.findall(r'name="reason-(\d)-(\w\d)" rows="1" maxlength="10000"( data-required)?', page)
    required = [(seq, clause) for seq, clause, mark in fields if mark]
    assert required == [("1", "F1"), ("1", "A1")]
    assert len(fields) == 2 * len(current_rule_set().clauses)
    form = {
        "clause-1": ["F1"], "level-1": "4", "clause-3": ["A6"], "level-3": "0", "verdict": "minor", "worst": "1",
        "comment": "It does.", "reason-1-F1": " It gives it away.\r\nSee the analysis. ",
    }  # fmt: skip
    status, answer = post(client, f"{address}submit/", **form)
    assert (status, answer["message"]) == (409, "Message 1 needs a reason for A1: the reviews differ on it.")
    assert "It gives it away.\nSee the analysis.</textarea>" in client.get(address).content.decode()
    status, _ = post(client, f"{address}submit/", **form, **{"reason-1-A1": "More than a structure."})
    assert status == 200
    for shown in (address, f"/review/sessions/{session.pk}/", f"/trajectories/{session.pk}/page.html"):
        page = client.get(shown).content.decode()
        assert "Reason for F1: It gives it away." in page
        assert "Reason against A1: More than a structure." in page
    text = client_of(rosa).get("/review/labels.csv").content.decode()
    reasons = [row["reasons"] for row in csv.DictReader(io.StringIO(text)) if row["reasons"]]
    assert reasons == ["F1: It gives it away.\nSee the analysis. | A1: More than a structure."]
    assert "More than a structure." in whole(client_of(rosa).get(f"/trajectories/{session.pk}/export.jsonl"))


def test_problem_and_verdict_rule_are_beside_the_dialogue(
    recorded: SessionFactory, doubling: Problem, protocol: Protocol, rita: User
):
    session = recorded(tutor="person-7", model="openai:some-model")
    Session.objects.filter(pk=session.pk).update(problem=doubling)
    held = claim(rita)
    page = client_of(rita).get(held.get_absolute_url()).content.decode()
    pane = page[page.index('id="problem"') : page.index('id="dialogue"')]
    for shown in ("Read a number and print twice the number.", "SECRET-ANALYSIS", "Sample 1"):
        assert shown in pane
    assert "The record names no protocol" in pane
    assert "The tutor may tell the model whether a program is right, and no more of a verdict." in pane
    rules = rules_of(protocol).with_settings(tutor_may_say="samples", tutor_sees="full")
    Session.objects.filter(pk=session.pk).update(protocol=freeze("other", rules))
    pane = client_of(rita).get(held.get_absolute_url()).content.decode()
    assert "The tutor may tell the model whether a program is right and which samples it passes" in pane
    assert "record names no protocol" not in pane
    for hidden in ("some-model", "person-7"):
        assert hidden not in pane, "reviewers are blind to model and tutor"


def test_a_review_without_a_known_problem_says_so(recorded: SessionFactory, rita: User):
    recorded()
    held = claim(rita)
    page = client_of(rita).get(held.get_absolute_url()).content.decode()
    assert "The statement of this problem is not on this site." in page


def test_csv_has_a_row_for_each_message_of_each_review(
    recorded: SessionFactory, rita: User, rolf: User, rosa: User
):
    session = recorded("a", "b")
    recorded("not reviewed")
    review(rita, "F1", comment="=1+1")
    review(rolf, "F1")
    text = client_of(rosa).get("/review/labels.csv").content.decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [(row["session"], row["message"], row["clauses"]) for row in rows] == [
        (str(session.pk), "1", "F1"), (str(session.pk), "3", "A6"),
    ] * 2  # fmt: skip
    assert rows[0]["comment"] == "'=1+1", "a spreadsheet must not read a comment as a formula"


def test_a_session_as_one_page_is_self_contained(recorded: SessionFactory, rita: User, rolf: User):
    session = recorded("Use a <b>heap</b>.")
    review(rita, "F1", comment="Look.")
    review(rolf, "F1")
    answer = client_of(rita).get(f"/trajectories/{session.pk}/page.html")
    page = answer.content.decode()
    assert "attachment" in answer.headers["Content-Disposition"]
    assert not re.search(r'<(script|link|img)|url\((?!#)|src="', page)
    for shown in ("Use a &lt;b&gt;heap&lt;/b&gt;.", "print", "Review 1", "Look.", "--accent", ".findings"):
        assert shown in page


def test_a_session_as_one_page_shows_findings_to_its_reviewers_and_researchers(
    recorded: SessionFactory, rita: User, rolf: User, judy: User, rosa: User
):
    session = recorded("Solve it.", "You misunderstand the problem: it wants the minimum, not the maximum.")
    explanation = check_session(session).findings.earliest("pk").explanation
    review(rita, "F1")
    review(rolf, "F1")
    for reader, sees_findings in ((judy, False), (rita, True), (rosa, True)):
        page = whole(client_of(reader).get(f"/trajectories/{session.pk}/page.html"))
        assert (explanation in html.unescape(page)) == sees_findings, reader


def test_assignment_on_the_queue_page(recorded: SessionFactory, rolf: User, ada: User):
    session = recorded()
    client = client_of(ada)
    assert f'value="{session.pk}"' in client.get(f"/review/?session={session.pk}").content.decode()
    assert f"/review/?session={session.pk}" in client.get(f"/trajectories/{session.pk}/").content.decode()
    assert post(client, "/review/assign/", session="nonsense", reviewer="rolf")[0] == 409
    assert post(client, "/review/assign/", session=uuid4(), reviewer="rolf")[0] == 409
    assert post(client, "/review/assign/", session=session.pk, reviewer="nobody")[0] == 409
    assert post(client, "/review/assign/", session=session.pk, reviewer="rolf")[0] == 200
    page = client_of(rolf).get("/review/").content.decode()
    assert "assigned" in page
    assert Review.objects.get().assigned_by == ada


def test_an_unknown_review_is_not_found(rita: User, db: None):
    assert client_of(rita).get(f"/review/reviews/{UUID(int=0)}/").status_code == 404
