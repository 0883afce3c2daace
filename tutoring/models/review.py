"""Reviews of sessions, their outcomes, flags, the audit log, and training results."""

from __future__ import annotations

import secrets
import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.urls import reverse

from tutoring.models.append_only import AppendOnlyModel, UndeletableModel
from tutoring.models.sessions import Session


class RevisionField(models.PositiveIntegerField):  # type: ignore[type-arg]
    """A random number that each save draws. A sum of them changes with each change of their rows, without a clock."""

    def pre_save(self, model_instance: models.Model, add: bool) -> int:  # noqa: ARG002
        drawn = secrets.randbelow(2**31)
        setattr(model_instance, self.attname, drawn)
        return drawn


class Review(UndeletableModel):
    """One person's labels for one session under one version of the rule set: a draft, then final.

    A session has two slots for independent reviews and a third slot for the adjudication. A submitted review
    occupies its slot permanently, an open review until its lease ends. After that, another reviewer may get the slot,
    and the draft remains without one. Database constraints prevent two reviews in one slot.
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
    slot = models.PositiveSmallIntegerField(
        null=True,
        blank=True,
        help_text="1 and 2: independent reviews; 3: adjudication; empty: no slot.",
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
    by = models.CharField(max_length=80, help_text="Pseudonym of the reviewer in exports.")
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
        default=0, help_text="Seconds between saves of the draft; long pauses are capped."
    )

    class Meta:
        ordering = ["opened_at"]
        indexes = [
            models.Index(fields=["rule_set", "state", "slot", "session", "lease_until"]),
            models.Index(fields=["rule_set", "by", "state", "active_seconds"]),
            models.Index(fields=["reviewer", "state", "-submitted_at"]),
        ]
        constraints = [
            models.UniqueConstraint(fields=["session", "rule_set", "slot"], name="one_review_per_slot"),
            models.UniqueConstraint(
                fields=["session", "rule_set", "reviewer"], name="reviewer_once_per_session_and_rule_set"
            ),
            models.CheckConstraint(
                condition=Q(slot__isnull=True)
                | Q(slot__in=[1, 2], adjudicates=False)
                | Q(slot=3, adjudicates=True),
                name="review_slot_matches_kind",
            ),
        ]

    def __str__(self) -> str:
        return f"review {self.id} of {self.session_id}: {self.state}"

    def get_absolute_url(self) -> str:
        return reverse("review", args=[self.pk])


class ReviewOutcome(models.Model):
    """The combined result of a session's reviews under a rule set.

    The row is derived from the reviews and stored for lists and figures. It exists once both independent reviews are
    submitted; its verdict is blank until an adjudication decides between reviews that differ.
    """

    session = models.ForeignKey(Session, on_delete=models.PROTECT, related_name="review_outcomes")
    rule_set = models.PositiveIntegerField()
    verdict = models.CharField(
        max_length=20,
        blank=True,
        db_index=True,
        help_text="Blank until the adjudication if the reviews differ.",
    )
    review = models.ForeignKey(
        Review,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        help_text="The adjudication, if any.",
    )
    reviewers = models.JSONField(
        default=list, help_text="Pseudonyms of the two independent reviewers, in alphabetical order."
    )
    counts = models.BinaryField(
        default=b"", help_text="Agreement tables of all measures (tutoring.review.agreement)."
    )
    counted_measures = models.BigIntegerField(
        default=0, help_text="Bit i: the session has a unit of measure i of the rule set."
    )
    differing_measures = models.BigIntegerField(
        default=0, help_text="Bit i: the reviewers differ on a unit of measure i of the rule set."
    )
    breaches = models.JSONField(
        default=list,
        help_text="Decided forbidden clauses as pairs of message and clause; empty while disputed.",
    )
    levels = models.JSONField(
        default=list,
        help_text="Levels of help: number of the message, both reviewers' levels, and the adjudicated level or null.",
    )
    at = models.DateTimeField()
    revision = RevisionField(default=0, editable=False, help_text="A new random number with each save.")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["session", "rule_set"], name="one_review_outcome_per_rule_set")
        ]
        # Holds all columns that pages count, and all that show whether stored figures are current.
        indexes = [models.Index(fields=["rule_set", "verdict", "session", "revision"])]

    def __str__(self) -> str:
        return f"{self.session_id} under rule set {self.rule_set}: {self.verdict or 'disputed'}"

    @property
    def mean_levels(self) -> dict[int, float]:
        """The mean of both reviewers' levels of each message, which figures count."""
        return {seq: (first + second) / 2 for seq, first, second, _ in self.levels}

    @property
    def decided_levels(self) -> dict[int, int]:
        """The level of each message by the adjudication, otherwise the lower one, for comparisons with a cap.

        Without an adjudication both reviews are on the same side of the cap.
        """
        return {
            seq: min(first, second) if adjudicated is None else adjudicated
            for seq, first, second, adjudicated in self.levels
        }


class StoredFigures(models.Model):
    """Figures over many sessions, which a worker computes and pages read (tutoring.review.stored_figures)."""

    name = models.CharField(max_length=300)
    rule_set = models.PositiveIntegerField()
    fingerprint = models.CharField(
        max_length=200, help_text="Version of the document and state of the rows that the figures count."
    )
    figures = models.JSONField()
    computed_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "stored figures"
        constraints = [
            models.UniqueConstraint(fields=["name", "rule_set"], name="stored_figures_once_per_rule_set")
        ]

    def __str__(self) -> str:
        return f"{self.name} under rule set {self.rule_set}, {self.computed_at:%Y-%m-%d %H:%M}"


class Flag(models.Model):
    """A reviewer's report that something is wrong with a recorded session. Admins answer flags; none is removed."""

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


class AuditEntry(AppendOnlyModel):
    """One entry of the audit log: person, action, session and time.

    Entries of one user action share the same `command`.
    """

    command = models.UUIDField(db_index=True)
    action = models.CharField(max_length=40)
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
        help_text="Null: an operator with a command.",
    )
    session = models.ForeignKey(Session, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    data = models.JSONField(default=dict)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-pk"]
        verbose_name = "audit entry"
        verbose_name_plural = "audit entries"

    def __str__(self) -> str:
        return f"{self.at} {self.person_id} {self.action}"


class TrainingResult(UndeletableModel):
    """A person's labels for the training messages, and the number that match the codebook."""

    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="training_results"
    )
    rule_set = models.PositiveIntegerField(help_text="Version of the rule set of the labels.")
    answers = models.JSONField(help_text="Chosen clauses by message number.")
    right = models.PositiveIntegerField(help_text="Messages whose clauses match the codebook.")
    messages = models.PositiveIntegerField(help_text="Labelled messages.")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-at"]

    def __str__(self) -> str:
        return f"{self.person_id}: {self.right} of {self.messages}"
