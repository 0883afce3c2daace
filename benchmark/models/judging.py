"""Submissions and their judgements."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from benchmark.models.leases import JUDGEMENT_LEASE, Claimable
from benchmark.models.machine_speed import HOST_LENGTH, SCOPE_LENGTH
from benchmark.models.problems import Problem


class Submission(models.Model):
    """A program for a problem. It is stored once, however often it is judged."""

    problem = models.ForeignKey(Problem, on_delete=models.PROTECT, related_name="submissions")
    language = models.CharField(max_length=20)
    source = models.TextField()
    source_hash = models.CharField(max_length=64, help_text="sha256 of the source's UTF-8 bytes.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["problem", "language", "source_hash"], name="submission_stored_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.problem} {self.language} {self.source_hash[:8]}"


class Judgement(Claimable):
    """One judging of a submission on a set of tests. A job in the queue only points to the row."""

    class TestScope(models.TextChoices):
        SAMPLES = "samples"
        ALL = "all"

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed", "failed (judge fault)"

    class Purpose(models.TextChoices):
        VERDICT = "verdict"
        SCORE = "score", "score (of a program of a closed session; gives way to executions)"

    LEASE = JUDGEMENT_LEASE
    WAITING = State.QUEUED
    HELD = State.RUNNING

    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="judgements")
    purpose = models.CharField(max_length=10, choices=Purpose.choices, default=Purpose.VERDICT)
    suite = models.CharField(max_length=10, choices=TestScope.choices)
    test_suite = models.ForeignKey(
        "Suite",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="judgements",
        help_text="The suite whose tests replace the imported hidden tests. Null: the imported tests.",
    )
    policy = models.CharField(max_length=10)
    stop_at_first_failure = models.BooleanField(default=True)
    memory_limit = models.BigIntegerField(
        null=True, blank=True, help_text="Bytes, instead of the problem's limit. Null: the problem's limit."
    )
    whole_output = models.BooleanField(
        default=False, help_text="The results of samples keep all of the program's output."
    )
    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED, db_index=True)
    verdict = models.CharField(max_length=10, blank=True)
    passed = models.PositiveIntegerField(null=True, blank=True)
    total = models.PositiveIntegerField(null=True, blank=True)
    result = models.JSONField(null=True, blank=True, help_text="judge.Judgement as JSON.")
    fault = models.TextField(blank=True, help_text="Why the judge itself failed.")
    relaxed_verdict = models.CharField(
        max_length=10,
        blank=True,
        help_text="Verdict with several times the time limit, for a score that the time limit alone prevents from AC.",
    )
    problem_hash = models.CharField(max_length=64, help_text="content_hash of the problem at the request.")
    speed_scope = models.CharField(
        max_length=SCOPE_LENGTH,
        blank=True,
        default="",
        help_text="Where the time factor is fixed: run:ID, study:NAME@VERSION … Blank: the day of the judging.",
    )
    host = models.CharField(
        max_length=HOST_LENGTH, blank=True, default="", help_text="The machine that judged. Blank: unknown."
    )
    measured_factor = models.FloatField(
        null=True, blank=True, help_text="Measured factor of the machine. Null: not measured."
    )
    time_factor = models.FloatField(
        default=1.0, help_text="Factor of the time limit besides that of the language: machine and dataset."
    )
    near_limit = models.BooleanField(
        default=False, help_text="A slightly different time would have changed the verdict."
    )
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="The person who waits for the verdict. Null: nobody, as for runs and scores.",
    )
    counts = models.BooleanField(
        default=True,
        help_text="Whether the verdict counts. False: of a rejudging that is not applied, or replaced by one.",
    )
    rejudging = models.ForeignKey(
        "Rejudging",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="judgements",
        help_text="The rejudging that requested it. Null: requested otherwise.",
    )
    replaces = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="replaced_by",
        help_text="The former judgement that it replaced when its rejudging was applied.",
    )
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(
                fields=["finished_at"],
                condition=models.Q(finished_at__isnull=False),
                name="finished_judgement_by_time",
            )
        ]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(suite="all") | models.Q(test_suite=None),
                name="samples_belong_to_the_problem",
            )
        ]

    def __str__(self) -> str:
        return f"{self.submission} on {self.suite}: {self.verdict or self.state}"

    @property
    def first_verdict(self) -> Judgement:
        """The judgement before any rejudging: the one with the verdict that its session or chain saw."""
        found = self
        while found.replaces is not None:
            found = found.replaces
        return found


class ReferenceVerdict(models.Model):
    """The best verdict on the reference programs of a problem on all tests, from `manage.py verify_references`."""

    problem = models.ForeignKey(Problem, on_delete=models.CASCADE, related_name="reference_verdicts")
    problem_hash = models.CharField(max_length=64, help_text="content_hash of the problem at the time.")
    verdict = models.CharField(max_length=10)
    language = models.CharField(max_length=20, blank=True, help_text="Blank without a program.")
    reason = models.TextField(blank=True, help_text="Why the verdict is not AC. It quotes no hidden test.")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["problem", "pk"]

    def __str__(self) -> str:
        return f"references of {self.problem}: {self.verdict}"
