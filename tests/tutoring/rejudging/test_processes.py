"""Rejudgings by real processes: kill -9 of the command, and the switch-over on PostgreSQL."""

from __future__ import annotations

import json
import shutil
import signal
import time
from pathlib import Path

import pytest
from django.contrib.auth.models import Group, User

from benchmark.models import Problem
from judge import SandboxStatus
from tests.benchmark.runs.conftest import CommandSandbox
from tests.benchmark.runs.processes import run_apart, use_var
from tests.cached_fixtures import add_database
from tests.fake_providers import FakeProviders
from tests.postgres import Postgres
from tests.problems import store_doubling
from tests.stack import HANG
from tests.tutoring.dialogues import SessionUnderTest, start
from tests.tutoring.rejudging.corrections import DOUBLE, TRIPLE, correct, hold, store_run
from tutoring.models import Protocol

pytestmark = pytest.mark.slow

PROGRAMS = 24
STATES = (
    "select state, count(*) from benchmark_judgement where rejudging_id is not null group by state order by 1"
)


def make_site(var: Path) -> None:
    """Store a corrected problem and a run whose programs all differ."""
    use_var(var)
    problem: Problem = store_doubling()
    programs = [
        f"import time\nend = time.process_time() + 0.05\nwhile time.process_time() < end: pass\n"
        f"x = int(input())\nprint({number} if x == 3 else 2 * x)"
        for number in range(PROGRAMS)
    ]
    store_run(problem, *programs)
    correct(problem)


def test_a_killed_rejudging_is_resumed_without_judging_twice(tmp_path: Path, sandbox: SandboxStatus):
    assert sandbox.available
    var = tmp_path / "var"
    var.mkdir()
    site = CommandSandbox(add_database(var), FakeProviders())
    run_apart(make_site, var)
    command = site.start(
        "rejudge", "--dataset", "practice", "--reason", "answers corrected", "--inline", "--jobs", "1"
    )
    done = "select count(*) from benchmark_judgement where rejudging_id is not null and state = 'done'"
    end = time.monotonic() + HANG
    while site.rows(done)[0][0] < 5:
        assert time.monotonic() < end, command.errors()
        time.sleep(0.05)
    command.signal(signal.SIGKILL)
    assert command.wait()[0] == -signal.SIGKILL
    judged = dict(
        site.rows(
            "select id, finished_at from benchmark_judgement where rejudging_id is not null and state = 'done'"
        )
    )
    assert 5 <= len(judged) < 2 * PROGRAMS
    site.manage("rejudge", "--resume", "1", "--inline", "--jobs", "2", "--json")
    assert site.rows(STATES) == [("done", 2 * PROGRAMS)]
    again = dict(site.rows("select id, finished_at from benchmark_judgement where rejudging_id is not null"))
    assert {pk: again[pk] for pk in judged} == judged, "no judged program is judged again"
    [(claims,)] = site.rows("select sum(attempt) from benchmark_judgement where rejudging_id is not null")
    assert claims <= 2 * PROGRAMS + 1, "only the program in progress is judged twice"
    site.manage("rejudge", "--apply", "1")
    assert site.rows("select count(*) from benchmark_judgement where not counts") == [(2 * PROGRAMS,)]
    shutil.rmtree(var)


def make_held_site(var: Path, database: str) -> None:
    """Store a corrected problem with a run and a session of a tutor."""
    use_var(var, database)
    problem = store_doubling()
    tutor = User.objects.create_user("tutor")
    tutor.groups.set(Group.objects.filter(name="tutor"))
    protocol = Protocol.objects.get(name="usaco-2024")
    hold(SessionUnderTest(start(tutor, problem, protocol), tutor), TRIPLE, DOUBLE)
    store_run(problem, DOUBLE, TRIPLE, DOUBLE)
    correct(problem)


def test_a_rejudging_is_applied_on_postgresql(postgres: Postgres, tmp_path: Path, sandbox: SandboxStatus):
    assert sandbox.available
    var, database = tmp_path / "var", postgres.new_database()
    var.mkdir()
    run_apart(make_held_site, var, database)
    site = CommandSandbox(var, FakeProviders(), database)
    begun = ("rejudge", "--dataset", "practice", "--reason", "answers corrected", "--inline", "--json")
    found = json.loads(site.manage(*begun)[0])
    assert (found["programs_to_judge"], found["judged"], found["comparison"]["changed"]) == (7, 7, 6)
    site.manage("rejudge", "--apply", "1")
    assert site.rows(
        "select verdict, count(*) from benchmark_judgement where counts group by 1 order by 1"
    ) == [
        ("AC", 5),
        ("WA", 4),
    ]
    assert site.rows("select outcome, former_outcome from tutoring_session") == [("not_solved", "solved")]
    assert site.rows("select count(*) from tutoring_event where kind = 'rejudged'") == [(1,)]
    shown = json.loads(site.manage("rejudge", "--show", "1", "--json")[0])
    assert shown["comparison"] == found["comparison"]
