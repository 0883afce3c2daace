"""Budget, limits and usage of runs that call a model."""

from __future__ import annotations

from django.db import models


class MeteredRun(models.Model):
    """A run that calls a model. Its usage is counted in the transaction that stores the replies."""

    model_spec = models.CharField(
        max_length=200, blank=True, help_text="provider:model. Blank: no model is called."
    )
    price = models.JSONField(
        null=True,
        blank=True,
        help_text="US dollars for a million input, output and cached input tokens, and their source; null: unknown.",
    )
    budget = models.JSONField(
        default=dict,
        blank=True,
        help_text="The most that the run may spend: cost (US dollars), tokens, calls.",
    )
    limits = models.JSONField(
        default=dict,
        blank=True,
        help_text="Concurrency, requests and tokens a minute, and the model's context in tokens.",
    )
    study_key = models.CharField(
        max_length=140,
        blank=True,
        default="",
        help_text="study:NAME@VERSION, whose spending the run counts in. Blank: outside of studies.",
    )
    stop_reason = models.TextField(blank=True, help_text="Why the run stopped before its end.")
    paid_calls = models.PositiveBigIntegerField(
        default=0, help_text="Replies that this run paid for; cache hits do not count."
    )
    paid_input_tokens = models.PositiveBigIntegerField(default=0)
    paid_output_tokens = models.PositiveBigIntegerField(default=0)
    paid_cached_input_tokens = models.PositiveBigIntegerField(
        default=0,
        help_text="Input tokens from the provider's cache, as the provider reports them.",
    )
    calls_without_tokens = models.PositiveBigIntegerField(
        default=0, help_text="Paid calls whose tokens the provider did not report."
    )
    calls_broken_off = models.PositiveBigIntegerField(
        default=0, help_text="Calls that began and gave no complete reply. The provider may bill them."
    )

    class Meta:
        abstract = True
