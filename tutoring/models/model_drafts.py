"""Requests for drafts by the tutor model: a streamer claims one, and ends it with one event."""

from __future__ import annotations

from django.db import models

from benchmark.models.leases import REPLY_LEASE, Claimable
from tutoring.models.sessions import Event, Session


class DraftRequest(Claimable):
    """One draft that a tutor requests from the tutor model of the protocol."""

    class State(models.TextChoices):
        QUEUED = "queued"
        WRITING = "writing"
        DONE = "done"
        FAILED = "failed"
        DROPPED = "dropped", "dropped: the tutor went on without it"

    UNFINISHED = (State.QUEUED, State.WRITING)

    LEASE = REPLY_LEASE
    WAITING = State.QUEUED
    HELD = State.WRITING

    session = models.ForeignKey(Session, on_delete=models.PROTECT, related_name="draft_requests")
    request = models.OneToOneField(Event, on_delete=models.PROTECT, related_name="draft_request")
    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED, db_index=True)
    replies = models.JSONField(
        default=list,
        help_text="The complete replies of the tutor model with their tokens; none is requested again.",
    )
    price = models.JSONField(
        null=True,
        blank=True,
        help_text="US dollars for a million tokens at the claim, with their source. Null: unknown.",
    )

    def __str__(self) -> str:
        return f"draft request {self.pk} of {self.session_id}: {self.state}"
