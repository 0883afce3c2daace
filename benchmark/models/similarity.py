"""Multiple-choice questions about similar problems, representations of problems, and answers."""

from __future__ import annotations

import uuid

from django.db import models
from django.urls import reverse

from benchmark.models.language_models import LanguageModel
from benchmark.models.metering import MeteredRun
from benchmark.models.problems import Dataset, Problem


class QuestionSet(models.Model):
    """Multiple-choice questions over the problems of one dataset, imported or built from their tags."""

    name = models.SlugField(max_length=80, unique=True)
    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="question_sets")
    built = models.BooleanField(help_text="Built by Hintbench. Otherwise the questions were imported.")
    parameters = models.JSONField(
        help_text="Parameters of the builder, or the seed that shuffled imported options."
    )
    skipped = models.JSONField(
        default=list, help_text="Problems or entries without a question, with the reasons."
    )
    content_hash = models.CharField(max_length=64, help_text="sha256 over the questions and their options.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("question_set", args=[self.name])


class Question(models.Model):
    """A choice among four problems: which one is solved like the reference?"""

    question_set = models.ForeignKey(QuestionSet, on_delete=models.CASCADE, related_name="questions")
    number = models.PositiveIntegerField(help_text="From 1.")
    reference = models.ForeignKey(Problem, on_delete=models.CASCADE, related_name="+")

    class Meta:
        ordering = ["question_set", "number"]
        constraints = [
            models.UniqueConstraint(fields=["question_set", "number"], name="question_number_once_per_set")
        ]

    def __str__(self) -> str:
        return f"{self.question_set.name} {self.number}"

    def get_absolute_url(self) -> str:
        return reverse("question", args=[self.question_set.name, self.number])


class Option(models.Model):
    """One of the four problems of a question."""

    question = models.ForeignKey(Question, on_delete=models.CASCADE, related_name="options")
    place = models.PositiveIntegerField(
        help_text="0 for A. The options were shuffled when the question was created."
    )
    problem = models.ForeignKey(Problem, on_delete=models.CASCADE, related_name="+")
    similar = models.BooleanField(help_text="Whether this option is the right answer; one is.")

    class Meta:
        ordering = ["question", "place"]
        constraints = [
            models.UniqueConstraint(fields=["question", "place"], name="option_place_once_per_question")
        ]

    def __str__(self) -> str:
        return f"{self.question} {'ABCD'[self.place]}: {self.problem.external_id}"


class StoredReply(models.Model):
    """A paid reply of a model, with its prompt."""

    messages = models.JSONField(help_text="The messages as sent. Empty: no model was called.")
    prompt_hash = models.CharField(max_length=64, blank=True)
    template_hash = models.CharField(max_length=64, blank=True)
    model_returned = models.CharField(max_length=200, blank=True)
    reply = models.TextField(blank=True)
    reasoning = models.TextField(blank=True)
    input_tokens = models.PositiveIntegerField(null=True, blank=True, help_text="Null: unknown.")
    output_tokens = models.PositiveIntegerField(null=True, blank=True)
    cached_input_tokens = models.PositiveIntegerField(null=True, blank=True)
    reasoning_tokens = models.PositiveIntegerField(null=True, blank=True)
    latency = models.FloatField(null=True, blank=True, help_text="Seconds.")
    finish_reason = models.CharField(max_length=60, blank=True)
    request_id = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        abstract = True


class Representation(StoredReply):
    """A text that a model generated to replace a problem's statement, stored once for all runs."""

    problem = models.ForeignKey(Problem, on_delete=models.CASCADE, related_name="representations")
    kind = models.CharField(max_length=20, help_text="summary, asm_nl or asm_pl.")
    model_spec = models.CharField(max_length=200, help_text="provider:model")
    parameters = models.JSONField(help_text="Sampling parameters as sent.")
    key = models.CharField(
        max_length=64, unique=True, help_text="sha256 over problem, model, parameters and prompt."
    )
    text = models.TextField(help_text="The requested section, or the whole reply.")
    section_found = models.BooleanField(
        help_text="False: the reply has no such section, so the whole reply is used."
    )

    class Meta:
        ordering = ["problem", "kind", "model_spec", "-id"]
        indexes = [models.Index(fields=["model_spec", "kind"])]

    def __str__(self) -> str:
        return f"{self.kind} of {self.problem} by {self.model_spec}"


class SimilarityRun(MeteredRun):
    """One run over all questions of a set."""

    class Task(models.TextChoices):
        CHOOSE = "choose", "choose (the model sees the question)"
        RANK = "rank", "rank (texts are compared)"

    class State(models.TextChoices):
        OPEN = "open"
        FINISHED = "finished"
        STOPPED = "stopped"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    question_set = models.ForeignKey(QuestionSet, on_delete=models.PROTECT, related_name="runs")
    task = models.CharField(max_length=10, choices=Task.choices)
    representation = models.CharField(max_length=20)
    model = models.ForeignKey(
        LanguageModel,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="similarity_runs",
        help_text="The model's version. Null: no model was called.",
    )
    parameters = models.JSONField(help_text="All parameters, defaults filled in.")
    state = models.CharField(max_length=10, choices=State.choices, default=State.OPEN)
    manifest = models.JSONField(help_text="Everything that the result depends on, at the start of the run.")
    faults = models.JSONField(
        default=list,
        blank=True,
        help_text="Failures of the provider in the last execution of the run; never the model's mistakes.",
    )
    figures = models.JSONField(
        null=True, blank=True, help_text="Figures at the last end of the run. Null: not computed yet."
    )
    started_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-started_at"]

    def __str__(self) -> str:
        return f"{self.task} by {self.representation} on {self.question_set.name}: {self.state}"


class QuestionAnswer(StoredReply):
    """The answer of a run to a question."""

    run = models.ForeignKey(SimilarityRun, on_delete=models.CASCADE, related_name="answers")
    question = models.ForeignKey(Question, on_delete=models.CASCADE, related_name="answers")
    order = models.JSONField(help_text="The places of the options in the question, in the order A to D.")
    representations = models.JSONField(
        default=list, help_text="Ids of the representations of the reference and of the options by place."
    )
    chosen = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text="Place of the chosen option in the question. Null: unreadable, or several options are tied.",
    )
    correct = models.BooleanField(
        help_text="For a ranking: whether the right option alone is first. The scores give the value of ties."
    )
    scores = models.JSONField(
        null=True, blank=True, help_text="Score of each option, by place in the question."
    )
    rank = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text="Rank of the right option, from 1. Tied options share the first of their ranks.",
    )
    cache_key = models.CharField(
        max_length=64,
        blank=True,
        db_index=True,
        help_text="sha256 of the model, its address, the messages and the parameters.",
    )
    reused = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="reuses",
        help_text="The paid answer of another run whose reply this one repeats at no cost.",
    )

    class Meta:
        ordering = ["run", "question__number"]
        constraints = [models.UniqueConstraint(fields=["run", "question"], name="answer_once_per_run")]

    def __str__(self) -> str:
        return f"{self.question}: {'right' if self.correct else 'wrong'}"
