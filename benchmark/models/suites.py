"""Test suites of a problem, and the programs that generate and measure them (docs/spec.md 5.1, 15)."""

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
        """The share, 0 to 1."""
        return self.count / self.total

    def to_json(self) -> dict[str, float]:
        """Return count, total, value and the bounds of the interval by name."""
        return {
            "count": self.count,
            "total": self.total,
            "value": self.value,
            "low": self.interval.low,
            "high": self.interval.high,
        }


class Suite(models.Model):
    """Generated tests of a problem. A released suite never changes; a better one is another version.

    The counts are those of its validation: how many of the known right programs passed every test, and how many of the
    known wrong programs failed some test. They are null before the validation.
    """

    problem = models.ForeignKey(Problem, on_delete=models.CASCADE, related_name="suites")
    version = models.PositiveIntegerField(help_text="1 for the problem's first suite, 2 …")
    recipe_hash = models.CharField(
        max_length=64,
        help_text="sha256 of everything that the tests depend on; it identifies the suite of an interrupted build.",
    )
    provenance = models.JSONField(
        default=dict, help_text="Generators, validators, reference, seeds, dropped inputs, and the judge."
    )
    content_hash = models.CharField(
        max_length=64,
        blank=True,
        help_text="sha256 of the hashes of its tests in order. Blank: not built completely.",
    )
    right_accepted = models.PositiveIntegerField(null=True, blank=True)
    right_total = models.PositiveIntegerField(null=True, blank=True)
    wrong_rejected = models.PositiveIntegerField(null=True, blank=True)
    wrong_total = models.PositiveIntegerField(null=True, blank=True)
    released_at = models.DateTimeField(null=True, blank=True, help_text="Null: not released.")
    note = models.TextField(blank=True, help_text="Why the suite was not released, or a warning for users.")
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
        """Store the suite. Raises TypeError if it is released and measured."""
        if Suite.objects.filter(pk=self.pk, released_at__isnull=False, right_total__isnull=False).exists():
            raise TypeError("A released suite is never changed; build another version.")
        super().save(*arguments, **options)

    def get_absolute_url(self) -> str:
        return reverse("suite", args=[self.problem.dataset.name, self.version, self.problem.external_id])

    def delete(self, *arguments: Any, **options: Any) -> tuple[int, dict[str, int]]:
        """Delete the suite. Raises TypeError if it is released."""
        if self.released_at is not None:
            raise TypeError("A released suite is never deleted; judgements name it.")
        return super().delete(*arguments, **options)

    @property
    def measured(self) -> bool:
        """Whether known programs were judged on the suite. An oracle's suite may be released before that."""
        return self.right_total is not None

    @property
    def true_positive_rate(self) -> Rate | None:
        """The share of known right programs that the suite accepts; None before the validation or if none are known."""
        return rate(self.right_accepted, self.right_total)

    @property
    def true_negative_rate(self) -> Rate | None:
        """The share of known wrong programs that the suite rejects; None before the validation or if none are known."""
        return rate(self.wrong_rejected, self.wrong_total)


def rate(count: int | None, total: int | None) -> Rate | None:
    """Return the share with its interval; None if a number is unknown or the total is 0."""
    if count is None or not total:
        return None
    from benchmark.metrics import wilson  # loads numpy and scipy, which most processes do not need

    return Rate(count, total, wilson(count, total))


class SuiteTest(models.Model):
    """One input with its answer. The blob store holds the bytes. No input occurs twice in a suite."""

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
        max_length=200, blank=True, help_text="The generator of the test, or another name of its group."
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
        """Store the test. Raises TypeError if its suite is released."""
        if self.suite.released_at is not None:
            raise TypeError("A released suite is never changed; build another version.")
        super().save(*arguments, **options)


class WrittenProgram(models.Model):
    """A program with its author: a problem package or a model."""

    author = models.CharField(
        max_length=200,
        blank=True,
        help_text="The model that wrote the program. Blank: it is part of the problem package.",
    )
    writing = models.JSONField(
        default=dict, blank=True, help_text="The prompt, the reply and the tokens of the model."
    )

    class Meta:
        abstract = True


