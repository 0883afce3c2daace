"""The list of problems: the tutor's own status, the order of the columns, and the next unsolved problem."""

from __future__ import annotations

import re
from datetime import date

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from benchmark.models import LanguageModel, Problem
from tests.tutoring.conftest import PersonFactory
from tests.tutoring.dialogues import start
from tests.tutoring.review.browsing import client_of
from tests.tutoring.studies.designs import design_data
from tutoring.models import Protocol, Session
from tutoring.protocols import PRESETS, freeze
from tutoring.studies.actions import FreezeStudy
from tutoring.studies.design import parse_design

NAMES = ("2_a", "10_b", "9_c", "100_d")


@pytest.fixture
def bank(doubling: Problem) -> dict[str, Problem]:
    """Four problems that differ in every column."""
    doubling.delete()
    found = {}
    for index, name in enumerate(NAMES):
        found[name] = Problem.objects.create(
            dataset=doubling.dataset,
            external_id=name,
            title=f"Problem {name}",
            tier=("gold", "bronze", "silver", "")[index],
            time_limit=(2, 10, 0.5, 4)[index],
            memory_limit=(256, 64, 1024, 512)[index] * 2**20,
            contest_date=(date(2020, 2, 1), None, date(2019, 12, 1), date(2021, 1, 1))[index],
            statement="",
            statement_format="markdown",
            checker={"kind": "tokens"},
            content_hash="0" * 64,
        )
    return found


def listed(client: Client, query: str = "") -> list[str]:
    """Return the ids in the order of the page."""
    page = client.get(f"/problems/?{query}").content.decode()
    return re.findall(r'<span class="identifier" title="practice/(\w+)"', page)


def rows(client: Client, query: str) -> int:
    """Return the number of rows on the page."""
    return client.get(f"/problems/?{query}").content.decode().count("row-link")


def counts(page: str, name: str) -> dict[str, int]:
    """Return the numbers beside the choices of a filter."""
    found = re.findall(rf'id="{name}-([\w-]+)"[^>]*>(?:[^<]*\()?(\d+)\)?<', page)
    return {value: int(count) for value, count in found}


def held(tutor: User, problem: Problem, protocol: Protocol, **columns: object) -> Session:
    started = start(tutor, problem, protocol)
    Session.objects.filter(pk=started.pk).update(**columns)
    return started


SOLVED = {"state": "closed", "outcome": "solved"}


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("", ["2_a", "9_c", "10_b", "100_d"]),
        ("-id", ["100_d", "10_b", "9_c", "2_a"]),
        ("title", ["2_a", "9_c", "10_b", "100_d"]),
        ("tier", ["10_b", "9_c", "2_a", "100_d"]),
        ("-tier", ["2_a", "9_c", "10_b", "100_d"]),
        ("date", ["9_c", "2_a", "100_d", "10_b"]),
        ("-date", ["100_d", "2_a", "9_c", "10_b"]),
        ("time", ["9_c", "2_a", "100_d", "10_b"]),
        ("memory", ["10_b", "2_a", "100_d", "9_c"]),
        ("tests", ["2_a", "9_c", "10_b", "100_d"]),
        ("no-such-column", ["2_a", "9_c", "10_b", "100_d"]),
    ],
)
def test_columns_sort_numbers_as_numbers_and_unknown_values_last(
    alice: User, bank: dict[str, Problem], sort: str, order: list[str]
):
    assert listed(client_of(alice), f"sort={sort}") == order


def test_headings_name_the_order_and_reverse_it(alice: User, bank: dict[str, Problem]):
    page = client_of(alice).get("/problems/?tier=gold&sort=time").content.decode()
    assert 'aria-sort="ascending"><a class="sort" href="?tier=gold&amp;sort=-time">Time</a>' in page
    assert page.count("aria-sort") == 1
    assert '<input type="hidden" name="sort" value="time">' in page, "a filter keeps the order"


def test_status_is_that_of_the_visitors_own_sessions(
    alice: User, bob: User, rita: User, bank: dict[str, Problem], protocol: Protocol
):
    held(alice, bank["2_a"], protocol, state="closed", outcome="not_solved")
    held(alice, bank["2_a"], protocol, **SOLVED)
    held(alice, bank["9_c"], protocol)
    held(alice, bank["10_b"], protocol, state="closed", outcome="abandoned")
    held(bob, bank["100_d"], protocol, **SOLVED)
    client = client_of(alice)
    expected = {"solved": "2_a", "open": "9_c", "attempted": "10_b", "new": "100_d"}
    assert {status: listed(client, f"status={status}") for status in expected} == {
        status: [name] for status, name in expected.items()
    }
    page = client.get("/problems/").content.decode()
    assert counts(page, "status") == {"solved": 1, "open": 1, "attempted": 1, "new": 1}
    assert listed(client, "sort=status") == ["2_a", "9_c", "10_b", "100_d"]
    reviewers_page = client_of(rita).get("/problems/?status=solved&sort=status").content.decode()
    assert "My status" not in reviewers_page
    assert reviewers_page.count("row-link") == len(NAMES), "without a status there is no filter by it"


