"""Measured growth of programs, and comparisons of programs with a slow one on small inputs."""

from __future__ import annotations

from django.db import models
from django.urls import reverse

from benchmark.models.judging import Submission
from benchmark.models.leases import GROWTH_LEASE, Claimable
from benchmark.models.machine_speed import HOST_LENGTH


class GrowthCurve(Claimable):
    """The CPU time of a program on generated inputs of growing size. A program has one for each recipe and judge."""

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed", "failed (not measurable)"

    LEASE = GROWTH_LEASE
    WAITING = State.QUEUED
    HELD = State.RUNNING

    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="growth_curves")
    recipe_hash = models.CharField(
        max_length=64, help_text="sha256 of the generators, validators and problem."
    )
    judge_version = models.CharField(max_length=40)
    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED, db_index=True)
    points = models.JSONField(
        null=True, blank=True, help_text="Sizes, CPU seconds and fits of every size argument, and the limits."
    )
    parameter = models.CharField(
        max_length=40, blank=True, help_text="The size argument of the largest slope."
    )
    slope = models.FloatField(null=True, blank=True, help_text="Null: no stable growth, or too few points.")
    slope_low = models.FloatField(null=True, blank=True)
    slope_high = models.FloatField(null=True, blank=True)
    host = models.CharField(
        max_length=HOST_LENGTH, blank=True, default="", help_text="The machine that measured. Blank: unknown."
    )
    time_factor = models.FloatField(
        default=1.0, help_text="Factor of the time limit besides that of the language: machine and dataset."
    )
    fault = models.TextField(blank=True, help_text="Why the program was not measured.")
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["submission", "recipe_hash", "judge_version"], name="growth_curve_once"
            )
        ]

    def __str__(self) -> str:
        return f"growth of {self.submission}: {self.state}"

    def get_absolute_url(self) -> str:
        return reverse("growth", args=[self.submission_id])


class SlowComparison(models.Model):
    """The outputs of a program and of a slow program for the same problem on small generated inputs."""

    slow = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="+")
    candidate = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="+")
    recipe_hash = models.CharField(
        max_length=64, help_text="sha256 of the generators, validators and problem."
    )
    judge_version = models.CharField(max_length=40)
    compared = models.PositiveIntegerField(help_text="Inputs on which both programs were run.")
    difference = models.JSONField(
        null=True,
        blank=True,
        help_text="The smallest input with different outputs, and both outputs. Null: no difference.",
    )
    slow_is_wrong = models.BooleanField(
        null=True,
        help_text="Whether a reference solution contradicts the slow program. Null: no reference could decide.",
    )
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["slow", "candidate", "recipe_hash", "judge_version"], name="slow_comparison_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.candidate} beside {self.slow}"
