"""Verifiers of problems, candidates with official verdicts, and what a verifier says of a program (docs/spec.md 15)."""

from __future__ import annotations

from django.db import models

from benchmark.models.judging import Submission
from benchmark.models.problems import Problem
from benchmark.models.runs import Run
from benchmark.models.suites import Suite


class Verifier(models.Model):
    """An oracle, the functions that make inputs for it, and the suite of tests that came of them.

    All programs are Python and a model's. A verifier is never changed once it was built; a better one is another row.
    """

    class State(models.TextChoices):
        PROGRAMS = "programs", "programs only (imported, not built)"
        READY = "ready"
        NO_ORACLE = "no-oracle", "no oracle passed the samples"
        NO_INPUTS = "no-inputs", "no input was left"
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
        help_text="Returns tests with answers that the model wrote itself, to rank by for comparison.",
    )
    official_verdict = models.CharField(
        max_length=10, blank=True, help_text="Of the oracle, by the judge of its source; blank: unknown."
    )
    suite = models.OneToOneField(
        Suite, null=True, blank=True, on_delete=models.PROTECT, related_name="verifier"
    )
    record = models.JSONField(
        default=dict,
        help_text="What was counted, dropped, disputed and rejected; the hashes of stress inputs and written tests.",
    )
    problem_hash = models.CharField(max_length=64, help_text="content_hash of the problem it belongs to.")
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
    """A program that came with the problem to be verified, and the official verdict on it."""

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
    """What a verifier says of a program: found once, then remembered."""

    verifier = models.ForeignKey(Verifier, on_delete=models.CASCADE, related_name="verifications")
    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="verifications")
    samples_passed = models.BooleanField()
    accepted = models.BooleanField(help_text="Samples and oracle tests passed.")
    passed = models.PositiveIntegerField()
    total = models.PositiveIntegerField()
    slow = models.PositiveIntegerField(help_text="Stress inputs on which it passed the problem's time limit.")
    output_hash = models.CharField(
        max_length=64, help_text="Equal for programs that answer alike on all tests."
    )
    outcomes = models.JSONField(
        null=True,
        blank=True,
        help_text='Texts of "1" (passed) and "0" by kind of test: samples, tests, written. Null: of an older version.',
    )
    failures = models.JSONField(
        help_text="Failed tests, those with the shortest inputs: name, input, expected, output, fault."
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