@pytest.mark.parametrize(
    "query", ["", "tier=gold", "status=solved", "dataset=practice&status=new", "text=2_a", "text=9&tier=gold"]
)
def test_numbers_beside_the_filters_are_those_after_a_press(
    alice: User, bank: dict[str, Problem], protocol: Protocol, query: str
):
    held(alice, bank["2_a"], protocol, **SOLVED)
    held(alice, bank["10_b"], protocol, **SOLVED)
    client = client_of(alice)
    page = client.get(f"/problems/?{query}").content.decode()
    for name, values in (
        ("tier", {"gold", "silver", "bronze"}),
        ("status", {"solved", "new"}),
        ("dataset", {"practice"}),
    ):
        # A later value of one name replaces the earlier one.
        pressed = {value: rows(client, f"{query}&{name}={value}") for value in values}
        assert counts(page, name) == pressed, name


def test_numbers_beside_the_filters_take_no_further_query(
    alice: User, bank: dict[str, Problem], protocol: Protocol
):
    client = client_of(alice)
    client.get("/problems/")
    numbers = []
    for query in ("", "tier=gold&status=new&dataset=practice"):
        with CaptureQueriesContext(connection) as queries:
            client.get(f"/problems/?{query}")
        numbers.append(len(queries))
    assert numbers[0] == numbers[1]


def test_status_says_nothing_of_an_outcome_that_the_protocol_hides(alice: User, bank: dict[str, Problem]):
    blind = freeze("blind", PRESETS["usaco-2024"].with_settings(title="Blind", tutor_sees="nothing"))
    held(alice, bank["2_a"], blind, **SOLVED)
    held(alice, bank["9_c"], blind, state="closed", outcome="not_solved")
    client = client_of(alice)
    assert listed(client, "status=attempted") == ["2_a", "9_c"]
    assert listed(client, "status=solved") == []
    assert "Next unsolved: Problem 2_a" in client.get("/problems/").content.decode()


def test_status_is_the_outcome_that_the_tutor_saw_before_a_rejudging(
    alice: User, bank: dict[str, Problem], protocol: Protocol
):
    held(alice, bank["2_a"], protocol, state="closed", outcome="not_solved", former_outcome="solved")
    held(alice, bank["9_c"], protocol, state="closed", outcome="solved", former_outcome="not_solved")
    client = client_of(alice)
    assert listed(client, "status=solved") == ["2_a"]
    assert listed(client, "status=attempted") == ["9_c"]
    page = client.get("/sessions/?status=solved").content.decode()
    assert "Problem 2_a" in page
    assert "Problem 9_c" not in page


def test_an_invalidated_session_solves_nothing(alice: User, bank: dict[str, Problem], protocol: Protocol):
    held(alice, bank["2_a"], protocol, **SOLVED, invalidated=True)
    assert listed(client_of(alice), "status=attempted") == ["2_a"]


def test_next_unsolved_follows_the_order_of_the_list_and_of_the_dataset(
    alice: User, bank: dict[str, Problem], protocol: Protocol
):
    held(alice, bank["2_a"], protocol, **SOLVED)
    client = client_of(alice)
    assert "Next unsolved: Problem 9_c" in client.get("/problems/").content.decode()
    assert "Next unsolved: Problem 100_d" in client.get("/problems/?sort=-id").content.decode()
    assert "Next unsolved" not in client.get("/problems/?status=solved").content.decode()
    of_page = [client.get(bank[name].get_absolute_url()).content.decode() for name in ("9_c", "100_d")]
    assert "Next unsolved: Problem 10_b" in of_page[0]
    assert "Next unsolved: Problem 9_c" in of_page[1], "the first ones follow the last ones"


def test_next_unsolved_is_no_problem_that_a_study_closes(
    person: PersonFactory, alice: User, bob: User, bank: dict[str, Problem]
):
    LanguageModel.objects.create(label="m", spec="openai:m")
    data = design_data(problems={"dataset": "practice", "only": ["2_a"]}, tutors=["alice", "bob"])
    FreezeStudy(None, parse_design(data), accept_gate=True).execute()
    assert "Next unsolved: Problem 9_c" in client_of(alice).get("/problems/").content.decode()


@pytest.mark.slow
def test_list_reads_no_statement_and_needs_no_query_for_each_row(
    alice: User, bank: dict[str, Problem], protocol: Protocol
):
    client = client_of(alice)

    def queries() -> list[str]:
        with CaptureQueriesContext(connection) as captured:
            client.get("/problems/")
        return [query["sql"] for query in captured.captured_queries]

    few = queries()
    for number in range(30):
        problem = Problem.objects.get(external_id="2_a")
        problem.pk, problem.external_id = None, f"{number}_more"
        problem._state.adding = True
        problem.save()
        held(alice, problem, protocol, **SOLVED)
    assert len(queries()) == len(few)
    assert not any('"statement"' in sql or '"analysis"' in sql for sql in few)
