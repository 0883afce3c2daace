"""Verifiers of problems, candidates with official verdicts, and verifications of programs (docs/spec.md 15)."""

from __future__ import annotations

from django.db import models

from benchmark.models.judging import Submission
from benchmark.models.problems import Problem
from benchmark.models.runs import Run
from benchmark.models.suites import Suite


class Verifier(models.Model):
    """An oracle, the functions that generate its inputs, and the resulting test suite.

    All programs are written in Python by a model. A built verifier never changes; a better one is another row.
    """

    class State(models.TextChoices):
        PROGRAMS = "programs", "programs only (imported, not built)"
        READY = "ready"
        NO_ORACLE = "no-oracle", "no oracle passed the samples"
        NO_INPUTS = "no-inputs", "no valid input"
        NON_DETERMINISTIC = "non-deterministic", "the oracle is not deterministic"

    problem = models.ForeignKey(Problem, on_delete=models.CASCADE, related_name="verifiers")
    run = models.ForeignKey(
        Run,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="verifiers",
        help_text="The run in which a model wrote the programs. Null: they were imported.",
    )
    built_from = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="built",
        help_text="The imported programs.",
    )
    state = models.CharField(max_length=20, choices=State.choices)
    oracle = models.TextField(blank=True)
    second_oracle = models.TextField(blank=True)
    validator = models.TextField(blank=True)
    generator = models.TextField(blank=True)
    batch = models.TextField(blank=True)
    tricky = models.TextField(blank=True)
    written_tests = models.TextField(
        blank=True,
        help_text="A function that returns tests with answers by the model, for a ranking to compare with.",
    )
    official_verdict = models.CharField(
        max_length=10,
        blank=True,
        help_text="The verdict of the source's judge on the oracle. Blank: unknown.",
    )
    suite = models.OneToOneField(
        Suite, null=True, blank=True, on_delete=models.PROTECT, related_name="verifier"
    )
    record = models.JSONField(
        default=dict,
        help_text="Counts, dropped, conflicting and rejected inputs; hashes of stress inputs and written tests.",
    )
    problem_hash = models.CharField(max_length=64, help_text="content_hash of its problem.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["problem", "run"], name="verifier_once_per_run_and_problem"),
            models.UniqueConstraint(fields=["built_from"], name="imported_verifier_built_once"),
        ]

    def __str__(self) -> str:
        return f"verifier {self.pk} of {self.problem}: {self.get_state_display()}"


class Candidate(models.Model):
    """A program of the problem's source, and the official verdict on it."""

    problem = models.ForeignKey(Problem, on_delete=models.CASCADE, related_name="candidates")
    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="candidates")
    name = models.CharField(max_length=200)
    official_verdict = models.CharField(max_length=10, blank=True, help_text="Blank: unknown.")

    class Meta:
        ordering = ["problem", "name"]
        constraints = [
            models.UniqueConstraint(fields=["problem", "name"], name="candidate_name_once_per_problem")
        ]

    def __str__(self) -> str:
        return f"{self.problem} {self.name}"


class Verification(models.Model):
    """The result of a verifier on a program, stored once."""

    verifier = models.ForeignKey(Verifier, on_delete=models.CASCADE, related_name="verifications")
    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="verifications")
    samples_passed = models.BooleanField()
    accepted = models.BooleanField(help_text="Samples and oracle tests passed.")
    passed = models.PositiveIntegerField()
    total = models.PositiveIntegerField()
    slow = models.PositiveIntegerField(
        help_text="Stress inputs on which the program exceeds the problem's time limit."
    )
    output_hash = models.CharField(
        max_length=64, help_text="Equal for programs with equal outputs on all tests."
    )
    outcomes = models.JSONField(
        null=True,
        blank=True,
        help_text='Texts of "1" (passed) and "0" by kind of test: samples, tests, written. Null: older version.',
    )
    failures = models.JSONField(
        help_text="The failed tests with the shortest inputs: name, input, expected, output, fault."
    )
    minimal = models.JSONField(
        null=True, blank=True, help_text="The smallest failing input found: input, expected, output, fault."
    )
    coverage = models.JSONField(
        null=True, blank=True, help_text="Shares of statements reached: samples, all. Null: not measured."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["verifier", "-passed", "id"]
        constraints = [
            models.UniqueConstraint(fields=["verifier", "submission"], name="verified_once_per_verifier")
        ]

    def __str__(self) -> str:
        return f"{self.submission} by verifier {self.verifier_id}: {self.passed} of {self.total}"
