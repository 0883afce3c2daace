"""Protocols, the frozen rules and budgets of sessions, and the consent of tutors to them."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class Protocol(models.Model):
    """One frozen version of the rules. A session refers to the version under which it was held."""

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
    """The consent of a person to the text of a protocol. A changed text requires a new consent."""

    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="consents")
    protocol = models.ForeignKey(Protocol, on_delete=models.PROTECT, related_name="consents")
    text_hash = models.CharField(max_length=64, help_text="sha256 of the consent text of the protocol.")
    accepted_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-accepted_at"]
        constraints = [
            models.UniqueConstraint(fields=["person", "protocol", "text_hash"], name="consent_given_once")
        ]

    def __str__(self) -> str:
        return f"{self.person_id} to {self.protocol}, text {self.text_hash[:8]}"
