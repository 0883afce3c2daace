"""Measured speeds of machines, and the time factors that follow from them."""

from __future__ import annotations

from django.db import models

HOST_LENGTH = 200
SCOPE_LENGTH = 140


class SpeedMeasurement(models.Model):
    """One measurement of the speed of a machine (judge.MachineSpeed)."""

    host = models.CharField(max_length=HOST_LENGTH, help_text="Name and processor of the machine.")
    factor = models.FloatField(
        help_text="CPU time of the reference programs, divided by that on the reference machine."
    )
    spread = models.FloatField(help_text="Largest relative difference between repetitions.")
    times = models.JSONField(help_text="CPU seconds of the reference programs by language.")
    measured_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-measured_at"]
        indexes = [models.Index(fields=["host", "-measured_at"])]

    def __str__(self) -> str:
        return f"{self.host}: {self.factor:.2f}"


class TimeFactor(models.Model):
    """The factor by which one machine multiplies scaled time limits in one scope. It never changes."""

    scope = models.CharField(
        max_length=SCOPE_LENGTH,
        help_text="run:ID, study:NAME@VERSION, suite:ID, problem:ID or day:DATE (UTC).",
    )
    host = models.CharField(max_length=HOST_LENGTH)
    factor = models.FloatField()
    measured = models.FloatField(help_text="The measured factor before it was quantized.")
    fixed_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-fixed_at"]
        constraints = [
            models.UniqueConstraint(fields=["host", "scope"], name="time_factor_once_per_scope_and_host")
        ]

    def __str__(self) -> str:
        return f"{self.scope} on {self.host}: {self.factor:g}"
