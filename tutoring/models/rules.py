"""Checks of recorded sessions and their findings."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from benchmark.models import LanguageModel
from tutoring.models.append_only import AppendOnlyModel
from tutoring.models.sessions import Event, Session
from tutoring.rules import severity


class RuleCheckQuerySet(models.QuerySet["RuleCheck"]):
    """A query of checks, by detectors or by models."""

    def by_detectors(self) -> RuleCheckQuerySet:
        """Return the checks by the deterministic detectors, newest first."""
        return self.filter(model="").order_by("-checked_at", "-pk")

    def by_models(self) -> RuleCheckQuerySet:
        """Return the checks by language models, newest first."""
        return self.exclude(model="").order_by("-checked_at", "-pk")


class RuleCheck(AppendOnlyModel):
    """One check of a session by the detectors or by a model.

    `basis` identifies the inputs of the check. Equal inputs give equal findings: if the latest check by the same
    detectors or model has other inputs, a copy of the earlier check is stored as the latest.
    """

    session = models.ForeignKey(Session, on_delete=models.PROTECT, related_name="rule_checks")
    rule_set = models.PositiveIntegerField(help_text="Version of the rule set the clauses belong to.")
    rule_set_hash = models.CharField(max_length=64)
    detectors = models.JSONField(help_text="Name and version of each detector that ran.")
    basis = models.CharField(
        max_length=64, help_text="sha256 over rule set, detectors, budget, problem and last event."
    )
    model = models.CharField(
        max_length=200,
        blank=True,
        help_text="Name that the provider returned; blank for checks by detectors.",
    )
    language_model = models.ForeignKey(
        LanguageModel,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="rule_checks",
        help_text="The row of the model. Null for checks by detectors, older checks and imported checks.",
    )
    prompt_hash = models.CharField(
        max_length=64,
        blank=True,
        help_text="sha256 of the prompt template; blank for checks by detectors.",
    )
    checked_at = models.DateTimeField(default=timezone.now)

    objects = RuleCheckQuerySet.as_manager()

    class Meta:
        ordering = ["session", "-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["session", "basis", "checked_at"], name="rule_check_once_per_basis_and_time"
            )
        ]

    def __str__(self) -> str:
        return f"check of {self.session_id} under rule set {self.rule_set}"


class Finding(AppendOnlyModel):
    """A passage of a message that may break a clause, found automatically. Only reviewers' labels count."""

    rule_check = models.ForeignKey(RuleCheck, on_delete=models.PROTECT, related_name="findings")
    event = models.ForeignKey(Event, on_delete=models.PROTECT, related_name="findings")
    clause = models.CharField(
        max_length=20, help_text="F1 … F5, or the budget that was exceeded: code_generations."
    )
    detector = models.CharField(max_length=40)
    version = models.PositiveIntegerField(help_text="Version of the detector.")
    start = models.PositiveIntegerField(
        help_text="First character of the passage; 0 to 0 is the whole event."
    )
    end = models.PositiveIntegerField(help_text="Character after the passage.")
    quote = models.TextField(blank=True, help_text="Text of the passage.")
    explanation = models.CharField(max_length=300)
    weight = models.FloatField(help_text="Confidence that a reviewer would agree, 0 to 1.")
    counts = models.JSONField(default=dict, blank=True, help_text="For a budget: `found` and `allowed`.")

    class Meta:
        ordering = ["rule_check", "event", "start", "pk"]

    def __str__(self) -> str:
        return f"{self.clause} in {self.event_id}"

    @property
    def severity(self) -> str:
        """Return `warning` or `notice`."""
        return severity(self.weight)
