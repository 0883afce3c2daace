"""Test suites made for a problem, and the programs that make and measure them (docs/spec.md 5.1, 15)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db import models
from django.urls import reverse

from benchmark.models.problems import Problem

if TYPE_CHECKING:
    from benchmark.metrics import Interval


@dataclass(frozen=True)
class Rate:
    """A share of programs with its 95 % interval (Wilson)."""

    count: int
    total: int
    interval: Interval

    @property
    def value(self) -> float:
        """The share itself."""
        return self.count / self.total

    def to_json(self) -> dict[str, float]:
        """All of it by name."""
        return {
            "count": self.count,
            "total": self.total,
            "value": self.value,
            "low": self.interval.low,
            "high": self.interval.high,
        }


class Suite(models.Model):
    """Tests made for a problem. Once released it never changes; a better one is another version.

    The counts are those of its validation: how many of the known right programs passed every test, and how
    many of the known wrong ones failed some test. They are null until it was validated.
    """

    problem = models.ForeignKey(Problem, on_delete=models.CASCADE, related_name="suites")
    version = models.PositiveIntegerField(help_text="1 for the problem's first suite, 2 …")
    recipe_hash = models.CharField(
        max_length=64, help_text="sha256 of everything the tests are made from; a build goes on by it."
    )
    provenance = models.JSONField(
        default=dict, help_text="Generators, validators, reference, seeds, what was dropped, and the judge."
    )
    content_hash = models.CharField(
        max_length=64, blank=True, help_text="sha256 of the tests' hashes in order; blank while it is built."
    )
    right_accepted = models.PositiveIntegerField(null=True, blank=True)
    right_total = models.PositiveIntegerField(null=True, blank=True)
    wrong_rejected = models.PositiveIntegerField(null=True, blank=True)
    wrong_total = models.PositiveIntegerField(null=True, blank=True)
    released_at = models.DateTimeField(null=True, blank=True, help_text="Null: not to be relied on.")
    note = models.TextField(blank=True, help_text="Why it was not released, or what a user must know.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["problem", "version"]
        constraints = [
            models.UniqueConstraint(fields=["problem", "version"], name="suite_version_once_per_problem"),
            models.UniqueConstraint(fields=["problem", "recipe_hash"], name="suite_recipe_once_per_problem"),
        ]

    def __str__(self) -> str:
        return f"{self.problem} suite {self.version}"

    def save(self, *arguments: Any, **options: Any) -> None:
        """Store it. Raises TypeError for one that was released and measured."""
        if Suite.objects.filter(pk=self.pk, released_at__isnull=False, right_total__isnull=False).exists():
            raise TypeError("A released suite is never changed; build another version.")
        super().save(*arguments, **options)

    def get_absolute_url(self) -> str:
        return reverse("suite", args=[self.problem.dataset.name, self.version, self.problem.external_id])

    def delete(self, *arguments: Any, **options: Any) -> tuple[int, dict[str, int]]:
        """Raises TypeError for one that was released."""
        if self.released_at is not None:
            raise TypeError("A released suite is never deleted; judgements name it.")
        return super().delete(*arguments, **options)

    @property
    def measured(self) -> bool:
        """Whether known programs were judged on it; an oracle's suite is released before."""
        return self.right_total is not None

    @property
    def true_positive_rate(self) -> Rate | None:
        """The share of known right programs that it accepts; None before validation and without any."""
        return rate(self.right_accepted, self.right_total)

    @property
    def true_negative_rate(self) -> Rate | None:
        """The share of known wrong programs that it rejects; None before validation and without any."""
        return rate(self.wrong_rejected, self.wrong_total)


def rate(count: int | None, total: int | None) -> Rate | None:
    """So many of the total, with the interval; None where a number is unknown or there is nothing to count."""
    if count is None or not total:
        return None
    from benchmark.metrics import wilson  # with numpy and scipy, which most processes do without

    return Rate(count, total, wilson(count, total))


