"""The problem bank: datasets, problems, their tests, figures and reference solutions."""

from __future__ import annotations

from django.db import models
from django.urls import reverse


class Tier(models.TextChoices):
    """The divisions of the USA Computing Olympiad, easiest first. Other sources may have no tiers."""

    BRONZE = "bronze"
    SILVER = "silver"
    GOLD = "gold"
    PLATINUM = "platinum"


class Dataset(models.Model):
    """A named collection of problems, filled by one importer."""

    name = models.SlugField(max_length=80, unique=True)
    format = models.CharField(max_length=30)
    known_as = models.CharField(
        max_length=80,
        blank=True,
        default="",
        help_text="Name of the dataset on other sites, if imported runs alone describe its problems: titles and limits "
        "without statements and tests. Blank: an ordinary dataset.",
    )
    time_factor = models.FloatField(
        default=1.0,
        help_text="Factor of its time limits under scaled limits on the reference machine, from "
        "`manage.py verify_package --calibrate`. 1: the limits as published.",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class TextFormat(models.TextChoices):
    """The markup of a statement or an analysis; `benchmark.rendering` converts each to safe HTML."""

    USACO = "usaco"
    MARKDOWN = "markdown"
    LATEX = "latex"


class Problem(models.Model):
    """One programming task: its statement, limits, checker and origin."""

    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="problems")
    external_id = models.CharField(
        max_length=200, help_text="The source's own identifier, unique in the dataset."
    )
    title = models.CharField(max_length=300)
    tier = models.CharField(max_length=20, blank=True, choices=Tier.choices, db_index=True)
    tags = models.JSONField(default=list, blank=True)
    statement = models.TextField(help_text="The source's text, which models receive.")
    statement_format = models.CharField(max_length=20, choices=TextFormat.choices)
    samples_text = models.TextField(
        blank=True, help_text="The samples as models receive them, if the statement does not contain them."
    )
    statement_html = models.TextField(help_text="Rendered and sanitised at import.")
    analysis = models.TextField(
        blank=True, help_text="The official explanation. Never shown to a model under test."
    )
    analysis_format = models.CharField(max_length=20, choices=TextFormat.choices, blank=True)
    analysis_html = models.TextField(blank=True)
    analysis_english = models.TextField(
        blank=True,
        help_text="The explanation without programs, if the source has one (solution_english).",
    )
    time_limit = models.FloatField(help_text="Seconds of CPU time.")
    memory_limit = models.BigIntegerField(help_text="Bytes.")
    checker = models.JSONField(help_text="judge.Checker as JSON.")
    signature = models.JSONField(
        null=True,
        blank=True,
        help_text="benchmark.functional.Signature as JSON: programs are classes. Null: they read standard input.",
    )
    samples_only = models.BooleanField(
        default=False, help_text="No hidden tests are known, so verdicts are on samples."
    )
    contest = models.CharField(max_length=200, blank=True)
    contest_date = models.DateField(null=True, blank=True, db_index=True)
    rating = models.PositiveIntegerField(
        null=True, blank=True, help_text="Difficulty rating of the source. Null: unknown."
    )
    source_url = models.URLField(max_length=500, blank=True)
    test_data_link = models.URLField(
        max_length=500, blank=True, help_text="Address of the official tests, according to the source."
    )
    tests_announced = models.PositiveIntegerField(
        null=True, blank=True, help_text="Number of official tests, according to the source. Null: unknown."
    )
    credits = models.CharField(max_length=500, blank=True)
    license = models.CharField(max_length=100, blank=True)
    content_hash = models.CharField(
        max_length=64, help_text="sha256 over everything imported, tests included."
    )
    rendered_by = models.CharField(
        max_length=20, default="1", help_text="Version of the renderer that produced the HTML."
    )
    imported_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["dataset__name", "external_id"]
        constraints = [
            models.UniqueConstraint(fields=["dataset", "external_id"], name="problem_once_per_dataset")
        ]

    def __str__(self) -> str:
        return f"{self.dataset.name}/{self.external_id}"

    def get_absolute_url(self) -> str:
        return reverse("problem", args=[self.dataset.name, self.external_id])


class TestCase(models.Model):
    """One input with its answer. The blob store holds the bytes, the row their hashes."""

    __test__ = False  # pytest must not collect it

    class Origin(models.TextChoices):
        SAMPLE = "sample"
        HIDDEN = "hidden"

    problem = models.ForeignKey(Problem, on_delete=models.CASCADE, related_name="tests")
    order = models.PositiveIntegerField(help_text="Samples first, then hidden tests, in the source's order.")
    name = models.CharField(max_length=200)
    origin = models.CharField(max_length=10, choices=Origin.choices)
    input_hash = models.CharField(max_length=64)
    answer_hash = models.CharField(max_length=64)
    explanation = models.TextField(blank=True)

    class Meta:
        ordering = ["problem", "order"]
        constraints = [
            models.UniqueConstraint(fields=["problem", "order"], name="test_order_once_per_problem")
        ]

    def __str__(self) -> str:
        return f"{self.problem} test {self.name}"


class ReferenceSolution(models.Model):
    """A correct program from the source of the problem. Tutors may see it; models under test never do."""

    PUBLISHED = "solution_python3"
    """The name of the Python program of the published USACO collection: its key there."""

    problem = models.ForeignKey(Problem, on_delete=models.CASCADE, related_name="references")
    language = models.CharField(max_length=20)
    source = models.TextField()
    name = models.CharField(max_length=200)
    order = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["problem", "order"]

    def __str__(self) -> str:
        return f"{self.problem} {self.name}"


class Figure(models.Model):
    """An image of a statement or an analysis, in a format that browsers show (PNG, JPEG, GIF, WebP)."""

    problem = models.ForeignKey(Problem, on_delete=models.CASCADE, related_name="figures")
    name = models.CharField(max_length=200)
    media_type = models.CharField(max_length=40)
    content_hash = models.CharField(max_length=64)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["problem", "name"], name="figure_name_once_per_problem")
        ]

    def __str__(self) -> str:
        return f"{self.problem} {self.name}"
