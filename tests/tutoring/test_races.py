"""Concurrent commands on SQLite and on PostgreSQL never exceed a budget."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cached_fixtures import add_database
from tests.postgres import Postgres

Results = dict[str, tuple[list[str], int]]


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def races(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, repository: Path
) -> Results:
    """The results of tests.tutoring.race on one kind of database: answers and number of rows by race."""
    environment = {
        **os.environ,
        "HINTBENCH_VAR": str(add_database(tmp_path_factory.mktemp("race"))),
        "DJANGO_SETTINGS_MODULE": "config.settings",
    }
    environment.pop("DATABASE_URL", None)
    if request.param == "postgres":
        server: Postgres = request.getfixturevalue("postgres")
        environment["DATABASE_URL"] = server.new_database()
    command = [sys.executable, "-m", "tests.tutoring.race"]
    result = subprocess.run(
        command, cwd=repository, env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    found: Results = json.loads(result.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("race", ["last_generation", "execution", "opening"])
def test_only_one_of_many_gets_what_is_left(races: Results, race: str):
    answers, rows = races[race]
    assert answers.count("accepted") == 1, answers
    assert all(answer == "accepted" or answer.startswith("RefusedError: ") for answer in answers), answers
    assert rows == 1


def test_the_same_command_from_many_tabs_is_carried_out_once(races: Results):
    answers, rows = races["repeated_command"]
    assert set(answers) == {"accepted"}
    assert rows == 1


def test_only_one_of_many_streamers_claims_a_reply(races: Results):
    answers, claims = races["claim"]
    assert set(answers) == {"accepted"}
    assert claims == 1


def test_workers_that_claim_at_once_respect_a_persons_share(races: Results):
    answers, held = races["fair_share"]
    assert set(answers) == {"accepted"}
    assert held == 1


def test_a_session_has_no_more_than_two_reviewers(races: Results):
    answers, places = races["review_places"]
    assert answers.count("accepted") == 2, answers
    assert set(answers) == {"accepted", "RefusedError: No session needs your review now."}
    assert places == 2


def test_only_one_of_many_admins_assigns_the_same_sessions(races: Results):
    answers, reviews = races["bulk_assignment"]
    assert answers.count("accepted") == 1, answers
    refused = "RefusedError: The sessions have changed: 0 reviews would be assigned now, not 12."
    assert all(answer == "accepted" or answer.startswith(refused) for answer in answers), answers
    assert reviews == 12


def test_a_reviewer_with_many_tabs_holds_one_session(races: Results):
    answers, held = races["review_tabs"]
    assert set(answers) == {"accepted"}
    assert held == 1


def test_fifty_tutors_who_ask_at_once_get_fifty_different_assignments(races: Results):
    answers, assignments = races["next_sessions"]
    assert answers == ["accepted"] * 50
    assert assignments == 50


def test_a_tutor_with_many_tabs_holds_one_assigned_session(races: Results):
    answers, sessions = races["next_session_tabs"]
    assert set(answers) == {"accepted"}
    assert sessions == 1
