"""Trainings of the text model of the draft check, each with its figures and the model that it made."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.urls import reverse

from benchmark.models.leases import GROWTH_LEASE, Claimable


class TextModelTraining(Claimable):
    """A training that an admin has requested. A worker performs it; the model is used after an admin has chosen it."""

    class State(models.TextChoices):
        QUEUED = "queued", "queued (waits for a worker)"
        RUNNING = "running"
        DONE = "done", "done (not decided)"
        FAILED = "failed"
        USED = "used", "used (replaced the former model)"
        DISCARDED = "discarded"

    LEASE = GROWTH_LEASE
    WAITING = State.QUEUED
    HELD = State.RUNNING
    UNFINISHED = (State.QUEUED, State.RUNNING)

    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED, db_index=True)
    progress = models.CharField(max_length=100, blank=True, help_text="What the worker does now.")
    version = models.PositiveIntegerField(
        null=True, blank=True, help_text="Null: the training has no result."
    )
    figures = models.JSONField(null=True, blank=True, help_text="Figures of the cross-validation.")
    model = models.BinaryField(
        null=True, blank=True, help_text="The file of the model. Null: no result, or discarded."
    )
    fault = models.TextField(blank=True, help_text="Why the training has no result.")
    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    requested_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    decided_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"training {self.pk} of the text model: {self.state}"

    def get_absolute_url(self) -> str:
        return reverse("text_model_training", args=[self.pk])