class PackageProgram(WrittenProgram):
    """A program that generates or checks tests, or is tried on them. A package or a model is its source."""

    class Role(models.TextChoices):
        GENERATOR = "generator"
        INPUT_VALIDATOR = "input_validator", "input validator"
        WRONG = "wrong", "known wrong program"

    problem = models.ForeignKey(Problem, on_delete=models.CASCADE, related_name="package_programs")
    order = models.PositiveIntegerField()
    role = models.CharField(max_length=20, choices=Role.choices)
    name = models.CharField(max_length=200)
    language = models.CharField(max_length=20)
    files = models.JSONField(
        help_text="The texts of its files by name. More than one file only if some are headers."
    )
    expected = models.JSONField(
        default=list,
        blank=True,
        help_text="Possible verdicts of a wrong program. Empty: every verdict except AC.",
    )
    commands = models.JSONField(
        default=list,
        blank=True,
        help_text="Calls of a generator: kind of test, and arguments with the placeholder {seed}.",
    )

    class Meta:
        ordering = ["problem", "order"]
        constraints = [
            models.UniqueConstraint(fields=["problem", "order"], name="package_program_order_once")
        ]

    def __str__(self) -> str:
        return f"{self.problem} {self.role} {self.name}"


class ListedTest(models.Model):
    """A test that generators.yaml of a package lists: handwritten, generated by a command, or invalid."""

    problem = models.ForeignKey(Problem, on_delete=models.CASCADE, related_name="listed_tests")
    order = models.PositiveIntegerField()
    name = models.CharField(max_length=200, help_text="Path below data/, without ending.")
    kind = models.CharField(
        max_length=20, blank=True, help_text="Kind of a generated test. Blank: handwritten."
    )
    generator = models.CharField(max_length=200, blank=True)
    arguments = models.TextField(
        blank=True, help_text="Arguments of the generator, with the placeholder {seed}."
    )
    salt = models.CharField(
        max_length=200, blank=True, help_text="Text that is hashed before the command to get its seed."
    )
    solution = models.CharField(
        max_length=200,
        blank=True,
        help_text="The submission that answers the test. Blank: the fastest reference.",
    )
    input_hash = models.CharField(max_length=64, blank=True, help_text="Input of a handwritten test.")
    answer_hash = models.CharField(max_length=64, blank=True, help_text="Blank: a solution answers it.")
    fault = models.TextField(blank=True, help_text="Why the test cannot be generated. Blank: no fault.")

    class Meta:
        ordering = ["problem", "order"]
        constraints = [models.UniqueConstraint(fields=["problem", "order"], name="listed_test_order_once")]

    def __str__(self) -> str:
        return f"{self.problem} listed test {self.name}"


class SizedGenerator(WrittenProgram):
    """A generator whose argument states the size of the input, for the growth of running times.

    Generators of suites are `PackageProgram` rows. These rows are not part of the problem's content hash.
    """

    problem = models.ForeignKey(Problem, on_delete=models.CASCADE, related_name="sized_generators")
    order = models.PositiveIntegerField()
    parameter = models.CharField(max_length=40, help_text="The name of the size in the statement, such as n.")
    name = models.CharField(max_length=200, help_text="The file of the program.")
    language = models.CharField(max_length=20)
    files = models.JSONField(help_text="The texts of its files by name. Empty: the model wrote no program.")
    arguments = models.TextField(help_text="Arguments with the placeholders {size} and {seed}.")
    largest = models.PositiveBigIntegerField(help_text="The largest size that the statement allows.")

    class Meta:
        ordering = ["problem", "order"]
        constraints = [
            models.UniqueConstraint(fields=["problem", "order"], name="sized_generator_order_once")
        ]

    def __str__(self) -> str:
        return f"{self.problem} {self.parameter} by {self.name}"
