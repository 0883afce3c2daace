"""Batches of requests that a provider answers within a day, as this site last saw them."""

from __future__ import annotations

import uuid

from django.db import models
from django.utils import timezone

from benchmark.models.runs import Run


class Batch(models.Model):
    """Requests of a run that the provider gets together. The row is stored before the provider creates its batch."""

    id = models.UUIDField(
        primary_key=True,
        default=uuid.uuid4,
        editable=False,
        help_text="Sent to the provider, if it stores such a mark, so that the batch can be found again.",
    )
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="batches")
    provider_id = models.CharField(
        max_length=200,
        blank=True,
        help_text="The provider's id of the batch. Blank: the provider has not confirmed the batch yet.",
    )
    requests = models.PositiveIntegerField()
    answered = models.PositiveIntegerField(
        default=0, help_text="As the provider counts, including failed requests."
    )
    created_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True, blank=True, help_text="As the provider reports.")

    class Meta:
        ordering = ["created_at"]
        verbose_name_plural = "batches"

    def __str__(self) -> str:
        return f"{self.requests} requests, {self.provider_id or 'not confirmed'}"


class BatchedRequest(models.Model):
    """One request of a batch. A chain with the same request waits for the batch unless the request has a fault."""

    batch = models.ForeignKey(Batch, on_delete=models.CASCADE, related_name="rows")
    name = models.CharField(max_length=64, help_text="The id of the request in the batch: its cache key.")
    fault = models.TextField(blank=True, help_text="Why the provider gave no reply.")

    class Meta:
        ordering = ["batch", "pk"]
        constraints = [models.UniqueConstraint(fields=["name", "batch"], name="request_once_per_batch")]

    def __str__(self) -> str:
        return f"{self.name}{': ' if self.fault else ''}{self.fault}"
