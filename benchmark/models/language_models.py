"""Language models as data: what a run or a session calls, with its parameters, price and limits."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from django.conf import settings
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone

from benchmark.models.leases import MODEL_TEST_LEASE, Claimable


class FrozenError(Exception):
    """A change of a row that must not change because records depend on it. The message says what to do instead."""


class LanguageModel(models.Model):
    """One version of a model. After its first use its content no longer changes; a change is a new version."""

    CONTENT = ("spec", "parameters", "context_tokens")
    """The fields that replies depend on. `content_hash` is their hash."""

    label = models.CharField(
        max_length=80,
        validators=[RegexValidator(r"^[\w.-]+\Z", "Use letters, digits, dots, hyphens and underscores.")],
        help_text="Name for researchers. Tutors never see it.",
    )
    version = models.PositiveIntegerField(default=1)
    spec = models.CharField(
        max_length=200, help_text="provider:model, or provider@endpoint:model for a named endpoint."
    )
    parameters = models.JSONField(
        default=dict,
        blank=True,
        help_text="Sampling parameters that every request sends (benchmark.providers.Parameters).",
    )
    context_tokens = models.PositiveIntegerField(
        null=True, blank=True, help_text="Longest prompt and reply together, in tokens. Null: unknown."
    )
    content_hash = models.CharField(max_length=64, editable=False, help_text="sha256 of the content.")
    price = models.JSONField(
        null=True,
        blank=True,
        help_text="US dollars for a million tokens as typed (benchmark.model_calls.budget.Price). "
        "Null: the listed price.",
    )
    cutoff = models.DateField(null=True, blank=True, help_text="End of the training data. Null: unknown.")
    active = models.BooleanField(default=True, help_text="Whether new sessions, runs and studies may use it.")
    for_sessions = models.BooleanField(default=False, help_text="Whether sessions outside of studies use it.")
    tutors = models.ManyToManyField(
        settings.AUTH_USER_MODEL,
        blank=True,
        related_name="+",
        help_text="Tutors whose sessions outside of studies may use it. None: all tutors.",
    )
    automatic = models.BooleanField(
        default=False, help_text="Whether a command made it for a model that was named as provider:model."
    )
    created_at = models.DateTimeField(auto_now_add=True)
    frozen_at = models.DateTimeField(null=True, blank=True, help_text="When it was first used.")

    class Meta:
        ordering = ["label", "-version"]
        constraints = [
            models.UniqueConstraint(fields=["label", "version"], name="model_version_once"),
            models.CheckConstraint(condition=~Q(label=""), name="model_has_a_label"),
        ]
        indexes = [models.Index(fields=["content_hash"])]

    def __str__(self) -> str:
        return f"{self.label} v{self.version}"

    def save(self, *arguments: Any, **options: Any) -> None:
        """Store the row with the hash of its content. Raises FrozenError if a frozen row has another content."""
        digest = content_hash_of(self.spec, self.parameters, self.context_tokens)
        if self.frozen_at is not None and self.content_hash not in ("", digest):
            raise FrozenError(f"{self} was used already. Make a new version of it instead.")
        self.content_hash = digest
        super().save(*arguments, **options)

    def get_absolute_url(self) -> str:
        return reverse("model", args=[self.pk])


class ModelTest(Claimable):
    """One question to a model that an admin requested on the page of models. A streamer sends it."""

    class State(models.TextChoices):
        WAITING = "waiting"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"

    LEASE = MODEL_TEST_LEASE
    WAITING = State.WAITING
    HELD = State.RUNNING

    model = models.ForeignKey(LanguageModel, on_delete=models.CASCADE, related_name="tests")
    content_hash = models.CharField(max_length=64, help_text="Hash of the model's content at the request.")
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING, db_index=True)
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    requested_at = models.DateTimeField(default=timezone.now)
    result = models.JSONField(
        null=True, blank=True, help_text="benchmark.model_calls.model_tests.TestResult. Null: no reply."
    )
    error = models.TextField(blank=True, help_text="Why there is no reply, in the provider's words.")

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"test of {self.model}: {self.state}"


def content_hash_of(spec: str, parameters: dict[str, Any], context_tokens: int | None) -> str:
    """Return the sha256 of the content of a model's row."""
    content = {"spec": spec, "parameters": parameters, "context_tokens": context_tokens}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
