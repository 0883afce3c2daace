"""Rows of older versions: near misses become program scores, and processes keep their rows."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from benchmark.models import Judgement, Runner
from tutoring.models import ProgramScore, Session
from tutoring.scores.records import to_records

BEFORE = [("tutoring", "0011_salt_to_accounts"), ("benchmark", "0029_ties_coverage_and_tags")]
SESSION = UUID(int=1)
PROGRAM = "print(2 * int(input()))"
MEASURED = datetime(2026, 1, 2, tzinfo=UTC)
FIGURES = {
    "verdict": "TLE", "passed": 2, "total": 3, "passed_prefix": 1, "first_failing": "hidden-1",
    "correct_but_slow": True, "fault": "", "policy": "fair", "judge_version": "2", "problem_hash": "0" * 64,
}  # fmt: skip


def store_old_rows(old: Any) -> None:
    dataset = old.get_model("benchmark", "Dataset").objects.create(name="practice", format="icpc")
    problem = old.get_model("benchmark", "Problem").objects.create(
        dataset=dataset, external_id="doubling", title="Doubling", statement="", statement_format="markdown",
        statement_html="", time_limit=1.0, memory_limit=2**28, checker={}, content_hash="1" * 64,
    )  # fmt: skip
    session = old.get_model("tutoring", "Session").objects.create(
        pk=SESSION, problem=problem, language="python", state="closed"
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


def check_migrated_rows() -> None:
    runner = Runner.objects.get()
    assert (runner.owner, runner.exclusive_key, runner.lease_until) == ("one", "some work", MEASURED)
    assert to_records(Session.objects.get(pk=SESSION)) == [
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


def test_rows_of_older_versions_are_kept(check_upgraded: Callable[..., None]) -> None:
    check_upgraded(check_migrated_rows)
