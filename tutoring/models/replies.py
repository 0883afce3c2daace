"""Unfinished replies: a streamer claims one, appends text pieces, and ends it with one event."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from benchmark.models.leases import REPLY_LEASE, Claimable
from tutoring.models.sessions import Event, Session


class Reply(Claimable):
    """One reply that a tutor's message requests from the model. A session has at most one unfinished reply."""

    class State(models.TextChoices):
        QUEUED = "queued"
        STREAMING = "streaming"
        DONE = "done"
        STOPPED = "stopped"
        FAILED = "failed"

    UNFINISHED = (State.QUEUED, State.STREAMING)

    LEASE = REPLY_LEASE
    WAITING = State.QUEUED
    HELD = State.STREAMING

    session = models.ForeignKey(Session, on_delete=models.PROTECT, related_name="replies")
    message = models.ForeignKey(Event, on_delete=models.PROTECT, related_name="replies")
    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED, db_index=True)
    stop_requested = models.BooleanField(default=False)
    live = models.BooleanField(
        default=True,
        help_text="Whether the tutor sees the text while it arrives. False if a program may have to be hidden.",
    )
    started_at = models.DateTimeField(null=True, blank=True)
    first_text_at = models.DateTimeField(null=True, blank=True)
    shown_from = models.DateTimeField(
        null=True, blank=True, help_text="When its first word may appear. Null: as soon as it arrives."
    )
    answer = models.JSONField(
        null=True,
        blank=True,
        help_text="The model's whole answer until the tutor has seen it, so that it is not requested again.",
    )

    calls = models.PositiveIntegerField(
        default=0, help_text="Calls of the provider so far; the last one runs or is about to begin."
    )
    gives_up_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text="When the reply fails unless text arrives before. Null: not claimed yet.",
    )
    price = models.JSONField(
        null=True,
        blank=True,
        help_text="US dollars for a million tokens at the start of the call, with their source. Null: unknown.",
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["session"],
                condition=Q(state__in=["queued", "streaming"]),
                name="one_unfinished_reply",
            )
        ]
        verbose_name_plural = "replies"

    def __str__(self) -> str:
        return f"reply {self.pk} of {self.session_id}: {self.state}"

    @property
    def shown_attempt(self) -> int:
        """The attempt number on the tutor's page: 1 for a delayed reply, whose failed attempts are never shown."""
        return self.attempt if self.shown_from is None else 1


class ReplyDelta(models.Model):
    """A piece of a reply's text. The pieces are deleted when the reply's event holds the whole text."""

    reply = models.ForeignKey(Reply, on_delete=models.CASCADE, related_name="deltas")
    attempt = models.PositiveIntegerField()
    seq = models.PositiveIntegerField()
    text = models.TextField()

    class Meta:
        ordering = ["reply", "attempt", "seq"]
        constraints = [
            models.UniqueConstraint(fields=["reply", "attempt", "seq"], name="delta_seq_once_per_attempt")
        ]

    def __str__(self) -> str:
        return f"{self.reply_id}.{self.attempt}.{self.seq}"
