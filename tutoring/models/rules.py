"""What the detectors found in recorded sessions: checks and their findings."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.utils import timezone

from tutoring.models.sessions import Event, Session
from tutoring.rules import severity


class Recorded(models.Model):
    """A row that is appended, never changed, never deleted."""

    class Meta:
        abstract = True

    def save(self, *arguments: Any, **options: Any) -> None:
        """Append the row. Raises TypeError for one that is recorded already."""
        if not self._state.adding:
            raise TypeError("A recorded check is never changed; check the session again.")
        super().save(*arguments, **options)

    def delete(self, *arguments: Any, **options: Any) -> tuple[int, dict[str, int]]:
        """Raises TypeError: nothing recorded is deleted."""
        raise TypeError("A recorded check is never deleted.")


class RuleCheckQuerySet(models.QuerySet["RuleCheck"]):
    """Checks by who made them."""

    def by_detectors(self) -> RuleCheckQuerySet:
        """Those of the deterministic detectors, the newest first."""
        return self.filter(model="").order_by("-checked_at", "-pk")

    def by_models(self) -> RuleCheckQuerySet:
        """Those that a model was asked for, the newest first."""
        return self.exclude(model="").order_by("-checked_at", "-pk")


class RuleCheck(Recorded):
    """One reading of a session by the detectors, or by a model that was asked for it.

    It is repeated only when something it hangs on has changed.
    """

    session = models.ForeignKey(Session, on_delete=models.PROTECT, related_name="rule_checks")
    rule_set = models.PositiveIntegerField(help_text="Version of the rule set the clauses belong to.")
    rule_set_hash = models.CharField(max_length=64)
    detectors = models.JSONField(help_text="Name and version of each detector that ran.")
    basis = models.CharField(
        max_length=64, help_text="sha256 over rule set, detectors, budget, problem and last event."
    )
    model = models.CharField(
        max_length=200, blank=True, help_text="As its provider returned it; blank where no model was asked."
    )
    prompt_hash = models.CharField(
        max_length=64,
        blank=True,
        help_text="sha256 of the prompt's template; blank where no model was asked.",
    )
    checked_at = models.DateTimeField(default=timezone.now)

    objects = RuleCheckQuerySet.as_manager()

    class Meta:
        ordering = ["session", "-pk"]
        constraints = [models.UniqueConstraint(fields=["session", "basis"], name="rule_check_once_per_basis")]

    def __str__(self) -> str:
        return f"check of {self.session_id} under rule set {self.rule_set}"


class Finding(Recorded):
    """A place that may break a clause. Automatic: a reviewer's judgement is a label, never this."""

    rule_check = models.ForeignKey(RuleCheck, on_delete=models.PROTECT, related_name="findings")
    event = models.ForeignKey(Event, on_delete=models.PROTECT, related_name="findings")
    clause = models.CharField(
        max_length=20, help_text="F1 … F5, or the budget that was exceeded: code_generations."
    )
    detector = models.CharField(max_length=40)
    version = models.PositiveIntegerField(help_text="Version of the detector.")
    start = models.PositiveIntegerField(help_text="First character in the message; 0 to 0: the whole event.")
    end = models.PositiveIntegerField(help_text="Character after the last.")
    quote = models.TextField(blank=True, help_text="What stands there.")
    explanation = models.CharField(max_length=300)
    weight = models.FloatField(help_text="How sure the detector is that a reviewer would agree, 0 to 1.")
    counts = models.JSONField(default=dict, blank=True, help_text="For a budget: found and allowed.")

    class Meta:
        ordering = ["rule_check", "event", "start", "pk"]

    def __str__(self) -> str:
        return f"{self.clause} in {self.event_id}"

    @property
    def severity(self) -> str:
        """`warning` or `notice`."""
        return severity(self.weight)
