"""Checks of drafts by the checker model of a protocol: a page requests one, and a streamer claims it."""

from __future__ import annotations

from datetime import timedelta

from django.db import models
from django.utils import timezone

from benchmark.models.leases import Claimable
from tutoring.models.sessions import Session


class DraftCheckRequest(Claimable):
    """One check of a draft by a model. Its row is also the cache: the same question is never paid for twice.

    The row of a question that was not paid for is deleted, so that it can be asked again.
    """

    class State(models.TextChoices):
        WAITING = "waiting"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"

    LEASE = timedelta(seconds=30)  # longer than the call may take; it is not renewed
    WAITING = State.WAITING
    HELD = State.RUNNING
    UNFINISHED = (State.WAITING, State.RUNNING)

    session = models.ForeignKey(
        Session,
        on_delete=models.PROTECT,
        related_name="draft_check_requests",
        help_text="The session whose tutor was the first to ask.",
    )
    basis = models.CharField(
        max_length=64, unique=True, help_text="sha256 of the model, its parameters and the whole prompt."
    )
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING, db_index=True)
    text = models.TextField(blank=True, help_text="The draft until the check ends; blank afterwards.")
    requested_at = models.DateTimeField(default=timezone.now)
    findings = models.JSONField(
        default=list, blank=True, help_text="Clause, first and last character, and reason of each passage."
    )
    microdollars = models.PositiveBigIntegerField(
        null=True, blank=True, help_text="Millionths of US dollars. Null: unknown, or not called."
    )

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"draft check {self.pk} of {self.session_id}: {self.state}"
