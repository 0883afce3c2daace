"""How far each program of a session was from being right: for researchers, hidden from tutors."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from tutoring.models.sessions import Event, Session


class NearMiss(models.Model):
    """One generation of code, measured on all tests after its session has closed.

    The row is the truth: it waits while `measured_at` is empty, and a job in the queue only reminds a worker of it.
    """

    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="near_misses")
    event = models.OneToOneField(Event, on_delete=models.CASCADE, related_name="near_miss")
    generation = models.PositiveIntegerField()
    distance_to_previous = models.FloatField(
        null=True, blank=True, help_text="Share of tokens that differ, 0 to 1; empty for the first program."
    )
    distance_to_final = models.FloatField(help_text="The same, to the session's last program.")
    attempts = models.PositiveIntegerField(default=0)
    verdict = models.CharField(max_length=10, blank=True)
    passed = models.PositiveIntegerField(null=True, blank=True)
    total = models.PositiveIntegerField(null=True, blank=True)
    passed_prefix = models.PositiveIntegerField(
        null=True, blank=True, help_text="Tests passed before the first that failed."
    )
    first_failing = models.CharField(max_length=200, blank=True, help_text="Name of that test.")
    correct_but_slow = models.BooleanField(
        null=True, blank=True, help_text="Right on all tests, on some only with several times the time limit."
    )
    fault = models.TextField(blank=True, help_text="Why it could not be measured.")
    policy = models.CharField(max_length=10, blank=True)
    judge_version = models.CharField(max_length=40, blank=True)
    problem_hash = models.CharField(max_length=64, blank=True)
    recorded_at = models.DateTimeField(default=timezone.now)
    measured_at = models.DateTimeField(null=True, blank=True, db_index=True)

    class Meta:
        ordering = ["-recorded_at", "session", "generation"]
        verbose_name_plural = "near misses"
        constraints = [
            models.UniqueConstraint(fields=["session", "generation"], name="near_miss_once_per_generation")
        ]

    def __str__(self) -> str:
        return f"generation {self.generation} of {self.session_id}: {self.verdict or 'waiting'}"

    @property
    def share_passed(self) -> float | None:
        """Tests passed of all tests, 0 to 1; None while it is not known."""
        return self.passed / self.total if self.passed is not None and self.total else None
