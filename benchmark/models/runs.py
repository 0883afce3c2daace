"""Runs of a method over a dataset: their work items, and every reply of a model with its cost."""

from __future__ import annotations

import uuid

from django.db import models

from benchmark.models.judging import Judgement
from benchmark.models.language_models import LanguageModel
from benchmark.models.leases import RUNNER_LEASE, WORK_ITEM_LEASE, Claimable, Leased, LeasedQuerySet
from benchmark.models.metering import MeteredRun
from benchmark.models.owners import OWNER_LENGTH
from benchmark.models.problems import Dataset, Problem


class Run(MeteredRun):
    """One method with one model on problems of one dataset. A report has the figures of a run."""

    class State(models.TextChoices):
        OPEN = "open"
        FINISHED = "finished"
        STOPPED = "stopped"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    dataset = models.ForeignKey(Dataset, on_delete=models.PROTECT, related_name="runs")
    method = models.CharField(max_length=60)
    model = models.ForeignKey(
        LanguageModel,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="runs",
        help_text="The model's version. Null in older runs whose model is unknown.",
    )
    parameters = models.JSONField(
        help_text="Every parameter of the method, sampling included, defaults filled in."
    )
    attempts = models.PositiveIntegerField(
        default=1, help_text="Number of chains of each problem, over all epochs."
    )
    epochs = models.PositiveIntegerField(
        default=1, help_text="Number of passes over all problems; each has an equal part of the chains."
    )
    first_draw = models.PositiveIntegerField(
        default=0,
        help_text="Draw number of the first epoch; it grows by 1 with each epoch. 0: stored replies are reused.",
    )
    state = models.CharField(max_length=10, choices=State.choices, default=State.OPEN, db_index=True)
    manifest = models.JSONField(help_text="Everything that the result depends on, at the start of the run.")
    distributed = models.BooleanField(default=False, help_text="Whether workers execute the run.")
    started_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    rejudged_at = models.DateTimeField(
        null=True, blank=True, help_text="When a rejudging last replaced verdicts. Null: never."
    )
    source = models.JSONField(
        null=True,
        blank=True,
        help_text="Where an imported run comes from: site, version, content_hash, imported_at. Null: run here.",
    )

    class Meta:
        ordering = ["-started_at"]

    def __str__(self) -> str:
        return f"{self.method} with {self.model_spec} on {self.dataset.name}: {self.state}"

    @property
    def attempts_per_epoch(self) -> int:
        """Return the number of chains per problem in each epoch."""
        return self.attempts // self.epochs

    def draw_of(self, chain: int) -> tuple[int, int]:
        """Return the draw number of a chain, and the number of the chain within its epoch."""
        epoch, chain_in_epoch = divmod(chain, self.attempts_per_epoch)
        return self.first_draw + epoch, chain_in_epoch

    @property
    def in_batches(self) -> bool:
        """Whether the run sends its requests in batches."""
        return bool(self.manifest.get("batch"))

    @property
    def failures(self) -> str:
        """How permanent failures count in the headline figure: "wrong" (also if nothing is stored) or "excluded"."""
        return str(self.manifest.get("failures", "wrong"))


class RunTutor(MeteredRun):
    """The model in the role of the tutor in a run: its price, limits and usage, beside those of the student.

    The budget is the run's: it bounds what both roles spend together.
    """

    run = models.OneToOneField(Run, primary_key=True, on_delete=models.CASCADE, related_name="tutor")
    model = models.ForeignKey(
        LanguageModel,
        on_delete=models.PROTECT,
        related_name="tutored_runs",
        help_text="The version of the tutor's model.",
    )
    parameters = models.JSONField(help_text="Sampling parameters of the tutor's requests, as sent.")

    class Meta:
        ordering = ["run"]

    def __str__(self) -> str:
        return f"{self.model_spec} as the tutor of run {self.run_id}"


