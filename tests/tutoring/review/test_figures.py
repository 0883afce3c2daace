"""Figures link to the sessions that they count; the audit log has filters; no page needs more queries for more rows."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.pseudonyms import pseudonym
from benchmark.metrics import Interval, paired_difference, problem_t
from benchmark.models import Dataset, Problem
from tests.tutoring.review.browsing import client_of, whole
from tests.tutoring.review.conftest import SessionFactory
from tests.tutoring.review.readings import claim, review
from tutoring.actions import Invalidate
from tutoring.checks.checking import check_session
from tutoring.models import AuditEntry, Flag, Protocol, Review, Session, TrainingResult
from tutoring.review.agreement import CoefficientEstimate
from tutoring.templatetags.review_tags import coefficient


def links_to_sessions(page: str) -> set[str]:
    return {link.replace("&amp;", "&") for link in re.findall(r'href="(/review/sessions/\?[^"]+)"', page)}


def counted(client: Client, address: str) -> int:
    """Return the number of sessions in the list of a figure."""
    match = re.search(r'class="soft">(\d+) session', client.get(address).content.decode())
    assert match, address
    return int(match[1])


@pytest.mark.slow
def test_figures_of_agreement_link_to_their_sessions(
    recorded: SessionFactory, rita: User, rolf: User, ada: User, rosa: User
):
    client = client_of(rosa)
    for first, second in ((("F1",), ("F1",)), (("F1",), ("A1",)), (("A2",), ("A2",)), (("F1",), ("F1",))):
        session = recorded("a", "b")
        review(rita, *first)
        review(rolf, *second)
        known = client.get("/review/agreement/").content.decode()
        several = Session.objects.count() > 1
        assert ('class="interval"' in known) == several, "one session gives no interval"
    assert counted(client, "/review/sessions/?measure=verdict&rule_set=1") == 4
    listed = client.get("/review/sessions/?measure=verdict&other_model=m&rule_set=1").content.decode()
    assert re.findall(r'"badge">([^<]+)<', listed)[:2] == ["measure: verdict", "other model: m"]
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
    assert counted(client, f"/review/sessions/?by={pseudonym(rita)}&state=submitted") == 4, (
        "an invalidated session counts as a reviewer's work"
    )
    assert len(links) > 5
    for link in links:
        assert client.get(link).status_code == 200, link
    rows = csv.DictReader(io.StringIO(client.get("/review/labels.csv").content.decode()))
    marked = {(row["session"], row["invalidated"]) for row in rows}
    assert len(marked) == 4
    assert {row for row in marked if row[1]} == {(str(session.pk), "invalidated")}
    # κ of F1 over 6 messages: one said yes 2 times, the other 1, together 1.
    row = page[page.index("Gives the correct algorithm") :]
    assert re.search(r"κ </span>0\.57 <span", row), row[:1500]


def test_invalid_addresses_are_refused(rosa: User):
    client = client_of(rosa)
    for query in (
        "measure=F99",
        "rule_set=99",
        "rule_set=x",
        "measure=",
        "rate=1&protocol=x",
        "rate=1&protocol=99999999999999999999",
    ):
        assert client.get(f"/review/sessions/?{query}").status_code == 400, query


@pytest.mark.slow
def test_solve_rates_separate_compliant_sessions_and_later_attempts(
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
    assert "67 % 2 of 3 unknown problems, no interval" in text[0], text
    assert "50 % 1 of 2" in text[0]
    assert "100 % 1 of 1" in text[0]
    assert "2 of 2" in text[1]
    links = [
        link.replace("&amp;", "&") for link in re.findall(r'href="(/review/sessions/[^"]+)">(?=\d)', rows[0])
    ]
    assert [counted(client, link) for link in links] == [2, 3, 1, 2, 1, 1]


def closed_sessions(problems: Sequence[Problem | None], outcomes: str, model: str = "openai:m") -> None:
    """Create first sessions, one for each letter (s: solved, n: not solved), at the problems in turn."""
    for number, letter in enumerate(outcomes):
        Session.objects.create(
            problem=problems[number % len(problems)],
            model_spec=model,
            number=1,
            origin=Session.Origin.IMPORTED,
            state=Session.State.CLOSED,
            outcome={"s": Session.Outcome.SOLVED, "n": Session.Outcome.NOT_SOLVED}[letter],
        )


def problems_of(dataset: Dataset, count: int) -> list[Problem]:
    return [
        Problem.objects.create(
            dataset=dataset,
            external_id=f"p{number}",
            title=f"P{number}",
            time_limit=1,
            memory_limit=2**26,
            checker={"kind": "tokens"},
        )
        for number in range(count)
    ]


def readable(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub("<[^>]+>", " ", page)).replace(" ;", ";")


def test_sessions_of_one_problem_are_not_independent(doubling: Problem, rosa: User):
    """Wilson over these 24 sessions gives 31 to 69; over the four problems, two always solved, it is far wider."""
    problems = problems_of(doubling.dataset, 4)
    closed_sessions(problems, "ssnn" * 6)
    closed_sessions([None], "s")
    page = readable(client_of(rosa).get("/review/solve-rates/").content.decode())
    low, high = problem_t([1.0, 1.0, 0.0, 0.0]).interval
    assert (low, high) == (0, 1)
    assert "50 % 0 to 100 13 of 25 t, 4 problems; 1 with an unknown problem excluded" in page
    assert "Differences on the same problems" not in page


def test_every_problem_has_the_same_weight(doubling: Problem, rosa: User):
    problems = problems_of(doubling.dataset, 3)
    closed_sessions(problems[:1], "nnnnnnnn")
    closed_sessions(problems[1:], "ss")
    page = readable(client_of(rosa).get("/review/solve-rates/").content.decode())
    assert "67 % 0 to 100 2 of 10 t, 3 problems" in page


def test_one_session_per_problem_gives_wilsons_interval(doubling: Problem, rosa: User):
    closed_sessions(problems_of(doubling.dataset, 3), "ssn")
    page = readable(client_of(rosa).get("/review/solve-rates/").content.decode())
    assert "67 % 21 to 94 2 of 3 Wilson, 3 problems" in page


def test_models_are_compared_on_their_common_problems(doubling: Problem, rosa: User):
    problems = problems_of(doubling.dataset, 14)
    closed_sessions(problems[:12], "ssssssssnnnn")
    closed_sessions(problems[2:], "sssnnnnnnnnn", "openai:n")
    client = client_of(rosa)
    source = client.get("/review/solve-rates/").content.decode()
    interval = paired_difference([1] * 6 + [0] * 4, [1] * 3 + [0] * 7, binary=True).interval
    expected = f"+30 {interval.low * 100:+.0f} to {interval.high * 100:+.0f} Newcombe".replace("-", "−")
    assert expected in readable(source)
    assert "p: 0.250 Holm p: 0.250 Sessions excluded: 4" in readable(source)
    assert "not significant detectable from" in readable(source)
    links = re.findall(r'href="([^"]*other_model[^"]*)"', source)
    assert [counted(client, link.replace("&amp;", "&")) for link in links] == [10, 10]
    closed_sessions(problems[2:3], "n")
    several = readable(client.get("/review/solve-rates/").content.decode())
    assert re.search(r" \+25 \S+ to \S+ t ", several), (
        "with a second session at a problem, the interval is no paired one"
    )


def test_claimed_and_judged_outcomes_share_no_rate_and_no_difference(doubling: Problem, rosa: User):
    problems = problems_of(doubling.dataset, 6)
    closed_sessions(problems, "ssnnnn")
    closed_sessions(problems, "ssssss")
    Session.objects.filter(pk__in=Session.objects.order_by("-recorded_at")[:6]).update(outcome_claimed=True)
    closed_sessions(problems, "nnnnnn", "openai:n")
    client = client_of(rosa)
    source = client.get("/review/solve-rates/").content.decode()
    page = readable(source)
    assert "33 % 10 to 70 2 of 6 Wilson, 6 problems" in page
    assert "1 claimed outcomes" in page
    assert "100 % 61 to 100 6 of 6 Wilson, 6 problems" in page
    differences = page.partition("Differences on the same problems")[2]
    assert differences.count("openai:m") == 1, "the claimed row is compared with nothing"
    links = re.findall(r'href="([^"]*claimed=1[^"]*)"', source)
    assert [counted(client, link.replace("&amp;", "&")) for link in links] == [6, 6, 6]


def test_few_common_problems_are_not_tested(doubling: Problem, rosa: User):
    problems = problems_of(doubling.dataset, 5)
    closed_sessions(problems, "sssss")
    closed_sessions(problems, "nnnnn", "openai:n")
    page = readable(client_of(rosa).get("/review/solve-rates/").content.decode())
    assert "+100 +55 to +100 bound" in page
    assert "p: – Holm p: –" in page


@pytest.mark.parametrize(("value", "shown"), [(-0.001, "0.00"), (-0.0, "0.00"), (-0.006, "-0.01")])
def test_no_coefficient_is_a_negative_zero(value: float, shown: str):
    assert coefficient(CoefficientEstimate(value, None)) == shown
    figure = coefficient(CoefficientEstimate(value, Interval(-0.004, 0.2)))
    assert figure == f'{shown} <span class="interval">0.00 to 0.20</span>'


def test_the_audit_log_names_person_action_and_time_and_has_filters(
    recorded: SessionFactory, rita: User, rolf: User, ada: User
):
    session = recorded()
    review(rita), review(rolf)
    client = client_of(ada)
    page = client.get("/review/audit/").content.decode()
    assert page.count("Submit review</option>") == 1
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
    "/problems/", "/sessions/", "/trajectories/", "/program-scores/", "/review/", "/review/agreement/",
    "/review/solve-rates/", "/review/sessions/?reviews=2", "/review/sessions/?measure=F1",
    "/review/detectors/", "/review/detectors/messages/?detector=all+detectors&clause=F1&outcome=missed",
    "/review/audit/", "/review/labels.csv", "/training/", "/training/results/",
    "/trajectories/export.jsonl",
)  # fmt: skip
READINGS = ("/review/sessions/{settled}/", "/review/reviews/{held}/", "/trajectories/{settled}/")


@pytest.mark.slow
def test_no_page_needs_more_queries_for_more_rows(
    recorded: SessionFactory, rita: User, rolf: User, ada: User, doubling: Problem
):
    """Every list page and every page of one session needs as many queries for eight rows as for four."""
    client, protocol = client_of(ada), Protocol.objects.get(name="usaco-2024")

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
        Session.objects.filter(pk=held.session_id).update(code_generations=0)  # removes it from the queue
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
    Review.objects.filter(reviewer=ada).update(state=Review.State.SKIPPED, slot=None)
    many = more(4, 6)
    assert asked(addresses(many)) == first
    assert max(first.values()) <= 20, first
