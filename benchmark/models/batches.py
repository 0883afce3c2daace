"""Batches of questions that a provider answers within a day, and what of them is known to this side."""

from __future__ import annotations

import uuid

from django.db import models
from django.utils import timezone

from benchmark.models.runs import Run


class Batch(models.Model):
    """Questions of a run that were handed to the provider together. The row is there before the provider's batch is."""

    id = models.UUIDField(
        primary_key=True,
        default=uuid.uuid4,
        editable=False,
        help_text="Given to the provider, where it keeps such a mark, so that the batch can be found by it.",
    )
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="batches")
    provider_id = models.CharField(
        max_length=200,
        blank=True,
        help_text="The provider's name for it. Blank: it was asked to make the batch and has not answered yet.",
    )
    questions = models.PositiveIntegerField()
    answered = models.PositiveIntegerField(
        default=0, help_text="As the provider counts, failed ones included."
    )
    created_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True, blank=True, help_text="As the provider says.")

    class Meta:
        ordering = ["created_at"]
        verbose_name_plural = "batches"

    def __str__(self) -> str:
        return f"{self.questions} questions, {self.provider_id or 'not known to be made'}"


class BatchedQuestion(models.Model):
    """One question of a batch. Whoever asks it while it has no fault waits for that batch and does not ask again."""

    batch = models.ForeignKey(Batch, on_delete=models.CASCADE, related_name="rows")
    name = models.CharField(max_length=64, help_text="The question's id in the batch: its cache key.")
    fault = models.TextField(blank=True, help_text="Why the provider gave no reply to it.")

    class Meta:
        ordering = ["batch", "pk"]
        constraints = [models.UniqueConstraint(fields=["name", "batch"], name="question_once_per_batch")]

    def __str__(self) -> str:
        return f"{self.name}{': ' if self.fault else ''}{self.fault}"
