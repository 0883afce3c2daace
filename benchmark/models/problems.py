"""The problem bank: datasets, problems, their tests, figures and reference solutions."""

from __future__ import annotations

from django.db import models
from django.urls import reverse


class Tier(models.TextChoices):
    """The four divisions of the USA Computing Olympiad, easiest first; other sources may leave it blank."""

    BRONZE = "bronze"
    SILVER = "silver"
    GOLD = "gold"
    PLATINUM = "platinum"


class Dataset(models.Model):
    """A named collection of problems, filled by one importer."""

    name = models.SlugField(max_length=80, unique=True)
    format = models.CharField(max_length=30)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class TextFormat(models.TextChoices):
    """How a statement or an analysis is written; benchmark.rendering turns each into safe HTML."""

    USACO = "usaco"
    MARKDOWN = "markdown"
    LATEX = "latex"


class Problem(models.Model):
    """One task: what the tutor and the model read, its limits, and how output is compared."""

    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="problems")
    external_id = models.CharField(
        max_length=200, help_text="The source's own identifier, unique in the dataset."
    )
    title = models.CharField(max_length=300)
    tier = models.CharField(max_length=20, blank=True, choices=Tier.choices, db_index=True)
    tags = models.JSONField(default=list, blank=True)
    statement = models.TextField(help_text="As the source wrote it; this is what a model is given.")
    statement_format = models.CharField(max_length=20, choices=TextFormat.choices)
    samples_text = models.TextField(
        blank=True, help_text="The samples as a model is given them, where the statement does not hold them."
    )
    statement_html = models.TextField(help_text="Rendered and sanitised at import.")
    analysis = models.TextField(
        blank=True, help_text="The official explanation. Never shown to a model under test."
    )
    analysis_format = models.CharField(max_length=20, choices=TextFormat.choices, blank=True)
    analysis_html = models.TextField(blank=True)
    analysis_english = models.TextField(
        blank=True,
        help_text="The explanation without programs, where the source splits it off (solution_english).",
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
        default=False, help_text="No hidden tests are known: verdicts are on samples."
    )
    contest = models.CharField(max_length=200, blank=True)
    contest_date = models.DateField(null=True, blank=True, db_index=True)
    rating = models.PositiveIntegerField(
        null=True, blank=True, help_text="Difficulty as its source rates it; null: unknown."
    )
    source_url = models.URLField(max_length=500, blank=True)
    test_data_link = models.URLField(
        max_length=500, blank=True, help_text="Where the source says the official tests are."
    )
    tests_announced = models.PositiveIntegerField(
        null=True, blank=True, help_text="How many official tests the source says there are; null: unknown."
    )
    credits = models.CharField(max_length=500, blank=True)
    license = models.CharField(max_length=100, blank=True)
    content_hash = models.CharField(
        max_length=64, help_text="sha256 over everything imported, tests included."
    )
    rendered_by = models.CharField(
        max_length=20, default="1", help_text="The version of the renderer that made the HTML."
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
    """One input with its answer. The bytes lie in the blob store; the row holds their hashes."""

    __test__ = False  # not a test class, whatever pytest thinks of the name

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
    """A program that comes with the problem. Tutors may see it; a model under test never does."""

    PUBLISHED = "solution_python3"
    """The name of the Python program of the published USACO collection, which is the key it has there."""

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
    """A picture of a statement or an analysis, as bytes a browser shows (PNG, JPEG, GIF, WebP)."""

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
