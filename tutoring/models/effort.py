"""The effort of a session, projected from its events."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from tutoring.models.sessions import Session


class SessionEffort(models.Model):
    """Active time and model cost of a closed session of a person, derived from its events.

    Workers store the row after the session is closed. `version` is that of the derivation: rows of an older one are
    derived again.
    """

    session = models.OneToOneField(Session, primary_key=True, on_delete=models.CASCADE, related_name="effort")
    version = models.PositiveSmallIntegerField()
    seconds = models.FloatField(
        help_text="Active seconds: between a reply and the next message, 120 at most."
    )
    messages = models.PositiveIntegerField(help_text="Messages after a reply, which the seconds cover.")
    unknown = models.PositiveIntegerField(help_text="Messages after a reply whose times are unknown.")
    microdollars = models.BigIntegerField(
        null=True, help_text="What the session's replies cost. Null: a price or number of tokens is unknown."
    )
    measured_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"effort of {self.session_id}: {self.seconds:.0f} s"

    @property
    def minutes(self) -> float:
        """The active minutes."""
        return self.seconds / 60
