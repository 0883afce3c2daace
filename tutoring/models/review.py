"""Reviews of sessions, what they came to, flags, and the log of who did what."""

from __future__ import annotations

import uuid
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.urls import reverse

from tutoring.models.sessions import Session


class Review(models.Model):
    """One person's reading of one session under one version of the rule set: first a draft, then final.

    A session has two places for independent reviews and a third one for the adjudication. A place is held by
    a submitted review, or by an open one until its lease ends; then somebody else may take it, and the draft
    stays without a place. The constraints make a second holder of a place impossible.
    """

    class State(models.TextChoices):
        OPEN = "open"
        SUBMITTED = "submitted"
        SKIPPED = "skipped"
        WITHDRAWN = "withdrawn"

    FIRST, SECOND, ADJUDICATION = 1, 2, 3
    INDEPENDENT = (FIRST, SECOND)

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    session = models.ForeignKey(Session, on_delete=models.PROTECT, related_name="reviews")
    rule_set = models.PositiveIntegerField(help_text="Version of the rule set the labels belong to.")
    place = models.PositiveSmallIntegerField(
        null=True,
        blank=True,
        help_text="1 and 2: independent reviews; 3: the adjudication; empty: none held.",
    )
    adjudicates = models.BooleanField(default=False)
    reviewer = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="reviews",
        help_text="Empty for imported reviews.",
    )
    by = models.CharField(max_length=80, help_text="Pseudonym of the reviewer, as exports name them.")
    assigned_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    state = models.CharField(max_length=10, choices=State.choices, default=State.OPEN)
    content = models.JSONField(default=dict, help_text="tutoring.review.content.Content as JSON.")
    verdict = models.CharField(max_length=20, blank=True, help_text="The content's verdict, once submitted.")
    findings_first = models.BooleanField(
        default=False, help_text="Whether automatic findings were shown before the submission."
    )
    opened_at = models.DateTimeField()
    saved_at = models.DateTimeField(null=True, blank=True)
    submitted_at = models.DateTimeField(null=True, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    active_seconds = models.PositiveIntegerField(
        default=0, help_text="Time between savings of the draft; long pauses are cut."
    )

    class Meta:
        ordering = ["opened_at"]
        indexes = [
            models.Index(fields=["rule_set", "state", "place", "session"]),
            models.Index(fields=["rule_set", "by", "state", "active_seconds"]),
            models.Index(fields=["reviewer", "state", "-submitted_at"]),
        ]
        constraints = [
            models.UniqueConstraint(fields=["session", "rule_set", "place"], name="review_place_held_once"),
            models.UniqueConstraint(
                fields=["session", "rule_set", "reviewer"], name="reviewer_once_per_session_and_rule_set"
            ),
            models.CheckConstraint(
                condition=Q(place__isnull=True)
                | Q(place__in=[1, 2], adjudicates=False)
                | Q(place=3, adjudicates=True),
                name="review_place_fits_its_kind",
            ),
        ]

    def __str__(self) -> str:
        return f"review {self.id} of {self.session_id}: {self.state}"

    def get_absolute_url(self) -> str:
        return reverse("review", args=[self.pk])

    def delete(self, *arguments: Any, **options: Any) -> tuple[int, dict[str, int]]:
        """Raises TypeError: nothing recorded is deleted."""
        raise TypeError("A review is never deleted.")


class Settlement(models.Model):
    """What the reviews of a session came to under a rule set: a projection of them, kept for lists and figures."""

    session = models.ForeignKey(Session, on_delete=models.PROTECT, related_name="settlements")
    rule_set = models.PositiveIntegerField()
    verdict = models.CharField(
        max_length=20, blank=True, db_index=True, help_text="Blank while an adjudication is needed."
    )
    review = models.ForeignKey(
        Review,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        help_text="The adjudication, if there is one.",
    )
    reviewers = models.JSONField(
        default=list, help_text="Pseudonyms of the two independent reviewers, in alphabetical order."
    )
    counts = models.BinaryField(
        default=b"", help_text="How they agree, measure by measure (tutoring.review.agreement)."
    )
    breaches = models.JSONField(
        default=list,
        help_text="Forbidden clauses as settled: pairs of message and clause; none while disputed.",
    )
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["session", "rule_set"], name="settled_once_per_rule_set")
        ]

    def __str__(self) -> str:
        return f"{self.session_id} under rule set {self.rule_set}: {self.verdict or 'disputed'}"


class Flag(models.Model):
    """A reviewer's remark that something is wrong with a recorded session. It is answered, never removed."""

    session = models.ForeignKey(Session, on_delete=models.PROTECT, related_name="flags")
    raised_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    reason = models.TextField()
    raised_at = models.DateTimeField()
    answered_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    answer = models.TextField(blank=True)
    answered_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["raised_at"]

    def __str__(self) -> str:
        return f"flag on {self.session_id}: {self.reason[:40]}"


class AuditEntry(models.Model):
    """Who did what to which session, and when. Entries of one user action have the same `command`."""

    command = models.UUIDField(db_index=True)
    action = models.CharField(max_length=40)
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    session = models.ForeignKey(Session, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    data = models.JSONField(default=dict)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-pk"]
        verbose_name_plural = "audit entries"

    def __str__(self) -> str:
        return f"{self.at} {self.person_id} {self.action}"

    def save(self, *arguments: Any, **options: Any) -> None:
        """Append the entry. Raises TypeError for one that is recorded already."""
        if not self._state.adding:
            raise TypeError("An entry of the audit log is never changed.")
        super().save(*arguments, **options)

    def delete(self, *arguments: Any, **options: Any) -> tuple[int, dict[str, int]]:
        """Raises TypeError: nothing recorded is deleted."""
        raise TypeError("An entry of the audit log is never deleted.")


class TrainingResult(models.Model):
    """What a person chose for the messages of the training, and how often the codebook says the same."""

    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="training_results"
    )
    rule_set = models.PositiveIntegerField(help_text="Version of the rule set the messages are labelled by.")
    answers = models.JSONField(help_text="Clauses by the number of the message.")
    right = models.PositiveIntegerField(help_text="Messages with the clauses that the codebook gives them.")
    messages = models.PositiveIntegerField(help_text="Messages that were labelled.")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-at"]

    def __str__(self) -> str:
        return f"{self.person_id}: {self.right} of {self.messages}"

    def delete(self, *arguments: Any, **options: Any) -> tuple[int, dict[str, int]]:
        """Raises TypeError: nothing recorded is deleted."""
        raise TypeError("A result of the training is never deleted.")
