"""Memory probes: completions of problem texts from their beginnings."""

from __future__ import annotations

from django.db import models

from benchmark.models.language_models import LanguageModel
from benchmark.models.problems import Problem
from benchmark.models.similarity import StoredReply


class MemoryProbe(StoredReply):
    """A model's completion of a statement or a sample from its beginning, and its overlap with the true rest."""

    class Kind(models.TextChoices):
        STATEMENT = "statement"
        SAMPLE = "sample"

    key = models.CharField(
        max_length=64,
        unique=True,
        help_text="sha256 of model, address, parameters, messages, problem, kind and draw.",
    )
    problem = models.ForeignKey(Problem, on_delete=models.CASCADE, related_name="memory_probes")
    problem_hash = models.CharField(max_length=64, help_text="content_hash of the problem at the request.")
    model = models.ForeignKey(
        LanguageModel,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="memory_probes",
        help_text="The row of the model. Null: no row has this model and these parameters.",
    )
    model_spec = models.CharField(max_length=200, db_index=True, help_text="provider:model")
    parameters = models.JSONField(help_text="Sampling parameters as sent.")
    kind = models.CharField(max_length=10, choices=Kind.choices)
    draw = models.PositiveIntegerField(help_text="0 for the first completion, 1 …")
    share = models.FloatField(help_text="Share of the text that the prompt shows.")
    rest = models.TextField(help_text="The rest of the text, which the prompt does not show.")
    overlap = models.FloatField(help_text="Share of the rest's word 5-grams that the completion contains.")
    chance = models.FloatField(help_text="Mean overlap of the completion with the rests of other problems.")
    others = models.PositiveIntegerField(help_text="Number of these other problems.")
    measures = models.JSONField(
        help_text="Each measure of overlap by name: with the own rest, and the mean with those of the others."
    )

    class Meta:
        ordering = ["problem", "kind", "draw"]

    def __str__(self) -> str:
        return f"{self.problem} {self.kind} by {self.model_spec}, draw {self.draw}"

    @property
    def score(self) -> float:
        """The overlap with the true rest minus that with the rests of other problems, from -1 to 1."""
        return self.overlap - self.chance
