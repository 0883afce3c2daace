"""Protocols: the frozen rules and budgets under which sessions are held."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class Protocol(models.Model):
    """One frozen version of the rules. Every session points at the version it was held under."""

    name = models.SlugField(max_length=80)
    version = models.PositiveIntegerField(default=1)
    title = models.CharField(max_length=200)
    rules = models.JSONField(help_text="tutoring.protocols.Rules as JSON.")
    content_hash = models.CharField(max_length=64, help_text="sha256 of the rules.")
    frozen_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name", "-version"]
        constraints = [models.UniqueConstraint(fields=["name", "version"], name="protocol_version_once")]

    def __str__(self) -> str:
        return f"{self.name} v{self.version}"


class Consent(models.Model):
    """A person agreed to a protocol's consent text. Another text, which is another version, is asked for anew."""

    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="consents")
    protocol = models.ForeignKey(Protocol, on_delete=models.PROTECT, related_name="consents")
    text_hash = models.CharField(max_length=64, help_text="sha256 of the text, which the protocol holds.")
    accepted_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-accepted_at"]
        constraints = [
            models.UniqueConstraint(fields=["person", "protocol", "text_hash"], name="consent_given_once")
        ]

    def __str__(self) -> str:
        return f"{self.person_id} to {self.protocol}, text {self.text_hash[:8]}"
