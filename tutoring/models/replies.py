"""Replies in the making: claimed by a streamer, growing by deltas, ended by one event."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from tutoring.models.sessions import Event, Session


class Reply(models.Model):
    """One reply the model owes. At most one a session is unfinished; the row is the streamer's queue."""

    class State(models.TextChoices):
        QUEUED = "queued"
        STREAMING = "streaming"
        DONE = "done"
        STOPPED = "stopped"
        FAILED = "failed"

    UNFINISHED = (State.QUEUED, State.STREAMING)

    session = models.ForeignKey(Session, on_delete=models.PROTECT, related_name="replies")
    message = models.ForeignKey(Event, on_delete=models.PROTECT, related_name="replies")
    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED, db_index=True)
    attempt = models.PositiveIntegerField(
        default=0, help_text="Fencing number: only the latest claim may write."
    )
    lease_until = models.DateTimeField(null=True, blank=True)
    stop_requested = models.BooleanField(default=False)
    live = models.BooleanField(
        default=True, help_text="Whether the tutor may read along. Not where a program may have to be hidden."
    )
    started_at = models.DateTimeField(null=True, blank=True)
    first_text_at = models.DateTimeField(null=True, blank=True)
    shown_from = models.DateTimeField(
        null=True, blank=True, help_text="When its first word may appear; empty: as soon as there is one."
    )
    answer = models.JSONField(
        null=True,
        blank=True,
        help_text="The model's whole answer while it is handed out, so that it is not asked for again.",
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["session"],
                condition=Q(state__in=["queued", "streaming"]),
                name="one_unfinished_reply",
            )
        ]

    def __str__(self) -> str:
        return f"reply {self.pk} of {self.session_id}: {self.state}"

    @property
    def shown_attempt(self) -> int:
        """The attempt as the tutor's page knows it. Of a held reply nothing is seen that could be taken back."""
        return self.attempt if self.shown_from is None else 1


class ReplyDelta(models.Model):
    """A piece of a reply's text as it arrived. Deleted with the others when the reply's event holds the whole."""

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