class SuiteTest(models.Model):
    """One input with its answer. The bytes lie in the blob store; no input occurs twice in a suite."""

    class Origin(models.TextChoices):
        RANDOM = "generated-random", "generated, random"
        CORNER = "generated-corner", "generated, corner case"
        STRESS = "stress", "stress (as large as the limits allow)"
        TRICKY = "tricky"
        ORACLE = "oracle", "answered by an oracle"
        HANDWRITTEN = "handwritten"

    suite = models.ForeignKey(Suite, on_delete=models.CASCADE, related_name="tests")
    order = models.PositiveIntegerField()
    name = models.CharField(max_length=200)
    origin = models.CharField(max_length=20, choices=Origin.choices)
    group = models.CharField(
        max_length=200, blank=True, help_text="The generator, or what else it belongs to."
    )
    input_hash = models.CharField(max_length=64)
    answer_hash = models.CharField(max_length=64)

    class Meta:
        ordering = ["suite", "order"]
        constraints = [
            models.UniqueConstraint(fields=["suite", "order"], name="suite_test_order_once"),
            models.UniqueConstraint(fields=["suite", "input_hash"], name="suite_input_once"),
        ]

    def __str__(self) -> str:
        return f"{self.suite} test {self.name}"

    def save(self, *arguments: Any, **options: Any) -> None:
        """Store it. Raises TypeError when its suite was released."""
        if self.suite.released_at is not None:
            raise TypeError("A released suite is never changed; build another version.")
        super().save(*arguments, **options)


class PackageProgram(models.Model):
    """A program that makes, checks or tries tests: it came with its problem, or a model wrote it."""

    class Role(models.TextChoices):
        GENERATOR = "generator"
        INPUT_VALIDATOR = "input_validator", "input validator"
        WRONG = "wrong", "known wrong program"

    problem = models.ForeignKey(Problem, on_delete=models.CASCADE, related_name="package_programs")
    order = models.PositiveIntegerField()
    role = models.CharField(max_length=20, choices=Role.choices)
    name = models.CharField(max_length=200)
    language = models.CharField(max_length=20)
    files = models.JSONField(help_text="The texts of its files by name; more than one only with headers.")
    expected = models.JSONField(
        default=list,
        blank=True,
        help_text="Verdicts that a wrong program is known to get; empty: any but AC.",
    )
    commands = models.JSONField(
        default=list,
        blank=True,
        help_text="How a generator is called: kind of test, and arguments with {seed} where a seed belongs.",
    )

    author = models.CharField(
        max_length=200, blank=True, help_text="The model that wrote it; blank: it came with the problem."
    )
    writing = models.JSONField(
        default=dict, blank=True, help_text="How the model was asked, what it replied, and its tokens."
    )

    class Meta:
        ordering = ["problem", "order"]
        constraints = [
            models.UniqueConstraint(fields=["problem", "order"], name="package_program_order_once")
        ]

    def __str__(self) -> str:
        return f"{self.problem} {self.role} {self.name}"


class ListedTest(models.Model):
    """A test that a package's generators.yaml lists: written by hand, made by a command, or at fault."""

    problem = models.ForeignKey(Problem, on_delete=models.CASCADE, related_name="listed_tests")
    order = models.PositiveIntegerField()
    name = models.CharField(max_length=200, help_text="Path below data/, without ending.")
    kind = models.CharField(max_length=20, blank=True, help_text="Of a generated test; blank: handwritten.")
    generator = models.CharField(max_length=200, blank=True)
    arguments = models.TextField(blank=True, help_text="Of the generator, with {seed} where a seed belongs.")
    salt = models.CharField(max_length=200, blank=True, help_text="Hashed before the command for its seed.")
    solution = models.CharField(
        max_length=200, blank=True, help_text="The submission that answers it; blank: the fastest reference."
    )
    input_hash = models.CharField(max_length=64, blank=True, help_text="Of a handwritten test.")
    answer_hash = models.CharField(max_length=64, blank=True, help_text="Blank: a solution answers it.")
    fault = models.TextField(blank=True, help_text="Why the test cannot be made; blank: it can.")

    class Meta:
        ordering = ["problem", "order"]
        constraints = [models.UniqueConstraint(fields=["problem", "order"], name="listed_test_order_once")]

    def __str__(self) -> str:
        return f"{self.problem} listed test {self.name}"
