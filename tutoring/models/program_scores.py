"""How close each program of a session came to being right: for researchers, hidden from tutors."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile
from typing import Self

from django.db import models
from django.utils import timezone

import judge
from benchmark.models import Judgement
from tutoring.models.sessions import Event, Session


@dataclass(frozen=True)
class ScoreFigures:
    """The figures of a program that was judged on all tests. Those that are unknown are None or blank."""

    measured_at: datetime
    verdict: str
    passed: int | None
    total: int | None
    passed_prefix: int | None
    """Number of tests passed before the first failed test."""
    first_failing: str
    """Name of the first failed test."""
    correct_but_slow: bool | None
    """Whether the program passes all tests, but some of them only with several times the time limit."""
    fault: str
    """Why the judge could not measure the program."""
    policy: str
    judge_version: str
    problem_hash: str
    near_limit: bool = False
    """Whether a slightly different time would have changed the verdict."""

    @classmethod
    def of_judgement(cls, judgement: Judgement) -> Self | None:
        """Return the figures of a score's judgement; None before it has ended."""
        if judgement.finished_at is None:
            return None
        if judgement.state == Judgement.State.FAILED:
            return cls(
                judgement.finished_at,
                "",
                None,
                None,
                None,
                "",
                None,
                judgement.fault,
                "",
                "",
                judgement.problem_hash,
            )
        result = judgement.result or {}
        tests = result.get("tests", [])
        prefix = list(takewhile(lambda test: test["verdict"] == judge.Verdict.AC, tests))
        failed = tests[len(prefix) :]
        no_code = judgement.verdict == judge.Verdict.NO_CODE
        return cls(
            measured_at=judgement.finished_at,
            verdict=judgement.verdict,
            passed=judgement.passed,
            total=None if no_code else judgement.total,
            passed_prefix=len(prefix),
            first_failing=failed[0]["name"] if failed else "",
            correct_but_slow=None if no_code else judgement.relaxed_verdict == judge.Verdict.AC,
            fault="",
            policy="" if no_code else judgement.policy,
            judge_version="" if no_code else result.get("judge_version", ""),
            problem_hash=judgement.problem_hash,
            near_limit=judgement.near_limit,
        )


class ProgramScore(models.Model):
    """One generation of code, judged on all tests after its session has closed.

    The judgement holds the figures. Those that were imported, or measured by an older version, are in `figures_record`.
    """

    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="program_scores")
    event = models.OneToOneField(Event, on_delete=models.CASCADE, related_name="program_score")
    generation = models.PositiveIntegerField()
    distance_to_previous = models.FloatField(
        null=True,
        blank=True,
        help_text="Share of tokens that differ from the previous program, 0 to 1. Null: the first program.",
    )
    distance_to_final = models.FloatField(
        help_text="Share of tokens that differ from the last program of the session, 0 to 1."
    )
    judgement = models.OneToOneField(
        Judgement, null=True, blank=True, on_delete=models.PROTECT, related_name="program_score"
    )
    figures_record = models.JSONField(
        null=True,
        blank=True,
        help_text="The figures where no judgement holds them, by their names in exports.",
    )
    recorded_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-recorded_at", "session", "generation"]
        constraints = [
            models.UniqueConstraint(
                fields=["session", "generation"], name="program_score_once_per_generation"
            ),
            models.CheckConstraint(
                condition=models.Q(judgement__isnull=True, figures_record__isnull=False)
                | models.Q(judgement__isnull=False, figures_record__isnull=True),
                name="program_score_has_one_source",
            ),
        ]

    def __str__(self) -> str:
        verdict = self.figures.verdict if self.figures else "not measured yet"
        return f"generation {self.generation} of {self.session_id}: {verdict}"

    @property
    def figures(self) -> ScoreFigures | None:
        """The figures of the program; None before it is measured."""
        if self.judgement is not None:
            return ScoreFigures.of_judgement(self.judgement)
        record = self.figures_record
        assert record is not None  # as the constraint promises
        return ScoreFigures(**{**record, "measured_at": datetime.fromisoformat(record["measured_at"])})
