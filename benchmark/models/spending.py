"""What calls of models cost each day, and the caps on it."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

MICRO = 1_000_000
"""Micro-dollars in a US dollar. Amounts are whole micro-dollars, so that sums are exact."""


class Purpose(models.TextChoices):
    """The purpose of a paid call."""

    RUN = "run"
    REPLY = "reply", "reply in a session"
    MODEL_DRAFT = "model draft"
    DRAFT_CHECK = "draft check"
    MODEL_CHECK = "model check"
    MODEL_TEST = "model test"
    UNKNOWN = "", "not recorded"


class DailySpend(models.Model):
    """The paid calls of one model on one day (UTC), by study and purpose.

    Counted in the transactions that store the replies.
    """

    day = models.DateField(help_text="Day in UTC.")
    model_spec = models.CharField(max_length=200, help_text="provider:model")
    study_key = models.CharField(
        max_length=140, blank=True, help_text="study:NAME@VERSION. Blank: outside of studies."
    )
    purpose = models.CharField(
        max_length=20,
        choices=Purpose.choices,
        blank=True,
        help_text="What the calls are for. Blank: counted before purposes were recorded.",
    )
    calls = models.PositiveBigIntegerField(default=0, help_text="Paid replies.")
    input_tokens = models.PositiveBigIntegerField(default=0)
    output_tokens = models.PositiveBigIntegerField(default=0)
    cached_input_tokens = models.PositiveBigIntegerField(default=0)
    microdollars = models.PositiveBigIntegerField(default=0, help_text="Millionths of US dollars.")
    calls_of_unknown_cost = models.PositiveBigIntegerField(
        default=0,
        help_text="Calls whose price or tokens are unknown, and calls without a complete reply, which the provider may "
        "bill.",
    )

    class Meta:
        ordering = ["-day", "model_spec", "study_key", "purpose"]
        verbose_name = "daily spending"
        verbose_name_plural = "daily spending"
        constraints = [
            models.UniqueConstraint(
                fields=["day", "model_spec", "study_key", "purpose"], name="spending_once_a_day"
            )
        ]

    def __str__(self) -> str:
        return f"{self.day} {self.model_spec} {self.study_key} {self.purpose}".strip()

    @property
    def dollars(self) -> float:
        """The known cost in US dollars."""
        return self.microdollars / MICRO


class SpendingCap(models.Model):
    """The most that a site, a model or a study may spend, in total or per day (UTC)."""

    class Scope(models.TextChoices):
        SITE = "site", "Site"
        MODEL = "model", "Model"
        STUDY = "study", "Study"

    class Period(models.TextChoices):
        DAY = "day", "each day"
        TOTAL = "total", "in all"

    scope = models.CharField(max_length=10, choices=Scope.choices)
    key = models.CharField(
        max_length=200, blank=True, help_text="provider:model or study:NAME@VERSION. Blank for the site."
    )
    period = models.CharField(max_length=10, choices=Period.choices)
    microdollars = models.PositiveBigIntegerField(help_text="Millionths of US dollars.")

    class Meta:
        ordering = ["scope", "key", "period"]
        constraints = [
            models.UniqueConstraint(fields=["scope", "key", "period"], name="cap_once"),
            models.CheckConstraint(
                condition=Q(scope="site", key="") | (~Q(scope="site") & ~Q(key="")), name="cap_has_a_key"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.subject} {self.get_period_display()}"

    @property
    def subject(self) -> str:
        """What the cap applies to, in words."""
        if self.scope == self.Scope.SITE:
            return "the site"
        return f"{self.scope} {self.key.removeprefix('study:')}"

    @property
    def dollars(self) -> float:
        """The cap in US dollars."""
        return self.microdollars / MICRO
