"""The pages of reviews: who sees what, when, and at what cost."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import Any
from uuid import UUID, uuid4

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from benchmark.models import Problem
from tests.tutoring.conftest import PersonFactory
from tests.tutoring.review.conftest import SessionFactory
from tests.tutoring.review.readings import claim, reading, review, submit
from tutoring.actions import Invalidate, check_session
from tutoring.models import AuditEntry, Flag, Protocol, Review, Session, TrainingResult
from tutoring.roles import pseudonym


def client_of(user: User | None) -> Client:
    client = Client()
    if user is not None:
        client.force_login(user)
    return client


@pytest.fixture
def people(
    person: PersonFactory, alice: User, rita: User, rolf: User, judy: User, rosa: User, ada: User
) -> dict[str, User | None]:
    return {
        "nobody": None,
        "roleless": person("nora"),
        "tutor": alice,
        "reviewer": rita,
        "other reviewer": rolf,
        "adjudicator": judy,
        "researcher": rosa,
        "admin": ada,
    }


REVIEWERS = {"reviewer", "other reviewer", "adjudicator", "admin"}
READERS = {*REVIEWERS, "researcher"}
FIGURES = {"adjudicator", "researcher", "admin"}


@pytest.mark.parametrize(
    ("address", "allowed"),
    [
        ("/review/", REVIEWERS),
        ("/review/sessions/", READERS),
        ("/review/sessions/{session}/", READERS),
        ("/review/reviews/{review}/", {"reviewer"}),
        ("/review/agreement/", FIGURES),
        ("/review/solve-rates/", FIGURES),
        ("/review/labels.csv", FIGURES),
        ("/review/detectors/", FIGURES),
        ("/review/detectors/messages/?detector=all+detectors&clause=F1&outcome=missed", FIGURES),
        ("/review/audit/", {"admin"}),
        ("/trajectories/{session}/", READERS),
        ("/trajectories/{session}/page.html", READERS),
        ("/trajectories/{session}/export.jsonl", READERS),
    ],
)
def test_pages_open_for_their_roles_only(
    people: dict[str, User | None], recorded: SessionFactory, rita: User, rolf: User, address: str,
    allowed: set[str],
):  # fmt: skip
    session = recorded()
    done = review(rita, "F1")
    review(rolf, "F1")
    for name, user in people.items():
        status = client_of(user).get(address.format(session=session.pk, review=done.pk)).status_code
        expected = {200} if name in allowed else {302} if user is None else {403, 404}
        assert status in expected, f"{name} got {status}"


@pytest.mark.parametrize(
    ("address", "may"),
    [
        ("/review/next/", REVIEWERS),
        ("/review/assign/", {"admin"}),
        ("/review/reviews/{review}/withdraw/", {"admin"}),
        ("/review/flags/{flag}/answer/", {"admin"}),
        ("/review/reviews/{review}/draft/", {"reviewer"}),
        ("/review/reviews/{review}/submit/", {"reviewer"}),
        ("/review/reviews/{review}/skip/", {"reviewer"}),
        ("/review/reviews/{review}/flag/", {"reviewer"}),
    ],
)
def test_commands_are_for_those_who_may_give_them(
    people: dict[str, User | None], recorded: SessionFactory, rita: User, address: str, may: set[str]
):
    recorded("Go on."), recorded("Go on.")
    held = claim(rita)
    raised = Flag.objects.create(session=held.session, raised_by=rita, reason="?", raised_at=held.opened_at)
    form = {
        "kind": "review",
        "reason": "No.",
        "answer": "Yes.",
        "session": held.session_id,
        "reviewer": "rolf",
    }
    for name in sorted(people, key=lambda name: name in may):
        client = client_of(people[name])
        path = address.format(review=held.pk, flag=raised.pk)
        assert client.get(path).status_code in (302, 403, 405)
        before = AuditEntry.objects.count()
        status = client.post(path, form | {"command": str(uuid4())}, headers={"Accept": "application/json"})
        if name in may:
            assert status.status_code in (200, 409), f"{name} got {status.status_code}"
        else:
            assert status.status_code in (302, 403, 404), f"{name} got {status.status_code}"
            assert AuditEntry.objects.count() == before


def post(client: Client, path: str, **form: object) -> tuple[int, dict]:
    answer = client.post(path, {"command": str(uuid4()), **form}, headers={"Accept": "application/json"})
    return answer.status_code, answer.json()


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
    assert (done.state, done.verdict, done.place) == ("submitted", "minor", 1)
    assert done.content["messages"][1]["quotes"] == [
        {"clause": "F1", "start": 6, "end": 12, "exact": "🐄heap.", "prefix": "Use a "}
    ]
    page = client.get(address).content.decode()
    assert '<mark data-clauses="F1">🐄heap.</mark>' in page
    assert "Only once." in page
    assert "Your review" in page


def test_a_plain_form_works_too_and_keeps_what_was_chosen(recorded: SessionFactory, rita: User):
    recorded("Look at the sample.", "Use a heap, now.")
    client = client_of(rita)
    answer = client.post("/review/next/", {"command": str(uuid4()), "kind": "review"}, follow=True)
    address = answer.redirect_chain[-1][0]
    answer = client.post(
        f"{address}submit/", FORM | {"command": str(uuid4()), "verdict": "compliant"}, follow=True
    )
    assert "a forbidden one is chosen in 3" in answer.content.decode()
    assert re.search(r'value="F1" data-key="1" checked', answer.content.decode())


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("clause-1", ["F9"]),
        ("level-1", "7"),
        ("level-1", "high"),
        ("stage-1", "sleeping"),
        ("verdict", "fine"),
        ("worst", "2"),
        ("comment", "a\0b"),
        ("note-1", "x" * 10_001),
        ("quote-1", ["{"]),
        ("quote-1", [json.dumps({"clause": "F1", "start": 0, "end": 3})]),
        ("quote-1", [json.dumps({"clause": "A2", "start": 0, "end": 900})]),
        ("quote-1", [json.dumps({"clause": "A2", "start": 3, "end": 3})]),
        ("quote-1", [json.dumps({"clause": "A2", "start": -3, "end": 3})]),
    ],
)
def test_labels_that_no_page_sends_are_refused(
    recorded: SessionFactory, rita: User, field: str, value: object
):
    recorded("Look at the sample.", "Use a heap, now.")
    held = claim(rita)
    status, answer = post(client_of(rita), f"/review/reviews/{held.pk}/draft/", **FORM | {field: value})
    assert (status, answer["accepted"]) == (400, False)
    held.refresh_from_db()
    assert "Only once." not in json.dumps(held.content)


def whole(answer: Any) -> str:
    """The body of a page, or of a download that comes in pieces."""

    async def pieces() -> bytes:
        return b"".join([piece async for piece in answer])

    return (async_to_sync(pieces)() if answer.streaming else answer.content).decode()


def test_nobody_reads_a_review_before_both_are_in(
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
    assert pseudonym(rita) not in page, "an adjudicator judges arguments, not people"
    submit(held, reading(held.session, "F1", comment="Both words are in the analysis."))
    page = client_of(rita).get(f"/review/sessions/{held.session_id}/").content.decode()
    assert "Both words are in the analysis." in page
    assert '<span class="badge bad">F1</span>' in page, "what is forbidden does not look allowed"
    assert '<span class="badge good">A1</span>' in page


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
    assert rows[0]["comment"] == "'=1+1", "no spreadsheet may take it for a formula"


def test_a_session_as_one_page_needs_nothing_else(recorded: SessionFactory, rita: User, rolf: User):
    session = recorded("Use a <b>heap</b>.")
    review(rita, "F1", comment="Look.")
    review(rolf, "F1")
    answer = client_of(rita).get(f"/trajectories/{session.pk}/page.html")
    page = answer.content.decode()
    assert "attachment" in answer.headers["Content-Disposition"]
    assert not re.search(r'<(script|link|img)|url\((?!#)|src="', page)
    for shown in ("Use a &lt;b&gt;heap&lt;/b&gt;.", "print", "Review 1", "Look.", "--accent", ".findings"):
        assert shown in page


def links_to_sessions(page: str) -> set[str]:
    return {link.replace("&amp;", "&") for link in re.findall(r'href="(/review/sessions/\?[^"]+)"', page)}


def counted(client: Client, address: str) -> int:
    """How many sessions the list behind a figure holds."""
    match = re.search(r'class="soft">(\d+) session', client.get(address).content.decode())
    assert match, address
    return int(match[1])


def test_figures_of_agreement_lead_to_their_sessions(
    recorded: SessionFactory, rita: User, rolf: User, ada: User, rosa: User
):
    for first, second in ((("F1",), ("F1",)), (("F1",), ("A1",)), (("A2",), ("A2",)), (("F1",), ("F1",))):
        session = recorded("a", "b")
        review(rita, *first)
        review(rolf, *second)
    client = client_of(rosa)
    assert counted(client, "/review/sessions/?measure=verdict&rule_set=1") == 4
    Invalidate(session_id=session.pk, person=ada, command=uuid4(), reason="No tutor.").execute()
    page = client.get("/review/agreement/").content.decode()
    links = links_to_sessions(page)
    assert counted(client, "/review/sessions/?measure=verdict&rule_set=1") == 3
    assert counted(client, "/review/sessions/?reviews=2&rule_set=1") == 3
    assert counted(client, "/review/sessions/?reviews=1&rule_set=1") == 0
    assert counted(client, "/review/sessions/?measure=F1&rule_set=1") == 3
    assert counted(client, "/review/sessions/?measure=F1&differing=1&rule_set=1") == 1
    assert counted(client, "/review/sessions/?measure=A3&differing=1&rule_set=1") == 0
    assert counted(client, "/review/sessions/?settled=disputed") == 1
    assert counted(client, "/review/sessions/?settled=settled") == 2
    assert counted(client, f"/review/sessions/?by={pseudonym(rita)}&state=submitted") == 4, "work is work"
    for link in links:
        assert client.get(link).status_code == 200, link
    rows = csv.DictReader(io.StringIO(client.get("/review/labels.csv").content.decode()))
    marked = {(row["session"], row["invalidated"]) for row in rows}
    assert len(marked) == 4
    assert {row for row in marked if row[1]} == {(str(session.pk), "invalidated")}
    # κ of F1 over 6 messages: one said yes 2 times, the other 1, together 1.
    row = page[page.index("Gives the correct algorithm") :]
    assert re.search(r"κ </span>0\.57 <span", row), row[:1500]


@pytest.mark.parametrize(
    "query",
    [
        "measure=F99",
        "rule_set=99",
        "rule_set=x",
        "measure=",
        "rate=1&protocol=x",
        "rate=1&protocol=99999999999999999999",
    ],
)
def test_addresses_that_mean_nothing_are_refused(rosa: User, query: str):
    assert client_of(rosa).get(f"/review/sessions/?{query}").status_code == 400


def test_solve_rates_tell_all_from_compliant_and_first_from_later(
    recorded: SessionFactory, rita: User, rolf: User, rosa: User
):
    for number, outcome, clause in (
        (1, "solved", "F1"), (1, "solved", "A1"), (1, "not_solved", "A1"), (2, "solved", "A1"), (3, "solved", ""),
    ):  # fmt: skip
        recorded("a", number=number, outcome=outcome, model="openai:m")
        if clause:
            review(rita, clause), review(rolf, clause)
    recorded("a", number=1, outcome="unknown", model="openai:m")
    recorded("a", number=1, outcome="solved", model="openai:m", invalidated=True)
    client = client_of(rosa)
    page = client.get("/review/solve-rates/").content.decode()
    rows = re.findall(r"<tr>\s*<th.*?</tr>", page, re.DOTALL)[1:] or re.findall(
        r"<tr>\s*<th scope=.row.*?</tr>", page, re.DOTALL
    )
    text = [re.sub(r"\s+", " ", re.sub("<[^>]+>", " ", row)) for row in rows]
    assert "67 % 21 to 94 2 of 3" in text[0], text
    assert "50 % 9 to 91 1 of 2" in text[0]
    assert "100 % 21 to 100 1 of 1" in text[0]
    assert "2 of 2" in text[1]
    links = [
        link.replace("&amp;", "&") for link in re.findall(r'href="(/review/sessions/[^"]+)">(?=\d)', rows[0])
    ]
    assert [counted(client, link) for link in links] == [2, 3, 1, 2, 1, 1]


def test_the_audit_log_names_who_what_and_when_and_is_filtered(
    recorded: SessionFactory, rita: User, rolf: User, ada: User
):
    session = recorded()
    review(rita), review(rolf)
    client = client_of(ada)
    page = client.get("/review/audit/").content.decode()
    assert page.count("SubmitReview</option>") == 1
    for within in (page, client.get(f"/review/sessions/{session.pk}/").content.decode()):
        assert 'aria-current="true">Review</a>' in within
    entry = AuditEntry.objects.filter(action="SubmitReview", person=rita).get()
    assert str(entry.command) in page
    page = client.get(f"/review/audit/?person=rita&action=SubmitReview&session={session.pk}").content.decode()
    assert "1 entry" in page
    assert client.get("/review/audit/?session=x").status_code == 400
    page = client.get(f"/review/audit/?command={entry.command}").content.decode()
    assert "1 entry" in page


LISTS = (
    "/problems/", "/sessions/", "/trajectories/", "/near-misses/", "/review/", "/review/agreement/",
    "/review/solve-rates/", "/review/sessions/?reviews=2", "/review/sessions/?measure=F1",
    "/review/detectors/", "/review/detectors/messages/?detector=all+detectors&clause=F1&outcome=missed",
    "/review/audit/", "/review/labels.csv", "/training/", "/training/results/",
    "/trajectories/export.jsonl",
)  # fmt: skip
READINGS = ("/review/sessions/{settled}/", "/review/reviews/{held}/", "/trajectories/{settled}/")


def test_no_page_asks_more_questions_for_more_rows(
    recorded: SessionFactory, rita: User, rolf: User, ada: User, alice: User, doubling: Problem,
    protocol: Protocol,
):  # fmt: skip
    """Every list page, and every page of one session: as many queries with eight rows as with four."""
    client = client_of(ada)

    def more(count: int, messages: int) -> dict[str, UUID]:
        for _ in range(count):
            one = recorded(*["a"] * messages)
            check_session(one)
            for person in (rita, rolf):
                assert review(person, "F1").session == one
            Flag.objects.create(session=one, raised_by=rita, reason="?", raised_at=timezone.now())
            TrainingResult.objects.create(person=rita, rule_set=1, answers={}, right=1, messages=1)
            number = Session.objects.filter(tutor=ada).count() + 1
            Session.objects.create(tutor=ada, problem=doubling, protocol=protocol, number=number)
        recorded(*["a"] * messages)
        held = claim(ada)
        Session.objects.filter(pk=held.session_id).update(code_generations=0)  # nobody else is given it
        return {"settled": one.pk, "held": held.pk}

    def asked(addresses: dict[str, str]) -> dict[str, int]:
        found = {}
        for name, address in addresses.items():
            with CaptureQueriesContext(connection) as queries:
                answer = client.get(address)
                whole(answer)
            assert answer.status_code == 200, address
            found[name] = len(queries)
        return found

    def addresses(about: dict[str, UUID]) -> dict[str, str]:
        return {address: address.format(**about) for address in (*LISTS, *READINGS)}

    few = more(4, 2)
    first = asked(addresses(few))
    Review.objects.filter(reviewer=ada).update(state=Review.State.SKIPPED, place=None)
    many = more(4, 6)
    assert asked(addresses(many)) == first
    assert max(first.values()) <= 20, first


def test_assignment_by_the_page(recorded: SessionFactory, rolf: User, ada: User):
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