class DrawCounter(models.Model):
    """The highest draw number of the runs with one model."""

    model_spec = models.CharField(max_length=200, primary_key=True, help_text="provider:model")
    last = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["model_spec"]

    def __str__(self) -> str:
        return f"draw {self.last} of {self.model_spec}"


class CachedRunReport(models.Model):
    """The stored figures of a run, which pages read instead of counting its rows."""

    run = models.OneToOneField(Run, on_delete=models.CASCADE, related_name="cached_report")
    fingerprint = models.CharField(
        max_length=200,
        help_text="Version of the document and state of the run. Figures with another fingerprint are stale.",
    )
    score = models.FloatField(
        null=True,
        blank=True,
        help_text="The headline over all problems, pass@1 or Refine@K; the lists order by it.",
    )
    figures = models.JSONField(help_text="benchmark.reports.RunFigures as JSON.")

    class Meta:
        verbose_name = "cached report"

    def __str__(self) -> str:
        return f"figures of {self.run_id}"


class WorkItem(Claimable):
    """One chain of one problem: the unit that is leased, judged and counted as one attempt."""

    class State(models.TextChoices):
        PENDING = "pending"
        LEASED = "leased"
        DONE = "done"
        FAILED = "failed", "failed (provider or judge fault)"

    LEASE = WORK_ITEM_LEASE
    WAITING = State.PENDING
    HELD = State.LEASED

    # The unique constraint already has an index.
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="items", db_index=False)
    problem = models.ForeignKey(Problem, on_delete=models.PROTECT, related_name="work_items")
    chain = models.PositiveIntegerField(help_text="0 for the first attempt at the problem, 1 …")
    state = models.CharField(max_length=10, choices=State.choices, default=State.PENDING)
    fault = models.TextField(
        blank=True, help_text="Why the provider or the judge failed; never the model's mistake."
    )
    permanent = models.BooleanField(
        default=False,
        help_text="Every retry fails too: the provider rejects the request (context overflow, refused prompt).",
    )
    selected = models.ForeignKey(
        "Generation",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="The generation that counts as the attempt.",
    )
    judgement = models.ForeignKey(
        Judgement, null=True, blank=True, on_delete=models.PROTECT, related_name="work_items"
    )

    class Meta:
        ordering = ["run", "chain", "problem"]
        constraints = [models.UniqueConstraint(fields=["run", "problem", "chain"], name="chain_once_per_run")]
        indexes = [models.Index(fields=["run", "state", "id"])]

    def __str__(self) -> str:
        return f"{self.problem} chain {self.chain}: {self.state}"


