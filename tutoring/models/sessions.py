"""Sessions, their append-only events, and unsent drafts."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from django.conf import settings
from django.db import models
from django.urls import reverse
from django.utils import timezone

from benchmark.models import Judgement, LanguageModel, Problem, WorkItem
from benchmark.providers import ModelSpecError, is_scripted, parse_model_spec
from tutoring.models.choices import EventKind, SessionOutcome
from tutoring.models.protocols import Protocol

if TYPE_CHECKING:
    from tutoring.models.payloads import AnyPayload, P

DEBRIEF: Final = "debrief"
"""The phase of events after the end of the session."""


class SessionQuerySet(models.QuerySet["Session"]):
    """A query of sessions."""

    def listed(self) -> SessionQuerySet:
        """Select the related rows that lists show, without the long texts of the problems."""
        texts = ("statement", "statement_html", "analysis", "analysis_html")
        related = self.select_related("problem__dataset", "protocol", "model")
        return related.defer(*(f"problem__{text}" for text in texts))

    def in_order(self, keys: Iterable[uuid.UUID]) -> list[Session]:
        """Return the sessions with these keys in the order of the keys.

        A list reads the keys of a page first: databases sort keys much faster than whole rows.
        """
        chosen = list(keys)
        found = self.in_bulk(chosen)
        return [found[key] for key in chosen if key in found]

    def get_locked(self, key: uuid.UUID) -> Session:
        """Return the session, its row locked until the transaction ends: commands on a session run one after another.

        PostgreSQL locks the row. On SQLite the whole transaction holds the write lock (IMMEDIATE). Raises
        Session.DoesNotExist.
        """
        return self.select_for_update(of=("self",)).select_related("protocol", "problem", "model").get(pk=key)

    def lock(self, key: uuid.UUID) -> None:
        """Lock the row as `get_locked` does, without reading it. Raises Session.DoesNotExist."""
        self.select_for_update().only("pk").get(pk=key)


class Session(models.Model):
    """One attempt of one tutor at one problem under one protocol, or an imported trajectory.

    The columns from `state` on repeat what the events say, so that lists and filters need not read the events. They are
    written in the transaction that appends the event; the counters are written by tutoring.sessions.projections.
    """

    class State(models.TextChoices):
        OPEN = "open"
        JUDGING = "judging", "waiting for the verdict"
        CLOSED = "closed"

    Outcome = SessionOutcome

    class Origin(models.TextChoices):
        TUTORED = "tutored", "held here"
        IMPORTED = "imported"
        AUTOMATIC = "automatic", "automatic (a policy in place of a tutor)"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    origin = models.CharField(max_length=10, choices=Origin.choices, default=Origin.TUTORED)
    tutor = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="tutoring_sessions",
    )
    problem = models.ForeignKey(
        Problem, null=True, blank=True, on_delete=models.PROTECT, related_name="sessions"
    )
    protocol = models.ForeignKey(
        Protocol, null=True, blank=True, on_delete=models.PROTECT, related_name="sessions"
    )
    model = models.ForeignKey(
        LanguageModel,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="sessions",
        help_text="The model's version. Null in imported sessions.",
    )
    model_spec = models.CharField(max_length=200, blank=True, help_text="provider:model; blank if unknown.")
    language = models.CharField(max_length=20, default="python")
    number = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text="1 for the tutor's first session on this problem with this model, 2 …",
    )
    work_item = models.OneToOneField(
        WorkItem,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="session",
        help_text="The chain of a run that an automatic session shows.",
    )
    source = models.JSONField(
        default=dict,
        blank=True,
        help_text="Head of an imported record, or run and item of an automatic session.",
    )
    opened_at = models.DateTimeField(
        null=True, blank=True, help_text="Unknown for imported files without times."
    )
    closed_at = models.DateTimeField(null=True, blank=True)
    recorded_at = models.DateTimeField(auto_now_add=True)
    state = models.CharField(max_length=10, choices=State.choices, default=State.OPEN, db_index=True)
    outcome = models.CharField(max_length=12, choices=Outcome.choices, blank=True)
    former_outcome = models.CharField(
        max_length=12,
        choices=Outcome.choices,
        blank=True,
        default="",
        help_text="The outcome that the tutor saw, if a rejudging replaced it.",
    )
    outcome_claimed = models.BooleanField(
        default=False, help_text="Whether an imported record states the outcome without a verdict."
    )
    invalidated = models.BooleanField(
        default=False, help_text="Excluded from all figures; an event records author and reason."
    )
    code_generations = models.PositiveIntegerField(default=0, help_text="Counter of replies with a program.")
    executions = models.PositiveIntegerField(default=0, help_text="Counter of executions that did not fail.")
    program_outcomes = models.CharField(
        max_length=100,
        blank=True,
        default="",
        help_text="Of an automatic session: A (right), S (passes the samples only) or W for each program.",
    )
    late_replies = models.PositiveIntegerField(
        default=0, help_text="Counter of replies that were not complete at their scheduled time."
    )
    judgement = models.ForeignKey(
        Judgement, null=True, blank=True, on_delete=models.PROTECT, related_name="sessions"
    )
    sample_judgement = models.ForeignKey(
        Judgement,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="sample_sessions",
        help_text="The run on the samples whose result is not recorded yet. Null: none.",
    )

    objects = SessionQuerySet.as_manager()

    class Meta:
        ordering = ["-recorded_at"]
        indexes = [
            models.Index(fields=["-recorded_at"]),
            models.Index(fields=["tutor", "-recorded_at"]),
            models.Index(fields=["tutor", "-state", "-recorded_at"], name="own_session_in_order"),
            # Holds all columns that select the sessions of people for the figures of arms.
            models.Index(fields=["origin", "state", "number", "outcome", "problem", "protocol"]),
            # The few sessions that figures leave out. Figures read them instead of a column of every session.
            # SQLite reads an index alone only if it holds the columns of its condition too.
            models.Index(
                fields=["id", "invalidated"], name="invalidated_session", condition=models.Q(invalidated=True)
            ),
            # The few sessions that tutors still hold, for the state of each problem in their lists.
            models.Index(
                fields=["tutor", "problem"], name="open_session", condition=~models.Q(state="closed")
            ),
            # The sessions that their tutors have seen solved, for the same lists.
            models.Index(
                fields=["tutor", "problem"],
                name="seen_solved_session",
                condition=models.Q(former_outcome="solved") | models.Q(former_outcome="", outcome="solved"),
            ),
            # Holds all columns that the review queue reads of sessions with reviews.
            models.Index(
                fields=["id", "origin", "tutor", "invalidated", "state", "code_generations"],
                name="session_by_key",
            ),
            # Its size is the number of sessions that may be reviewed.
            models.Index(
                fields=["origin", "tutor", "id", "state", "invalidated", "code_generations"],
                name="reviewable_session",
                condition=models.Q(state="closed", invalidated=False, code_generations__gt=0),
            ),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["tutor", "problem", "protocol", "model_spec", "number"],
                name="session_number_once_per_tutor_and_problem",
            )
        ]

    def __str__(self) -> str:
        return f"session {self.id} on {self.problem or 'an unknown problem'}"

    def get_absolute_url(self) -> str:
        return reverse("session", args=[self.pk])

    @property
    def outcome_name(self) -> str:
        """The outcome as lists and exports name it; an outcome without a verdict is marked as claimed."""
        name = str(self.get_outcome_display()).lower()
        return f"claimed: {name}" if self.outcome_claimed else name

    @property
    def seen_outcome(self) -> str:
        """The outcome at the end of the session, which the tutor saw; a rejudging may have replaced it."""
        return self.former_outcome or self.outcome

    @property
    def blinded_origin(self) -> str:
        """The origin as reviewers see it: whether a person or a policy held the session is hidden from them."""
        automatic = self.origin == self.Origin.AUTOMATIC
        return str((self.Origin.TUTORED if automatic else self.Origin(self.origin)).label)

    @property
    def scripted(self) -> bool:
        """Whether the model is a scripted one. An imported file may name any model."""
        try:
            return is_scripted(parse_model_spec(self.model_spec))
        except ModelSpecError:
            return False


class Event(models.Model):
    """One recorded fact of a session. Rows are appended, never changed, never deleted."""

    Kind = EventKind

    session = models.ForeignKey(Session, on_delete=models.PROTECT, related_name="events")
    seq = models.PositiveIntegerField()
    kind = models.CharField(max_length=20, choices=Kind.choices)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    by = models.CharField(max_length=80, blank=True, help_text="Pseudonym of the actor in exports.")
    version = models.PositiveSmallIntegerField(
        default=1, help_text="Version of the schema of the data (tutoring.models.payloads)."
    )
    data = models.JSONField(default=dict)
    command = models.UUIDField(
        null=True, blank=True, help_text="Id of the command that caused the event, chosen by the browser."
    )
    at = models.DateTimeField(null=True, blank=True, help_text="Time of the event; unknown in some imports.")

    class Meta:
        ordering = ["session", "seq"]
        indexes = [
            models.Index(fields=["at"], condition=models.Q(kind="reply_failed"), name="failed_reply_by_time"),
            # Figures of many sessions read the first event of each.
            models.Index(fields=["session"], condition=models.Q(kind="opened"), name="opened_event"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["session", "seq"], name="event_seq_once_per_session"),
            models.UniqueConstraint(fields=["session", "command"], name="command_carried_out_once"),
        ]

    def __str__(self) -> str:
        return f"{self.session_id} #{self.seq} {self.kind}"

    def save(self, *arguments: Any, **options: Any) -> None:
        """Append the event. Raises TypeError if it is recorded already."""
        if not self._state.adding:
            raise TypeError("A recorded event is never changed; append another one.")
        super().save(*arguments, **options)

    def delete(self, *_: Any, **__: Any) -> tuple[int, dict[str, int]]:
        """Raise TypeError: events are never deleted. A session can be invalidated instead."""
        raise TypeError("A recorded event is never deleted; invalidate the session.")

    @cached_property
    def payload(self) -> AnyPayload:
        """The data as the current schema of the event's kind. Raises PayloadError."""
        # The import is deferred because pydantic takes 60 ms that most commands do not need.
        from tutoring.models.payloads import read_payload

        return read_payload(self.kind, self.version, self.data)

    def payload_as(self, schema: type[P]) -> P:
        """Return the payload as the given schema. Raises TypeError for an event of another kind."""
        if not isinstance(self.payload, schema):
            raise TypeError(f"event {self.seq} is of kind {self.kind}, not {schema.KIND}")
        return self.payload

    @property
    def out_of_protocol(self) -> bool:
        """Whether the event belongs to the debrief, which no budget, rule or figure counts."""
        return self.payload.phase == DEBRIEF


class Draft(models.Model):
    """The unsent text of a tutor in one session, saved so that a reload does not lose it."""

    session = models.OneToOneField(Session, on_delete=models.CASCADE, related_name="draft")
    text = models.TextField(blank=True)
    revision = models.PositiveIntegerField(
        default=0, help_text="Number of saved texts. A page may replace only the revision that it has read."
    )
    saved_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return f"draft of {self.session_id}"


class DraftWarning(models.Model):
    """A draft for which the tutor got a warning. The next message records the warnings before it and deletes them."""

    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="draft_warnings")
    at = models.DateTimeField(default=timezone.now)
    text = models.TextField()
    detections = models.JSONField(help_text="The findings that the page showed.")

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"warning {self.pk} in {self.session_id}"
