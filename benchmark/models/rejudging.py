"""Rejudgings: stored programs that are judged again, and the former versions of their problems."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.urls import reverse

from benchmark.models.judging import Judgement
from benchmark.models.problems import Problem
from benchmark.models.runs import WorkItem


class ProblemVersion(models.Model):
    """The parts of a problem that decide verdicts, as they were before an import replaced them."""

    problem = models.ForeignKey(Problem, on_delete=models.CASCADE, related_name="former_versions")
    content_hash = models.CharField(max_length=64)
    tests = models.JSONField(help_text="Name, origin, and hashes of input and answer of each test, in order.")
    checker = models.JSONField(help_text="judge.Checker as JSON.")
    time_limit = models.FloatField(help_text="Seconds of CPU time.")
    memory_limit = models.BigIntegerField(help_text="Bytes.")
    replaced_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["problem", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["problem", "content_hash"], name="problem_version_once")
        ]

    def __str__(self) -> str:
        return f"{self.problem} {self.content_hash[:8]}"


class Rejudging(models.Model):
    """A request to judge stored programs again. Nothing changes elsewhere before it is applied."""

    class State(models.TextChoices):
        OPEN = "open", "open (former verdicts count)"
        APPLIED = "applied", "applied (new verdicts count)"
        DISCARDED = "discarded"

    reason = models.TextField()
    selection = models.JSONField(
        help_text="What was selected: problems, datasets, runs, studies and sessions."
    )
    changes = models.JSONField(
        help_text="For each problem: tests, checker, limits and judge of the former judgements, and those of now."
    )
    state = models.CharField(max_length=10, choices=State.choices, default=State.OPEN, db_index=True)
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
        help_text="Null: an operator with `manage.py rejudge`.",
    )
    requested_at = models.DateTimeField(auto_now_add=True)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
        help_text="Null: not decided, or an operator with `manage.py rejudge`.",
    )
    decided_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"rejudging {self.pk}"

    def get_absolute_url(self) -> str:
        return reverse("rejudging", args=[self.pk])


class RejudgedProgram(models.Model):
    """A former judgement with the new one of the same program, and the chain or session of the program.

    Equal programs that are judged under equal conditions share the new judgement until the rejudging is applied.
    """

    class Role(models.TextChoices):
        OUTCOME = "outcome", "outcome (the attempt of a chain, or the execution of a session)"
        PROGRAM = "program", "program (another program on all tests)"
        SAMPLES = "samples"

    rejudging = models.ForeignKey(
        Rejudging, on_delete=models.CASCADE, related_name="programs", db_index=False
    )
    before = models.ForeignKey(Judgement, on_delete=models.PROTECT, related_name="rejudged_again")
    after = models.ForeignKey(Judgement, on_delete=models.PROTECT, related_name="rejudged_programs")
    role = models.CharField(max_length=10, choices=Role.choices)
    number = models.PositiveIntegerField(
        help_text="Number of the generation in its session, or of the reply in its chain, from 1."
    )
    work_item = models.ForeignKey(
        WorkItem,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="rejudged_programs",
        help_text="The chain whose program it is. Null: of a session of a tutor.",
    )
    session = models.UUIDField(
        null=True, blank=True, db_index=True, help_text="Id of the session of a tutor. Null: of a chain."
    )

    class Meta:
        ordering = ["rejudging", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["rejudging", "before"], name="judged_again_once_per_rejudging")
        ]

    def __str__(self) -> str:
        return f"{self.rejudging}: judgement {self.before_id}"