class Generation(models.Model):
    """One reply of a model, with its prompt and the sources of the prompt."""

    class Purpose(models.TextChoices):
        VERIFIER = "verifier", "verifier (a program that generates or checks tests)"
        DRAFT = "draft", "draft (a query, never an attempt)"
        SOLVE = "solve"
        REFLECT = "reflect", "reflect (an answer after the results of previous answers)"
        CRITIQUE = "critique", "critique (an analysis of a failure in words, never an attempt)"
        REPAIR = "repair", "repair (an attempt after the verdict on the previous one)"
        SESSION = "session", "session (a reply to a tutor's message)"
        RECORDED = "recorded", "recorded (a reply of another session that the chain begins with, at no cost)"
        TUTOR = "tutor", "tutor (a draft of the tutor's model, never an attempt)"

    # The unique constraint already has an index.
    work_item = models.ForeignKey(
        WorkItem, on_delete=models.CASCADE, related_name="generations", db_index=False
    )
    step = models.PositiveIntegerField(help_text="Position of the request in its chain, from 0.")
    purpose = models.CharField(max_length=10, choices=Purpose.choices)
    messages = models.JSONField(help_text="The messages as sent.")
    prompt_hash = models.CharField(max_length=64, help_text="sha256 of the messages as canonical JSON.")
    template_hash = models.CharField(max_length=64)
    parameters = models.JSONField(help_text="Sampling parameters as sent.")
    model_returned = models.CharField(
        max_length=200, blank=True, help_text="The model's name in the provider's response."
    )
    text = models.TextField()
    reasoning = models.TextField(blank=True)
    blocks = models.JSONField(
        null=True,
        blank=True,
        help_text="Blocks beside the text that the next request to the provider sends back: signed thinking, encrypted "
        "reasoning. Null: none.",
    )
    code = models.TextField(blank=True, help_text="The extracted program; blank means NO_CODE.")
    extraction = models.JSONField(
        default=dict, blank=True, help_text="Rule, span and number of candidate blocks."
    )
    input_tokens = models.PositiveIntegerField(
        null=True, blank=True, help_text="Null: the provider did not report it."
    )
    output_tokens = models.PositiveIntegerField(null=True, blank=True)
    cached_input_tokens = models.PositiveIntegerField(null=True, blank=True)
    reasoning_tokens = models.PositiveIntegerField(null=True, blank=True)
    latency = models.FloatField(help_text="Seconds from the request to the end of the reply.")
    first_token = models.FloatField(
        null=True, blank=True, help_text="Seconds from the request to the first text."
    )
    finish_reason = models.CharField(max_length=60, blank=True)
    request_id = models.CharField(max_length=200, blank=True)
    retrieval = models.JSONField(
        null=True,
        blank=True,
        help_text="Ids, scores, lengths and truncation of the retrieved texts, and the index.",
    )
    sample_judgement = models.ForeignKey(
        Judgement,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
        help_text="The judgement on the samples, if the method uses it.",
    )
    hidden_judgement = models.ForeignKey(
        Judgement,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
        help_text="The judgement on all tests, if the method uses its verdict.",
    )
    cache_key = models.CharField(
        max_length=64,
        blank=True,
        help_text="sha256 of the model, its address, the messages, the parameters and the attempt.",
    )
    reused = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="reuses",
        db_index=False,
        help_text="The paid reply that this one repeats at no cost. Null: this reply was paid for.",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["work_item", "step"]
        constraints = [models.UniqueConstraint(fields=["work_item", "step"], name="step_once_per_work_item")]
        indexes = [
            models.Index(
                fields=["cache_key"], condition=models.Q(reused=None), name="paid_generation_by_cache_key"
            ),
            # Without paid rows: otherwise SQLite prefers this index for searches by cache key.
            models.Index(
                fields=["reused"], condition=models.Q(reused__isnull=False), name="generation_by_reused"
            ),
            # Sums over a run are read from this index alone, because the rows hold whole prompts.
            models.Index(
                fields=[
                    "work_item",
                    "input_tokens",
                    "output_tokens",
                    "cached_input_tokens",
                    "reasoning_tokens",
                    "latency",
                ],
                name="generation_usage",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.work_item} step {self.step} ({self.purpose})"


class Runner(Leased):
    """A process that calls a model, or that holds an exclusive lock. Processes of one model share its rate limits."""

    LEASE = RUNNER_LEASE

    owner = models.CharField(max_length=OWNER_LENGTH, primary_key=True)
    run = models.ForeignKey(Run, null=True, blank=True, on_delete=models.CASCADE, related_name="runners")
    exclusive_key = models.CharField(
        max_length=500,
        unique=True,
        null=True,
        blank=True,
        help_text="The work, in words, that no other process may do at the same time.",
    )
    model_spec = models.CharField(
        max_length=200,
        db_index=True,
        blank=True,
        help_text="Blank: shares no limits, because it calls in batches or only holds an exclusive lock.",
    )
    waiting = models.TextField(
        blank=True, default="", help_text="Why its calls are delayed before they are repeated, in words."
    )

    objects = LeasedQuerySet.as_manager()

    class Meta:
        ordering = ["owner"]

    def __str__(self) -> str:
        return f"{self.owner} for {self.model_spec}"
