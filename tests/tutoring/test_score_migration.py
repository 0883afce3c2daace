"""Rows of older versions: near misses become program scores, and processes keep their rows."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from benchmark.models import Judgement, Runner
from tests.benchmark.runs.processes import run_apart, use_var
from tutoring.models import ProgramScore, Session
from tutoring.scores.records import to_records

BEFORE = [("tutoring", "0011_salt_to_accounts"), ("benchmark", "0029_ties_coverage_and_tags")]
PROGRAM = "print(2 * int(input()))"
MEASURED = datetime(2026, 1, 2, tzinfo=UTC)
FIGURES = {
    "verdict": "TLE", "passed": 2, "total": 3, "passed_prefix": 1, "first_failing": "hidden-1",
    "correct_but_slow": True, "fault": "", "policy": "fair", "judge_version": "2", "problem_hash": "0" * 64,
}  # fmt: skip


def store_old_rows() -> None:
    executor = MigrationExecutor(connection)
    executor.migrate(BEFORE)
    old = executor.loader.project_state(BEFORE).apps
    dataset = old.get_model("benchmark", "Dataset").objects.create(name="practice", format="icpc")
    problem = old.get_model("benchmark", "Problem").objects.create(
        dataset=dataset, external_id="doubling", title="Doubling", statement="", statement_format="markdown",
        statement_html="", time_limit=1.0, memory_limit=2**28, checker={}, content_hash="1" * 64,
    )  # fmt: skip
    session = old.get_model("tutoring", "Session").objects.create(
        problem=problem, language="python", state="closed"
    )
    for seq, figures in ((1, {"attempts": 1, "measured_at": MEASURED, **FIGURES}), (2, {})):
        event = old.get_model("tutoring", "Event").objects.create(
            session=session, seq=seq, kind="reply", data={"code": PROGRAM}
        )
        old.get_model("tutoring", "NearMiss").objects.create(
            session=session, event=event, generation=seq, distance_to_final=0.5, **figures
        )
    old.get_model("benchmark", "Runner").objects.create(
        name="one", alone_with="some work", seen_at=MEASURED, model_spec="m"
    )


def check_migrated_rows(var: Path) -> None:
    use_var(var)
    store_old_rows()
    call_command("migrate", verbosity=0)
    runner = Runner.objects.get()
    assert (runner.owner, runner.exclusive_key, runner.lease_until) == ("one", "some work", MEASURED)
    assert to_records(Session.objects.get()) == [
        {
            "event": 1, "generation": 1, "distance_to_previous": None, "distance_to_final": 0.5,
            "measured_at": MEASURED.isoformat(), "near_limit": False, **FIGURES,
        }
    ]  # fmt: skip
    measured, waiting = ProgramScore.objects.order_by("generation")
    assert measured.judgement is None
    assert waiting.figures is None
    judgement = Judgement.objects.get()
    assert waiting.judgement == judgement
    assert (judgement.state, judgement.purpose, judgement.submission.source) == ("queued", "score", PROGRAM)
    assert (judgement.stop_at_first_failure, judgement.problem_hash) == (False, "1" * 64)


@pytest.mark.slow
def test_rows_of_older_versions_are_kept(tmp_path: Path) -> None:
    run_apart(check_migrated_rows, tmp_path)
