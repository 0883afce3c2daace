"""The finished chains of an arm, counted."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from benchmark.models import Run


class ArmChains(models.Model):
    """The chains of a finished run of an arm, by problem and program outcomes.

    Workers store the row, and store it again once it no longer fits the run. `version` is that of the document.
    """

    run = models.OneToOneField(Run, primary_key=True, on_delete=models.CASCADE, related_name="arm_chains")
    version = models.PositiveSmallIntegerField()
    chains = models.PositiveIntegerField(help_text="Finished chains of the run.")
    invalidated = models.PositiveIntegerField(help_text="Those whose session is invalidated.")
    rejudgings = models.PositiveIntegerField(help_text="Applied rejudgings of the site.")
    counts = models.JSONField(
        help_text="By the key of a problem: the chains, then the solved ones under each stopping rule."
    )
    outcomes = models.JSONField(
        help_text="By the key of a problem: how many chains have which program outcomes."
    )
    counted_at = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name = verbose_name_plural = "chains of arms"

    def __str__(self) -> str:
        return f"chains of {self.run_id}: {self.chains}"
