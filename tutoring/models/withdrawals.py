"""Withdrawals: what remains of sessions that were erased."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models

from tutoring.models.append_only import AppendOnlyModel


class Withdrawal(AppendOnlyModel):
    """Sessions that were erased together: a person's, after consent was withdrawn, or those past the retention period.

    The row names no person. A backup that is older than the row is restored without the erased content
    (tutoring.withdrawal.register).
    """

    class Cause(models.TextChoices):
        CONSENT = "consent", "consent withdrawn"
        RETENTION = "retention", "end of the retention period"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    cause = models.CharField(max_length=10, choices=Cause.choices)
    account = models.PositiveBigIntegerField(
        null=True, blank=True, help_text="Number of the account, for restored backups. Null: retention."
    )
    at = models.DateTimeField()
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
        help_text="The admin. Null: an operator, the retention period, or a restored backup.",
    )
    counts = models.JSONField(default=dict, help_text="Numbers of erased rows by kind.")

    class Meta:
        ordering = ["-at"]

    def __str__(self) -> str:
        return f"withdrawal {self.pk} ({self.cause})"


class WithdrawnSession(AppendOnlyModel):
    """The tombstone of an erased session."""

    session = models.UUIDField(primary_key=True, help_text="Id that the session had.")
    withdrawal = models.ForeignKey(Withdrawal, on_delete=models.PROTECT, related_name="sessions")

    class Meta:
        ordering = ["session"]

    def __str__(self) -> str:
        return f"withdrawn session {self.pk}"
