"""Create the tables of version 1.0 at once. A database of an earlier version runs the replaced migrations."""

import uuid

import django.core.validators
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    replaces = [
        ("benchmark", "0001_initial"),
        ("benchmark", "0002_corpora"),
        ("benchmark", "0003_sample_judgement"),
        ("benchmark", "0004_suites"),
        ("benchmark", "0005_similar_problems"),
        ("benchmark", "0006_kept_figures"),
        ("benchmark", "0007_refinement"),
        ("benchmark", "0008_oracles"),
        ("benchmark", "0009_similarity_figures"),
        ("benchmark", "0010_verifier_generations"),
        ("benchmark", "0011_written_generators"),
        ("benchmark", "0012_runner"),
        ("benchmark", "0013_purposes"),
        ("benchmark", "0014_samples_text"),
        ("benchmark", "0015_batches"),
        ("benchmark", "0016_lookups_of_replies"),
        ("benchmark", "0017_asking"),
        ("benchmark", "0018_runner_of_questions"),
        ("benchmark", "0019_alone_with"),
        ("benchmark", "0020_rendered_by"),
        ("benchmark", "0021_analysis_english"),
        ("benchmark", "0022_judged_as_published"),
        ("benchmark", "0023_draws_and_calls_broken_off"),
        ("benchmark", "0024_count_calls_without_tokens"),
        ("benchmark", "0025_permanent_failures"),
        ("benchmark", "0026_listed_tests"),
        ("benchmark", "0027_official_tests"),
        ("benchmark", "0028_oracles_and_rankings"),
        ("benchmark", "0029_ties_coverage_and_tags"),
        ("benchmark", "0030_leases"),
        ("benchmark", "0031_words"),
        ("benchmark", "0032_cached_run_report"),
        ("benchmark", "0033_language_models"),
        ("benchmark", "0034_blocks_of_generations"),
        ("benchmark", "0035_catalogue"),
        ("benchmark", "0036_arms"),
        ("benchmark", "0037_travel"),
        ("benchmark", "0038_spending"),
        ("benchmark", "0039_batched_request"),
        ("benchmark", "0040_reference_verdicts"),
        ("benchmark", "0046_growth"),
        ("benchmark", "0047_judgement_requested_by"),
        ("benchmark", "0048_fill_ledger"),
        ("benchmark", "0049_machine_speed"),
        ("benchmark", "0050_rejudging"),
        ("benchmark", "0051_growth_machine"),
        ("benchmark", "0052_processes"),
    ]

    initial = True

    dependencies = [
        ("auth", "__first__"),
    ]

    operations = [
        migrations.CreateModel(
            name="SpeedMeasurement",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("host", models.CharField(help_text="Name and processor of the machine.", max_length=200)),
                (
                    "factor",
                    models.FloatField(
                        help_text="CPU time of the reference programs, divided by that on the reference machine."
                    ),
                ),
                ("spread", models.FloatField(help_text="Largest relative difference between repetitions.")),
                ("times", models.JSONField(help_text="CPU seconds of the reference programs by language.")),
                ("measured_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "ordering": ["-measured_at"],
                "indexes": [
                    models.Index(fields=["host", "-measured_at"], name="benchmark_s_host_d6b4f6_idx")
                ],
            },
        ),
        migrations.CreateModel(
            name="TimeFactor",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "scope",
                    models.CharField(
                        help_text="run:ID, study:NAME@VERSION, suite:ID, problem:ID or day:DATE (UTC).",
                        max_length=140,
                    ),
                ),
                ("host", models.CharField(max_length=200)),
                ("factor", models.FloatField()),
                ("measured", models.FloatField(help_text="The measured factor before it was quantized.")),
                ("fixed_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "ordering": ["-fixed_at"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("host", "scope"), name="time_factor_once_per_scope_and_host"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Dataset",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.SlugField(max_length=80, unique=True)),
                ("format", models.CharField(max_length=30)),
                (
                    "known_as",
                    models.CharField(
                        blank=True,
                        default="",
                        help_text="Name of the dataset on other sites, if imported runs alone describe its problems: titles and limits without statements and tests. Blank: an ordinary dataset.",
                        max_length=80,
                    ),
                ),
                (
                    "time_factor",
                    models.FloatField(
                        default=1.0,
                        help_text="Factor of its time limits under scaled limits on the reference machine, from `manage.py verify_package --calibrate`. 1: the limits as published.",
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "ordering": ["name"],
            },
        ),
        migrations.CreateModel(
            name="Problem",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "dataset",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="problems",
                        to="benchmark.dataset",
                    ),
                ),
                (
                    "external_id",
                    models.CharField(
                        help_text="The source's own identifier, unique in the dataset.", max_length=200
                    ),
                ),
                ("title", models.CharField(max_length=300)),
                (
                    "tier",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("bronze", "Bronze"),
                            ("silver", "Silver"),
                            ("gold", "Gold"),
                            ("platinum", "Platinum"),
                        ],
                        db_index=True,
                        max_length=20,
                    ),
                ),
                ("tags", models.JSONField(blank=True, default=list)),
                ("statement", models.TextField(help_text="The source's text, which models receive.")),
                (
                    "statement_format",
                    models.CharField(
                        choices=[("usaco", "Usaco"), ("markdown", "Markdown"), ("latex", "Latex")],
                        max_length=20,
                    ),
                ),
                (
                    "samples_text",
                    models.TextField(
                        blank=True,
                        help_text="The samples as models receive them, if the statement does not contain them.",
                    ),
                ),
                ("statement_html", models.TextField(help_text="Rendered and sanitised at import.")),
                (
                    "analysis",
                    models.TextField(
                        blank=True, help_text="The official explanation. Never shown to a model under test."
                    ),
                ),
                (
                    "analysis_format",
                    models.CharField(
                        blank=True,
                        choices=[("usaco", "Usaco"), ("markdown", "Markdown"), ("latex", "Latex")],
                        max_length=20,
                    ),
                ),
                ("analysis_html", models.TextField(blank=True)),
                (
                    "analysis_english",
                    models.TextField(
                        blank=True,
                        help_text="The explanation without programs, if the source has one (solution_english).",
                    ),
                ),
                ("time_limit", models.FloatField(help_text="Seconds of CPU time.")),
                ("memory_limit", models.BigIntegerField(help_text="Bytes.")),
                ("checker", models.JSONField(help_text="judge.Checker as JSON.")),
                (
                    "signature",
                    models.JSONField(
                        blank=True,
                        help_text="benchmark.functional.Signature as JSON: programs are classes. Null: they read standard input.",
                        null=True,
                    ),
                ),
                (
                    "samples_only",
                    models.BooleanField(
                        default=False, help_text="No hidden tests are known, so verdicts are on samples."
                    ),
                ),
                ("contest", models.CharField(blank=True, max_length=200)),
                ("contest_date", models.DateField(blank=True, db_index=True, null=True)),
                (
                    "rating",
                    models.PositiveIntegerField(
                        blank=True, help_text="Difficulty rating of the source. Null: unknown.", null=True
                    ),
                ),
                ("source_url", models.URLField(blank=True, max_length=500)),
                (
                    "test_data_link",
                    models.URLField(
                        blank=True,
                        help_text="Address of the official tests, according to the source.",
                        max_length=500,
                    ),
                ),
                (
                    "tests_announced",
                    models.PositiveIntegerField(
                        blank=True,
                        help_text="Number of official tests, according to the source. Null: unknown.",
                        null=True,
                    ),
                ),
                ("credits", models.CharField(blank=True, max_length=500)),
                ("license", models.CharField(blank=True, max_length=100)),
                (
                    "content_hash",
                    models.CharField(
                        help_text="sha256 over everything imported, tests included.", max_length=64
                    ),
                ),
                (
                    "rendered_by",
                    models.CharField(
                        default="1",
                        help_text="Version of the renderer that produced the HTML.",
                        max_length=20,
                    ),
                ),
                ("imported_at", models.DateTimeField(auto_now=True)),
            ],
            options={
                "ordering": ["dataset__name", "external_id"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("dataset", "external_id"), name="problem_once_per_dataset"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="TestCase",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "problem",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="tests",
                        to="benchmark.problem",
                    ),
                ),
                (
                    "order",
                    models.PositiveIntegerField(
                        help_text="Samples first, then hidden tests, in the source's order."
                    ),
                ),
                ("name", models.CharField(max_length=200)),
                (
                    "origin",
                    models.CharField(choices=[("sample", "Sample"), ("hidden", "Hidden")], max_length=10),
                ),
                ("input_hash", models.CharField(max_length=64)),
                ("answer_hash", models.CharField(max_length=64)),
                ("explanation", models.TextField(blank=True)),
            ],
            options={
                "ordering": ["problem", "order"],
                "constraints": [
                    models.UniqueConstraint(fields=("problem", "order"), name="test_order_once_per_problem")
                ],
            },
        ),
        migrations.CreateModel(
            name="ReferenceSolution",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "problem",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="references",
                        to="benchmark.problem",
                    ),
                ),
                ("language", models.CharField(max_length=20)),
                ("source", models.TextField()),
                ("name", models.CharField(max_length=200)),
                ("order", models.PositiveIntegerField(default=0)),
            ],
            options={
                "ordering": ["problem", "order"],
            },
        ),
        migrations.CreateModel(
            name="Figure",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "problem",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="figures",
                        to="benchmark.problem",
                    ),
                ),
                ("name", models.CharField(max_length=200)),
                ("media_type", models.CharField(max_length=40)),
                ("content_hash", models.CharField(max_length=64)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("problem", "name"), name="figure_name_once_per_problem")
                ],
            },
        ),
        migrations.CreateModel(
            name="Submission",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "problem",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="submissions",
                        to="benchmark.problem",
                    ),
                ),
                ("language", models.CharField(max_length=20)),
                ("source", models.TextField()),
                (
                    "source_hash",
                    models.CharField(help_text="sha256 of the source's UTF-8 bytes.", max_length=64),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("problem", "language", "source_hash"), name="submission_stored_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ReferenceVerdict",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "problem",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="reference_verdicts",
                        to="benchmark.problem",
                    ),
                ),
                (
                    "problem_hash",
                    models.CharField(help_text="content_hash of the problem at the time.", max_length=64),
                ),
                ("verdict", models.CharField(max_length=10)),
                (
                    "language",
                    models.CharField(blank=True, help_text="Blank without a program.", max_length=20),
                ),
                (
                    "reason",
                    models.TextField(
                        blank=True, help_text="Why the verdict is not AC. It quotes no hidden test."
                    ),
                ),
                ("at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "ordering": ["problem", "pk"],
            },
        ),
        migrations.CreateModel(
            name="LanguageModel",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "label",
                    models.CharField(
                        help_text="Name for researchers. Tutors never see it.",
                        max_length=80,
                        validators=[
                            django.core.validators.RegexValidator(
                                "^[\\w.-]+\\Z", "Use letters, digits, dots, hyphens and underscores."
                            )
                        ],
                    ),
                ),
                ("version", models.PositiveIntegerField(default=1)),
                (
                    "spec",
                    models.CharField(
                        help_text="provider:model, or provider@endpoint:model for a named endpoint.",
                        max_length=200,
                    ),
                ),
                (
                    "parameters",
                    models.JSONField(
                        blank=True,
                        default=dict,
                        help_text="Sampling parameters that every request sends (benchmark.providers.Parameters).",
                    ),
                ),
                (
                    "context_tokens",
                    models.PositiveIntegerField(
                        blank=True,
                        help_text="Longest prompt and reply together, in tokens. Null: unknown.",
                        null=True,
                    ),
                ),
                (
                    "content_hash",
                    models.CharField(editable=False, help_text="sha256 of the content.", max_length=64),
                ),
                (
                    "price",
                    models.JSONField(
                        blank=True,
                        help_text="US dollars for a million tokens as typed (benchmark.model_calls.budget.Price). Null: the listed price.",
                        null=True,
                    ),
                ),
                (
                    "cutoff",
                    models.DateField(
                        blank=True, help_text="End of the training data. Null: unknown.", null=True
                    ),
                ),
                (
                    "active",
                    models.BooleanField(
                        default=True, help_text="Whether new sessions, runs and studies may use it."
                    ),
                ),
                (
                    "for_sessions",
                    models.BooleanField(
                        default=False, help_text="Whether sessions outside of studies use it."
                    ),
                ),
                (
                    "automatic",
                    models.BooleanField(
                        default=False,
                        help_text="Whether a command made it for a model that was named as provider:model.",
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "frozen_at",
                    models.DateTimeField(blank=True, help_text="When it was first used.", null=True),
                ),
                (
                    "tutors",
                    models.ManyToManyField(
                        blank=True,
                        help_text="Tutors whose sessions outside of studies may use it. None: all tutors.",
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["label", "-version"],
                "indexes": [models.Index(fields=["content_hash"], name="benchmark_l_content_53c7c1_idx")],
                "constraints": [
                    models.UniqueConstraint(fields=("label", "version"), name="model_version_once"),
                    models.CheckConstraint(
                        condition=models.Q(("label", ""), _negated=True), name="model_has_a_label"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ModelTest",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "owner",
                    models.CharField(
                        blank=True, default="", help_text="The process that holds the lease.", max_length=120
                    ),
                ),
                (
                    "lease_until",
                    models.DateTimeField(
                        blank=True, help_text="When the lease ends unless its owner renews it.", null=True
                    ),
                ),
                (
                    "attempt",
                    models.PositiveIntegerField(
                        default=0, help_text="Number of claims. Only the latest claim may write."
                    ),
                ),
                (
                    "model",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="tests",
                        to="benchmark.languagemodel",
                    ),
                ),
                (
                    "content_hash",
                    models.CharField(help_text="Hash of the model's content at the request.", max_length=64),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("running", "Running"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                        ],
                        db_index=True,
                        default="waiting",
                        max_length=10,
                    ),
                ),
                (
                    "requested_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("requested_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "result",
                    models.JSONField(
                        blank=True,
                        help_text="benchmark.model_calls.model_tests.TestResult. Null: no reply.",
                        null=True,
                    ),
                ),
                (
                    "error",
                    models.TextField(blank=True, help_text="Why there is no reply, in the provider's words."),
                ),
            ],
            options={
                "ordering": ["-pk"],
            },
        ),
        migrations.CreateModel(
            name="Run",
            fields=[
                (
                    "model_spec",
                    models.CharField(
                        blank=True, help_text="provider:model. Blank: no model is called.", max_length=200
                    ),
                ),
                (
                    "price",
                    models.JSONField(
                        blank=True,
                        help_text="US dollars for a million input, output and cached input tokens, and their source; null: unknown.",
                        null=True,
                    ),
                ),
                (
                    "budget",
                    models.JSONField(
                        blank=True,
                        default=dict,
                        help_text="The most that the run may spend: cost (US dollars), tokens, calls.",
                    ),
                ),
                (
                    "limits",
                    models.JSONField(
                        blank=True,
                        default=dict,
                        help_text="Concurrency, requests and tokens a minute, and the model's context in tokens.",
                    ),
                ),
                (
                    "study_key",
                    models.CharField(
                        blank=True,
                        default="",
                        help_text="study:NAME@VERSION, whose spending the run counts in. Blank: outside of studies.",
                        max_length=140,
                    ),
                ),
                (
                    "stop_reason",
                    models.TextField(blank=True, help_text="Why the run stopped before its end."),
                ),
                (
                    "paid_calls",
                    models.PositiveBigIntegerField(
                        default=0, help_text="Replies that this run paid for; cache hits do not count."
                    ),
                ),
                ("paid_input_tokens", models.PositiveBigIntegerField(default=0)),
                ("paid_output_tokens", models.PositiveBigIntegerField(default=0)),
                (
                    "paid_cached_input_tokens",
                    models.PositiveBigIntegerField(
                        default=0,
                        help_text="Input tokens from the provider's cache, as the provider reports them.",
                    ),
                ),
                (
                    "calls_without_tokens",
                    models.PositiveBigIntegerField(
                        default=0, help_text="Paid calls whose tokens the provider did not report."
                    ),
                ),
                (
                    "calls_broken_off",
                    models.PositiveBigIntegerField(
                        default=0,
                        help_text="Calls that began and gave no complete reply. The provider may bill them.",
                    ),
                ),
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "dataset",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="runs",
                        to="benchmark.dataset",
                    ),
                ),
                ("method", models.CharField(max_length=60)),
                (
                    "model",
                    models.ForeignKey(
                        blank=True,
                        help_text="The model's version. Null in older runs whose model is unknown.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="runs",
                        to="benchmark.languagemodel",
                    ),
                ),
                (
                    "parameters",
                    models.JSONField(
                        help_text="Every parameter of the method, sampling included, defaults filled in."
                    ),
                ),
                (
                    "attempts",
                    models.PositiveIntegerField(
                        default=1, help_text="Number of chains of each problem, over all epochs."
                    ),
                ),
                (
                    "epochs",
                    models.PositiveIntegerField(
                        default=1,
                        help_text="Number of passes over all problems; each has an equal part of the chains.",
                    ),
                ),
                (
                    "first_draw",
                    models.PositiveIntegerField(
                        default=0,
                        help_text="Draw number of the first epoch; it grows by 1 with each epoch. 0: stored replies are reused.",
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[("open", "Open"), ("finished", "Finished"), ("stopped", "Stopped")],
                        db_index=True,
                        default="open",
                        max_length=10,
                    ),
                ),
                (
                    "manifest",
                    models.JSONField(
                        help_text="Everything that the result depends on, at the start of the run."
                    ),
                ),
                (
                    "distributed",
                    models.BooleanField(default=False, help_text="Whether workers execute the run."),
                ),
                ("started_at", models.DateTimeField(auto_now_add=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                (
                    "rejudged_at",
                    models.DateTimeField(
                        blank=True,
                        help_text="When a rejudging last replaced verdicts. Null: never.",
                        null=True,
                    ),
                ),
                (
                    "source",
                    models.JSONField(
                        blank=True,
                        help_text="Where an imported run comes from: site, version, content_hash, imported_at. Null: run here.",
                        null=True,
                    ),
                ),
            ],
            options={
                "ordering": ["-started_at"],
            },
        ),
        migrations.CreateModel(
            name="DrawCounter",
            fields=[
                (
                    "model_spec",
                    models.CharField(
                        help_text="provider:model", max_length=200, primary_key=True, serialize=False
                    ),
                ),
                ("last", models.PositiveIntegerField(default=0)),
            ],
            options={
                "ordering": ["model_spec"],
            },
        ),
        migrations.CreateModel(
            name="CachedRunReport",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="cached_report",
                        to="benchmark.run",
                    ),
                ),
                (
                    "fingerprint",
                    models.CharField(
                        help_text="Version of the document and state of the run. Figures with another fingerprint are stale.",
                        max_length=200,
                    ),
                ),
                (
                    "score",
                    models.FloatField(
                        blank=True,
                        help_text="The headline over all problems, pass@1 or Refine@K; the lists order by it.",
                        null=True,
                    ),
                ),
                ("figures", models.JSONField(help_text="benchmark.reports.RunFigures as JSON.")),
            ],
            options={
                "verbose_name": "cached report",
            },
        ),
        migrations.CreateModel(
            name="Runner",
            fields=[
                (
                    "lease_until",
                    models.DateTimeField(
                        blank=True, help_text="When the lease ends unless its owner renews it.", null=True
                    ),
                ),
                ("owner", models.CharField(max_length=120, primary_key=True, serialize=False)),
                (
                    "run",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="runners",
                        to="benchmark.run",
                    ),
                ),
                (
                    "exclusive_key",
                    models.CharField(
                        blank=True,
                        help_text="The work, in words, that no other process may do at the same time.",
                        max_length=500,
                        null=True,
                        unique=True,
                    ),
                ),
                (
                    "model_spec",
                    models.CharField(
                        blank=True,
                        db_index=True,
                        help_text="Blank: shares no limits, because it calls in batches or only holds an exclusive lock.",
                        max_length=200,
                    ),
                ),
                (
                    "waiting",
                    models.TextField(
                        blank=True,
                        default="",
                        help_text="Why its calls are delayed before they are repeated, in words.",
                    ),
                ),
            ],
            options={
                "ordering": ["owner"],
            },
        ),
        migrations.CreateModel(
            name="Batch",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4,
                        editable=False,
                        help_text="Sent to the provider, if it stores such a mark, so that the batch can be found again.",
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="batches",
                        to="benchmark.run",
                    ),
                ),
                (
                    "provider_id",
                    models.CharField(
                        blank=True,
                        help_text="The provider's id of the batch. Blank: the provider has not confirmed the batch yet.",
                        max_length=200,
                    ),
                ),
                ("requests", models.PositiveIntegerField()),
                (
                    "answered",
                    models.PositiveIntegerField(
                        default=0, help_text="As the provider counts, including failed requests."
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "ended_at",
                    models.DateTimeField(blank=True, help_text="As the provider reports.", null=True),
                ),
            ],
            options={
                "verbose_name_plural": "batches",
                "ordering": ["created_at"],
            },
        ),
        migrations.CreateModel(
            name="BatchedRequest",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "batch",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="rows", to="benchmark.batch"
                    ),
                ),
                (
                    "name",
                    models.CharField(
                        help_text="The id of the request in the batch: its cache key.", max_length=64
                    ),
                ),
                ("fault", models.TextField(blank=True, help_text="Why the provider gave no reply.")),
            ],
            options={
                "ordering": ["batch", "pk"],
                "constraints": [
                    models.UniqueConstraint(fields=("name", "batch"), name="request_once_per_batch")
                ],
            },
        ),
        migrations.CreateModel(
            name="Corpus",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.SlugField(max_length=80, unique=True)),
                ("format", models.CharField(max_length=30)),
                (
                    "content_hash",
                    models.CharField(
                        help_text="sha256 over the ids and texts of all articles, in order.", max_length=64
                    ),
                ),
                ("imported_at", models.DateTimeField(auto_now=True)),
            ],
            options={
                "verbose_name_plural": "corpora",
                "ordering": ["name"],
            },
        ),
        migrations.CreateModel(
            name="Article",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "corpus",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="articles",
                        to="benchmark.corpus",
                    ),
                ),
                (
                    "external_id",
                    models.CharField(help_text="Its path or heading, unique in the corpus.", max_length=300),
                ),
                (
                    "order",
                    models.PositiveIntegerField(
                        help_text="Position in the source; it breaks ties of a search."
                    ),
                ),
                ("title", models.CharField(max_length=300)),
                ("text", models.TextField()),
            ],
            options={
                "ordering": ["corpus__name", "order"],
                "constraints": [
                    models.UniqueConstraint(fields=("corpus", "external_id"), name="article_once_per_corpus")
                ],
            },
        ),
        migrations.CreateModel(
            name="GrowthCurve",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "owner",
                    models.CharField(
                        blank=True, default="", help_text="The process that holds the lease.", max_length=120
                    ),
                ),
                (
                    "lease_until",
                    models.DateTimeField(
                        blank=True, help_text="When the lease ends unless its owner renews it.", null=True
                    ),
                ),
                (
                    "attempt",
                    models.PositiveIntegerField(
                        default=0, help_text="Number of claims. Only the latest claim may write."
                    ),
                ),
                (
                    "submission",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="growth_curves",
                        to="benchmark.submission",
                    ),
                ),
                (
                    "recipe_hash",
                    models.CharField(
                        help_text="sha256 of the generators, validators and problem.", max_length=64
                    ),
                ),
                ("judge_version", models.CharField(max_length=40)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "Queued"),
                            ("running", "Running"),
                            ("done", "Done"),
                            ("failed", "failed (not measurable)"),
                        ],
                        db_index=True,
                        default="queued",
                        max_length=10,
                    ),
                ),
                (
                    "points",
                    models.JSONField(
                        blank=True,
                        help_text="Sizes, CPU seconds and fits of every size argument, and the limits.",
                        null=True,
                    ),
                ),
                (
                    "parameter",
                    models.CharField(
                        blank=True, help_text="The size argument of the largest slope.", max_length=40
                    ),
                ),
                (
                    "slope",
                    models.FloatField(
                        blank=True, help_text="Null: no stable growth, or too few points.", null=True
                    ),
                ),
                ("slope_low", models.FloatField(blank=True, null=True)),
                ("slope_high", models.FloatField(blank=True, null=True)),
                (
                    "host",
                    models.CharField(
                        blank=True,
                        default="",
                        help_text="The machine that measured. Blank: unknown.",
                        max_length=200,
                    ),
                ),
                (
                    "time_factor",
                    models.FloatField(
                        default=1.0,
                        help_text="Factor of the time limit besides that of the language: machine and dataset.",
                    ),
                ),
                ("fault", models.TextField(blank=True, help_text="Why the program was not measured.")),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ["-id"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("submission", "recipe_hash", "judge_version"), name="growth_curve_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="SlowComparison",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "slow",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="benchmark.submission",
                    ),
                ),
                (
                    "candidate",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="benchmark.submission",
                    ),
                ),
                (
                    "recipe_hash",
                    models.CharField(
                        help_text="sha256 of the generators, validators and problem.", max_length=64
                    ),
                ),
                ("judge_version", models.CharField(max_length=40)),
                (
                    "compared",
                    models.PositiveIntegerField(help_text="Inputs on which both programs were run."),
                ),
                (
                    "difference",
                    models.JSONField(
                        blank=True,
                        help_text="The smallest input with different outputs, and both outputs. Null: no difference.",
                        null=True,
                    ),
                ),
                (
                    "slow_is_wrong",
                    models.BooleanField(
                        help_text="Whether a reference solution contradicts the slow program. Null: no reference could decide.",
                        null=True,
                    ),
                ),
                ("at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "ordering": ["-id"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("slow", "candidate", "recipe_hash", "judge_version"),
                        name="slow_comparison_once",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="QuestionSet",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.SlugField(max_length=80, unique=True)),
                (
                    "dataset",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="question_sets",
                        to="benchmark.dataset",
                    ),
                ),
                (
                    "built",
                    models.BooleanField(
                        help_text="Built by Hintbench. Otherwise the questions were imported."
                    ),
                ),
                (
                    "parameters",
                    models.JSONField(
                        help_text="Parameters of the builder, or the seed that shuffled imported options."
                    ),
                ),
                (
                    "skipped",
                    models.JSONField(
                        default=list, help_text="Problems or entries without a question, with the reasons."
                    ),
                ),
                (
                    "content_hash",
                    models.CharField(help_text="sha256 over the questions and their options.", max_length=64),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "ordering": ["name"],
            },
        ),
        migrations.CreateModel(
            name="Question",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "question_set",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="questions",
                        to="benchmark.questionset",
                    ),
                ),
                ("number", models.PositiveIntegerField(help_text="From 1.")),
                (
                    "reference",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="benchmark.problem"
                    ),
                ),
            ],
            options={
                "ordering": ["question_set", "number"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("question_set", "number"), name="question_number_once_per_set"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Option",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "question",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="options",
                        to="benchmark.question",
                    ),
                ),
                (
                    "place",
                    models.PositiveIntegerField(
                        help_text="0 for A. The options were shuffled when the question was created."
                    ),
                ),
                (
                    "problem",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="benchmark.problem"
                    ),
                ),
                (
                    "similar",
                    models.BooleanField(help_text="Whether this option is the right answer; one is."),
                ),
            ],
            options={
                "ordering": ["question", "place"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("question", "place"), name="option_place_once_per_question"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Representation",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("messages", models.JSONField(help_text="The messages as sent. Empty: no model was called.")),
                ("prompt_hash", models.CharField(blank=True, max_length=64)),
                ("template_hash", models.CharField(blank=True, max_length=64)),
                ("model_returned", models.CharField(blank=True, max_length=200)),
                ("reply", models.TextField(blank=True)),
                ("reasoning", models.TextField(blank=True)),
                (
                    "input_tokens",
                    models.PositiveIntegerField(blank=True, help_text="Null: unknown.", null=True),
                ),
                ("output_tokens", models.PositiveIntegerField(blank=True, null=True)),
                ("cached_input_tokens", models.PositiveIntegerField(blank=True, null=True)),
                ("reasoning_tokens", models.PositiveIntegerField(blank=True, null=True)),
                ("latency", models.FloatField(blank=True, help_text="Seconds.", null=True)),
                ("finish_reason", models.CharField(blank=True, max_length=60)),
                ("request_id", models.CharField(blank=True, max_length=200)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "problem",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="representations",
                        to="benchmark.problem",
                    ),
                ),
                ("kind", models.CharField(help_text="summary, asm_nl or asm_pl.", max_length=20)),
                ("model_spec", models.CharField(help_text="provider:model", max_length=200)),
                ("parameters", models.JSONField(help_text="Sampling parameters as sent.")),
                (
                    "key",
                    models.CharField(
                        help_text="sha256 over problem, model, parameters and prompt.",
                        max_length=64,
                        unique=True,
                    ),
                ),
                ("text", models.TextField(help_text="The requested section, or the whole reply.")),
                (
                    "section_found",
                    models.BooleanField(
                        help_text="False: the reply has no such section, so the whole reply is used."
                    ),
                ),
            ],
            options={
                "ordering": ["problem", "kind", "model_spec", "-id"],
                "indexes": [
                    models.Index(fields=["model_spec", "kind"], name="benchmark_r_model_s_fe1e41_idx")
                ],
            },
        ),
        migrations.CreateModel(
            name="SimilarityRun",
            fields=[
                (
                    "model_spec",
                    models.CharField(
                        blank=True, help_text="provider:model. Blank: no model is called.", max_length=200
                    ),
                ),
                (
                    "price",
                    models.JSONField(
                        blank=True,
                        help_text="US dollars for a million input, output and cached input tokens, and their source; null: unknown.",
                        null=True,
                    ),
                ),
                (
                    "budget",
                    models.JSONField(
                        blank=True,
                        default=dict,
                        help_text="The most that the run may spend: cost (US dollars), tokens, calls.",
                    ),
                ),
                (
                    "limits",
                    models.JSONField(
                        blank=True,
                        default=dict,
                        help_text="Concurrency, requests and tokens a minute, and the model's context in tokens.",
                    ),
                ),
                (
                    "study_key",
                    models.CharField(
                        blank=True,
                        default="",
                        help_text="study:NAME@VERSION, whose spending the run counts in. Blank: outside of studies.",
                        max_length=140,
                    ),
                ),
                (
                    "stop_reason",
                    models.TextField(blank=True, help_text="Why the run stopped before its end."),
                ),
                (
                    "paid_calls",
                    models.PositiveBigIntegerField(
                        default=0, help_text="Replies that this run paid for; cache hits do not count."
                    ),
                ),
                ("paid_input_tokens", models.PositiveBigIntegerField(default=0)),
                ("paid_output_tokens", models.PositiveBigIntegerField(default=0)),
                (
                    "paid_cached_input_tokens",
                    models.PositiveBigIntegerField(
                        default=0,
                        help_text="Input tokens from the provider's cache, as the provider reports them.",
                    ),
                ),
                (
                    "calls_without_tokens",
                    models.PositiveBigIntegerField(
                        default=0, help_text="Paid calls whose tokens the provider did not report."
                    ),
                ),
                (
                    "calls_broken_off",
                    models.PositiveBigIntegerField(
                        default=0,
                        help_text="Calls that began and gave no complete reply. The provider may bill them.",
                    ),
                ),
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "question_set",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="runs",
                        to="benchmark.questionset",
                    ),
                ),
                (
                    "task",
                    models.CharField(
                        choices=[
                            ("choose", "choose (the model sees the question)"),
                            ("rank", "rank (texts are compared)"),
                        ],
                        max_length=10,
                    ),
                ),
                ("representation", models.CharField(max_length=20)),
                (
                    "model",
                    models.ForeignKey(
                        blank=True,
                        help_text="The model's version. Null: no model was called.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="similarity_runs",
                        to="benchmark.languagemodel",
                    ),
                ),
                ("parameters", models.JSONField(help_text="All parameters, defaults filled in.")),
                (
                    "state",
                    models.CharField(
                        choices=[("open", "Open"), ("finished", "Finished"), ("stopped", "Stopped")],
                        default="open",
                        max_length=10,
                    ),
                ),
                (
                    "manifest",
                    models.JSONField(
                        help_text="Everything that the result depends on, at the start of the run."
                    ),
                ),
                (
                    "faults",
                    models.JSONField(
                        blank=True,
                        default=list,
                        help_text="Failures of the provider in the last execution of the run; never the model's mistakes.",
                    ),
                ),
                (
                    "figures",
                    models.JSONField(
                        blank=True,
                        help_text="Figures at the last end of the run. Null: not computed yet.",
                        null=True,
                    ),
                ),
                ("started_at", models.DateTimeField(auto_now_add=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ["-started_at"],
            },
        ),
        migrations.CreateModel(
            name="QuestionAnswer",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("messages", models.JSONField(help_text="The messages as sent. Empty: no model was called.")),
                ("prompt_hash", models.CharField(blank=True, max_length=64)),
                ("template_hash", models.CharField(blank=True, max_length=64)),
                ("model_returned", models.CharField(blank=True, max_length=200)),
                ("reply", models.TextField(blank=True)),
                ("reasoning", models.TextField(blank=True)),
                (
                    "input_tokens",
                    models.PositiveIntegerField(blank=True, help_text="Null: unknown.", null=True),
                ),
                ("output_tokens", models.PositiveIntegerField(blank=True, null=True)),
                ("cached_input_tokens", models.PositiveIntegerField(blank=True, null=True)),
                ("reasoning_tokens", models.PositiveIntegerField(blank=True, null=True)),
                ("latency", models.FloatField(blank=True, help_text="Seconds.", null=True)),
                ("finish_reason", models.CharField(blank=True, max_length=60)),
                ("request_id", models.CharField(blank=True, max_length=200)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="answers",
                        to="benchmark.similarityrun",
                    ),
                ),
                (
                    "question",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="answers",
                        to="benchmark.question",
                    ),
                ),
                (
                    "order",
                    models.JSONField(
                        help_text="The places of the options in the question, in the order A to D."
                    ),
                ),
                (
                    "representations",
                    models.JSONField(
                        default=list,
                        help_text="Ids of the representations of the reference and of the options by place.",
                    ),
                ),
                (
                    "chosen",
                    models.PositiveIntegerField(
                        blank=True,
                        help_text="Place of the chosen option in the question. Null: unreadable, or several options are tied.",
                        null=True,
                    ),
                ),
                (
                    "correct",
                    models.BooleanField(
                        help_text="For a ranking: whether the right option alone is first. The scores give the value of ties."
                    ),
                ),
                (
                    "scores",
                    models.JSONField(
                        blank=True, help_text="Score of each option, by place in the question.", null=True
                    ),
                ),
                (
                    "rank",
                    models.PositiveIntegerField(
                        blank=True,
                        help_text="Rank of the right option, from 1. Tied options share the first of their ranks.",
                        null=True,
                    ),
                ),
                (
                    "cache_key",
                    models.CharField(
                        blank=True,
                        db_index=True,
                        help_text="sha256 of the model, its address, the messages and the parameters.",
                        max_length=64,
                    ),
                ),
                (
                    "reused",
                    models.ForeignKey(
                        blank=True,
                        help_text="The paid answer of another run whose reply this one repeats at no cost.",
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="reuses",
                        to="benchmark.questionanswer",
                    ),
                ),
            ],
            options={
                "ordering": ["run", "question__number"],
                "constraints": [
                    models.UniqueConstraint(fields=("run", "question"), name="answer_once_per_run")
                ],
            },
        ),
        migrations.CreateModel(
            name="MemoryProbe",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("messages", models.JSONField(help_text="The messages as sent. Empty: no model was called.")),
                ("prompt_hash", models.CharField(blank=True, max_length=64)),
                ("template_hash", models.CharField(blank=True, max_length=64)),
                ("model_returned", models.CharField(blank=True, max_length=200)),
                ("reply", models.TextField(blank=True)),
                ("reasoning", models.TextField(blank=True)),
                (
                    "input_tokens",
                    models.PositiveIntegerField(blank=True, help_text="Null: unknown.", null=True),
                ),
                ("output_tokens", models.PositiveIntegerField(blank=True, null=True)),
                ("cached_input_tokens", models.PositiveIntegerField(blank=True, null=True)),
                ("reasoning_tokens", models.PositiveIntegerField(blank=True, null=True)),
                ("latency", models.FloatField(blank=True, help_text="Seconds.", null=True)),
                ("finish_reason", models.CharField(blank=True, max_length=60)),
                ("request_id", models.CharField(blank=True, max_length=200)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "key",
                    models.CharField(
                        help_text="sha256 of model, address, parameters, messages, problem, kind and draw.",
                        max_length=64,
                        unique=True,
                    ),
                ),
                (
                    "problem",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="memory_probes",
                        to="benchmark.problem",
                    ),
                ),
                (
                    "problem_hash",
                    models.CharField(help_text="content_hash of the problem at the request.", max_length=64),
                ),
                (
                    "model",
                    models.ForeignKey(
                        blank=True,
                        help_text="The row of the model. Null: no row has this model and these parameters.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="memory_probes",
                        to="benchmark.languagemodel",
                    ),
                ),
                ("model_spec", models.CharField(db_index=True, help_text="provider:model", max_length=200)),
                ("parameters", models.JSONField(help_text="Sampling parameters as sent.")),
                (
                    "kind",
                    models.CharField(
                        choices=[("statement", "Statement"), ("sample", "Sample")], max_length=10
                    ),
                ),
                ("draw", models.PositiveIntegerField(help_text="0 for the first completion, 1 …")),
                ("share", models.FloatField(help_text="Share of the text that the prompt shows.")),
                ("rest", models.TextField(help_text="The rest of the text, which the prompt does not show.")),
                (
                    "overlap",
                    models.FloatField(
                        help_text="Share of the rest's word 5-grams that the completion contains."
                    ),
                ),
                (
                    "chance",
                    models.FloatField(
                        help_text="Mean overlap of the completion with the rests of other problems."
                    ),
                ),
                ("others", models.PositiveIntegerField(help_text="Number of these other problems.")),
                (
                    "measures",
                    models.JSONField(
                        help_text="Each measure of overlap by name: with the own rest, and the mean with those of the others."
                    ),
                ),
            ],
            options={
                "ordering": ["problem", "kind", "draw"],
            },
        ),
        migrations.CreateModel(
            name="Suite",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "problem",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="suites",
                        to="benchmark.problem",
                    ),
                ),
                ("version", models.PositiveIntegerField(help_text="1 for the problem's first suite, 2 …")),
                (
                    "recipe_hash",
                    models.CharField(
                        help_text="sha256 of everything that the tests depend on; it identifies the suite of an interrupted build.",
                        max_length=64,
                    ),
                ),
                (
                    "provenance",
                    models.JSONField(
                        default=dict,
                        help_text="Generators, validators, reference, seeds, dropped inputs, and the judge.",
                    ),
                ),
                (
                    "content_hash",
                    models.CharField(
                        blank=True,
                        help_text="sha256 of the hashes of its tests in order. Blank: not built completely.",
                        max_length=64,
                    ),
                ),
                ("right_accepted", models.PositiveIntegerField(blank=True, null=True)),
                ("right_total", models.PositiveIntegerField(blank=True, null=True)),
                ("wrong_rejected", models.PositiveIntegerField(blank=True, null=True)),
                ("wrong_total", models.PositiveIntegerField(blank=True, null=True)),
                ("released_at", models.DateTimeField(blank=True, help_text="Null: not released.", null=True)),
                (
                    "note",
                    models.TextField(
                        blank=True, help_text="Why the suite was not released, or a warning for users."
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "ordering": ["problem", "version"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("problem", "version"), name="suite_version_once_per_problem"
                    ),
                    models.UniqueConstraint(
                        fields=("problem", "recipe_hash"), name="suite_recipe_once_per_problem"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="SuiteTest",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "suite",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="tests",
                        to="benchmark.suite",
                    ),
                ),
                ("order", models.PositiveIntegerField()),
                ("name", models.CharField(max_length=200)),
                (
                    "origin",
                    models.CharField(
                        choices=[
                            ("generated-random", "generated, random"),
                            ("generated-corner", "generated, corner case"),
                            ("stress", "stress (as large as the limits allow)"),
                            ("tricky", "Tricky"),
                            ("oracle", "answered by an oracle"),
                            ("handwritten", "Handwritten"),
                        ],
                        max_length=20,
                    ),
                ),
                (
                    "group",
                    models.CharField(
                        blank=True,
                        help_text="The generator of the test, or another name of its group.",
                        max_length=200,
                    ),
                ),
                ("input_hash", models.CharField(max_length=64)),
                ("answer_hash", models.CharField(max_length=64)),
            ],
            options={
                "ordering": ["suite", "order"],
                "constraints": [
                    models.UniqueConstraint(fields=("suite", "order"), name="suite_test_order_once"),
                    models.UniqueConstraint(fields=("suite", "input_hash"), name="suite_input_once"),
                ],
            },
        ),
        migrations.CreateModel(
            name="PackageProgram",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "author",
                    models.CharField(
                        blank=True,
                        help_text="The model that wrote the program. Blank: it is part of the problem package.",
                        max_length=200,
                    ),
                ),
                (
                    "writing",
                    models.JSONField(
                        blank=True,
                        default=dict,
                        help_text="The prompt, the reply and the tokens of the model.",
                    ),
                ),
                (
                    "problem",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="package_programs",
                        to="benchmark.problem",
                    ),
                ),
                ("order", models.PositiveIntegerField()),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("generator", "Generator"),
                            ("input_validator", "input validator"),
                            ("wrong", "known wrong program"),
                        ],
                        max_length=20,
                    ),
                ),
                ("name", models.CharField(max_length=200)),
                ("language", models.CharField(max_length=20)),
                (
                    "files",
                    models.JSONField(
                        help_text="The texts of its files by name. More than one file only if some are headers."
                    ),
                ),
                (
                    "expected",
                    models.JSONField(
                        blank=True,
                        default=list,
                        help_text="Possible verdicts of a wrong program. Empty: every verdict except AC.",
                    ),
                ),
                (
                    "commands",
                    models.JSONField(
                        blank=True,
                        default=list,
                        help_text="Calls of a generator: kind of test, and arguments with the placeholder {seed}.",
                    ),
                ),
            ],
            options={
                "ordering": ["problem", "order"],
                "constraints": [
                    models.UniqueConstraint(fields=("problem", "order"), name="package_program_order_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="ListedTest",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "problem",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="listed_tests",
                        to="benchmark.problem",
                    ),
                ),
                ("order", models.PositiveIntegerField()),
                ("name", models.CharField(help_text="Path below data/, without ending.", max_length=200)),
                (
                    "kind",
                    models.CharField(
                        blank=True, help_text="Kind of a generated test. Blank: handwritten.", max_length=20
                    ),
                ),
                ("generator", models.CharField(blank=True, max_length=200)),
                (
                    "arguments",
                    models.TextField(
                        blank=True, help_text="Arguments of the generator, with the placeholder {seed}."
                    ),
                ),
                (
                    "salt",
                    models.CharField(
                        blank=True,
                        help_text="Text that is hashed before the command to get its seed.",
                        max_length=200,
                    ),
                ),
                (
                    "solution",
                    models.CharField(
                        blank=True,
                        help_text="The submission that answers the test. Blank: the fastest reference.",
                        max_length=200,
                    ),
                ),
                (
                    "input_hash",
                    models.CharField(blank=True, help_text="Input of a handwritten test.", max_length=64),
                ),
                (
                    "answer_hash",
                    models.CharField(blank=True, help_text="Blank: a solution answers it.", max_length=64),
                ),
                (
                    "fault",
                    models.TextField(
                        blank=True, help_text="Why the test cannot be generated. Blank: no fault."
                    ),
                ),
            ],
            options={
                "ordering": ["problem", "order"],
                "constraints": [
                    models.UniqueConstraint(fields=("problem", "order"), name="listed_test_order_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="SizedGenerator",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "author",
                    models.CharField(
                        blank=True,
                        help_text="The model that wrote the program. Blank: it is part of the problem package.",
                        max_length=200,
                    ),
                ),
                (
                    "writing",
                    models.JSONField(
                        blank=True,
                        default=dict,
                        help_text="The prompt, the reply and the tokens of the model.",
                    ),
                ),
                (
                    "problem",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="sized_generators",
                        to="benchmark.problem",
                    ),
                ),
                ("order", models.PositiveIntegerField()),
                (
                    "parameter",
                    models.CharField(
                        help_text="The name of the size in the statement, such as n.", max_length=40
                    ),
                ),
                ("name", models.CharField(help_text="The file of the program.", max_length=200)),
                ("language", models.CharField(max_length=20)),
                (
                    "files",
                    models.JSONField(
                        help_text="The texts of its files by name. Empty: the model wrote no program."
                    ),
                ),
                (
                    "arguments",
                    models.TextField(help_text="Arguments with the placeholders {size} and {seed}."),
                ),
                (
                    "largest",
                    models.PositiveBigIntegerField(help_text="The largest size that the statement allows."),
                ),
            ],
            options={
                "ordering": ["problem", "order"],
                "constraints": [
                    models.UniqueConstraint(fields=("problem", "order"), name="sized_generator_order_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Verifier",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "problem",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="verifiers",
                        to="benchmark.problem",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        blank=True,
                        help_text="The run in which a model wrote the programs. Null: they were imported.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="verifiers",
                        to="benchmark.run",
                    ),
                ),
                (
                    "built_from",
                    models.ForeignKey(
                        blank=True,
                        help_text="The imported programs.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="built",
                        to="benchmark.verifier",
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("programs", "programs only (imported, not built)"),
                            ("ready", "Ready"),
                            ("no-oracle", "no oracle passed the samples"),
                            ("no-inputs", "no valid input"),
                            ("non-deterministic", "the oracle is not deterministic"),
                        ],
                        max_length=20,
                    ),
                ),
                ("oracle", models.TextField(blank=True)),
                ("second_oracle", models.TextField(blank=True)),
                ("validator", models.TextField(blank=True)),
                ("generator", models.TextField(blank=True)),
                ("batch", models.TextField(blank=True)),
                ("tricky", models.TextField(blank=True)),
                (
                    "written_tests",
                    models.TextField(
                        blank=True,
                        help_text="A function that returns tests with answers by the model, for a ranking to compare with.",
                    ),
                ),
                (
                    "official_verdict",
                    models.CharField(
                        blank=True,
                        help_text="The verdict of the source's judge on the oracle. Blank: unknown.",
                        max_length=10,
                    ),
                ),
                (
                    "suite",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="verifier",
                        to="benchmark.suite",
                    ),
                ),
                (
                    "record",
                    models.JSONField(
                        default=dict,
                        help_text="Counts, dropped, conflicting and rejected inputs; hashes of stress inputs and written tests.",
                    ),
                ),
                ("problem_hash", models.CharField(help_text="content_hash of its problem.", max_length=64)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "ordering": ["-id"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("problem", "run"), name="verifier_once_per_run_and_problem"
                    ),
                    models.UniqueConstraint(fields=("built_from",), name="imported_verifier_built_once"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Candidate",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "problem",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="candidates",
                        to="benchmark.problem",
                    ),
                ),
                (
                    "submission",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="candidates",
                        to="benchmark.submission",
                    ),
                ),
                ("name", models.CharField(max_length=200)),
                (
                    "official_verdict",
                    models.CharField(blank=True, help_text="Blank: unknown.", max_length=10),
                ),
            ],
            options={
                "ordering": ["problem", "name"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("problem", "name"), name="candidate_name_once_per_problem"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Verification",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "verifier",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="verifications",
                        to="benchmark.verifier",
                    ),
                ),
                (
                    "submission",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="verifications",
                        to="benchmark.submission",
                    ),
                ),
                ("samples_passed", models.BooleanField()),
                ("accepted", models.BooleanField(help_text="Samples and oracle tests passed.")),
                ("passed", models.PositiveIntegerField()),
                ("total", models.PositiveIntegerField()),
                (
                    "slow",
                    models.PositiveIntegerField(
                        help_text="Stress inputs on which the program exceeds the problem's time limit."
                    ),
                ),
                (
                    "output_hash",
                    models.CharField(
                        help_text="Equal for programs with equal outputs on all tests.", max_length=64
                    ),
                ),
                (
                    "outcomes",
                    models.JSONField(
                        blank=True,
                        help_text='Texts of "1" (passed) and "0" by kind of test: samples, tests, written. Null: older version.',
                        null=True,
                    ),
                ),
                (
                    "failures",
                    models.JSONField(
                        help_text="The failed tests with the shortest inputs: name, input, expected, output, fault."
                    ),
                ),
                (
                    "minimal",
                    models.JSONField(
                        blank=True,
                        help_text="The smallest failing input found: input, expected, output, fault.",
                        null=True,
                    ),
                ),
                (
                    "coverage",
                    models.JSONField(
                        blank=True,
                        help_text="Shares of statements reached: samples, all. Null: not measured.",
                        null=True,
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "ordering": ["verifier", "-passed", "id"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("verifier", "submission"), name="verified_once_per_verifier"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Process",
            fields=[
                (
                    "lease_until",
                    models.DateTimeField(
                        blank=True, help_text="When the lease ends unless its owner renews it.", null=True
                    ),
                ),
                ("owner", models.CharField(max_length=120, primary_key=True, serialize=False)),
                (
                    "kind",
                    models.CharField(choices=[("streamer", "Streamer"), ("worker", "Worker")], max_length=20),
                ),
                ("host", models.CharField(max_length=200)),
                ("pid", models.PositiveIntegerField(help_text="Process id on the host.")),
                ("version", models.CharField(max_length=80)),
                ("since", models.DateTimeField(help_text="Start of the process.")),
                (
                    "last_seen",
                    models.DateTimeField(
                        help_text="Time of the last heartbeat, or of the end of the process."
                    ),
                ),
                (
                    "doing",
                    models.CharField(blank=True, help_text="The present work. Blank: none.", max_length=200),
                ),
            ],
            options={
                "ordering": ["host", "kind", "since"],
            },
        ),
        migrations.CreateModel(
            name="ProblemVersion",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "problem",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="former_versions",
                        to="benchmark.problem",
                    ),
                ),
                ("content_hash", models.CharField(max_length=64)),
                (
                    "tests",
                    models.JSONField(
                        help_text="Name, origin, and hashes of input and answer of each test, in order."
                    ),
                ),
                ("checker", models.JSONField(help_text="judge.Checker as JSON.")),
                ("time_limit", models.FloatField(help_text="Seconds of CPU time.")),
                ("memory_limit", models.BigIntegerField(help_text="Bytes.")),
                ("replaced_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "ordering": ["problem", "pk"],
                "constraints": [
                    models.UniqueConstraint(fields=("problem", "content_hash"), name="problem_version_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Rejudging",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("reason", models.TextField()),
                (
                    "selection",
                    models.JSONField(
                        help_text="What was selected: problems, datasets, runs, studies and sessions."
                    ),
                ),
                (
                    "changes",
                    models.JSONField(
                        help_text="For each problem: tests, checker, limits and judge of the former judgements, and those of now."
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("open", "open (former verdicts count)"),
                            ("applied", "applied (new verdicts count)"),
                            ("discarded", "Discarded"),
                        ],
                        db_index=True,
                        default="open",
                        max_length=10,
                    ),
                ),
                (
                    "requested_by",
                    models.ForeignKey(
                        blank=True,
                        help_text="Null: an operator with `manage.py rejudge`.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("requested_at", models.DateTimeField(auto_now_add=True)),
                (
                    "decided_by",
                    models.ForeignKey(
                        blank=True,
                        help_text="Null: not decided, or an operator with `manage.py rejudge`.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("decided_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="Judgement",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "owner",
                    models.CharField(
                        blank=True, default="", help_text="The process that holds the lease.", max_length=120
                    ),
                ),
                (
                    "lease_until",
                    models.DateTimeField(
                        blank=True, help_text="When the lease ends unless its owner renews it.", null=True
                    ),
                ),
                (
                    "attempt",
                    models.PositiveIntegerField(
                        default=0, help_text="Number of claims. Only the latest claim may write."
                    ),
                ),
                (
                    "submission",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="judgements",
                        to="benchmark.submission",
                    ),
                ),
                (
                    "purpose",
                    models.CharField(
                        choices=[
                            ("verdict", "Verdict"),
                            ("score", "score (of a program of a closed session; gives way to executions)"),
                        ],
                        default="verdict",
                        max_length=10,
                    ),
                ),
                ("suite", models.CharField(choices=[("samples", "Samples"), ("all", "All")], max_length=10)),
                (
                    "test_suite",
                    models.ForeignKey(
                        blank=True,
                        help_text="The suite whose tests replace the imported hidden tests. Null: the imported tests.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="judgements",
                        to="benchmark.suite",
                    ),
                ),
                ("policy", models.CharField(max_length=10)),
                ("stop_at_first_failure", models.BooleanField(default=True)),
                (
                    "memory_limit",
                    models.BigIntegerField(
                        blank=True,
                        help_text="Bytes, instead of the problem's limit. Null: the problem's limit.",
                        null=True,
                    ),
                ),
                (
                    "whole_output",
                    models.BooleanField(
                        default=False, help_text="The results of samples keep all of the program's output."
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "Queued"),
                            ("running", "Running"),
                            ("done", "Done"),
                            ("failed", "failed (judge fault)"),
                        ],
                        db_index=True,
                        default="queued",
                        max_length=10,
                    ),
                ),
                ("verdict", models.CharField(blank=True, max_length=10)),
                ("passed", models.PositiveIntegerField(blank=True, null=True)),
                ("total", models.PositiveIntegerField(blank=True, null=True)),
                ("result", models.JSONField(blank=True, help_text="judge.Judgement as JSON.", null=True)),
                ("fault", models.TextField(blank=True, help_text="Why the judge itself failed.")),
                (
                    "relaxed_verdict",
                    models.CharField(
                        blank=True,
                        help_text="Verdict with several times the time limit, for a score that the time limit alone prevents from AC.",
                        max_length=10,
                    ),
                ),
                (
                    "problem_hash",
                    models.CharField(help_text="content_hash of the problem at the request.", max_length=64),
                ),
                (
                    "speed_scope",
                    models.CharField(
                        blank=True,
                        default="",
                        help_text="Where the time factor is fixed: run:ID, study:NAME@VERSION … Blank: the day of the judging.",
                        max_length=140,
                    ),
                ),
                (
                    "host",
                    models.CharField(
                        blank=True,
                        default="",
                        help_text="The machine that judged. Blank: unknown.",
                        max_length=200,
                    ),
                ),
                (
                    "measured_factor",
                    models.FloatField(
                        blank=True, help_text="Measured factor of the machine. Null: not measured.", null=True
                    ),
                ),
                (
                    "time_factor",
                    models.FloatField(
                        default=1.0,
                        help_text="Factor of the time limit besides that of the language: machine and dataset.",
                    ),
                ),
                (
                    "near_limit",
                    models.BooleanField(
                        default=False, help_text="A slightly different time would have changed the verdict."
                    ),
                ),
                (
                    "requested_by",
                    models.ForeignKey(
                        blank=True,
                        help_text="The person who waits for the verdict. Null: nobody, as for runs and scores.",
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "counts",
                    models.BooleanField(
                        default=True,
                        help_text="Whether the verdict counts. False: of a rejudging that is not applied, or replaced by one.",
                    ),
                ),
                (
                    "rejudging",
                    models.ForeignKey(
                        blank=True,
                        help_text="The rejudging that requested it. Null: requested otherwise.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="judgements",
                        to="benchmark.rejudging",
                    ),
                ),
                (
                    "replaces",
                    models.ForeignKey(
                        blank=True,
                        help_text="The former judgement that it replaced when its rejudging was applied.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="replaced_by",
                        to="benchmark.judgement",
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ["-id"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("suite", "all"), ("test_suite", None), _connector="OR"),
                        name="samples_belong_to_the_problem",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="DailySpend",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("day", models.DateField(help_text="Day in UTC.")),
                ("model_spec", models.CharField(help_text="provider:model", max_length=200)),
                (
                    "study_key",
                    models.CharField(
                        blank=True, help_text="study:NAME@VERSION. Blank: outside of studies.", max_length=140
                    ),
                ),
                ("calls", models.PositiveBigIntegerField(default=0, help_text="Paid replies.")),
                ("input_tokens", models.PositiveBigIntegerField(default=0)),
                ("output_tokens", models.PositiveBigIntegerField(default=0)),
                ("cached_input_tokens", models.PositiveBigIntegerField(default=0)),
                (
                    "microdollars",
                    models.PositiveBigIntegerField(default=0, help_text="Millionths of US dollars."),
                ),
                (
                    "calls_of_unknown_cost",
                    models.PositiveBigIntegerField(
                        default=0,
                        help_text="Calls whose price or tokens are unknown, and calls without a complete reply, which the provider may bill.",
                    ),
                ),
            ],
            options={
                "verbose_name": "daily spending",
                "verbose_name_plural": "daily spending",
                "ordering": ["-day", "model_spec", "study_key"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("day", "model_spec", "study_key"), name="spending_once_a_day"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="SpendingCap",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "scope",
                    models.CharField(
                        choices=[("site", "Site"), ("model", "Model"), ("study", "Study")], max_length=10
                    ),
                ),
                (
                    "key",
                    models.CharField(
                        blank=True,
                        help_text="provider:model or study:NAME@VERSION. Blank for the site.",
                        max_length=200,
                    ),
                ),
                (
                    "period",
                    models.CharField(choices=[("day", "each day"), ("total", "in all")], max_length=10),
                ),
                ("microdollars", models.PositiveBigIntegerField(help_text="Millionths of US dollars.")),
            ],
            options={
                "ordering": ["scope", "key", "period"],
                "constraints": [
                    models.UniqueConstraint(fields=("scope", "key", "period"), name="cap_once"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("key", ""), ("scope", "site")),
                            models.Q(
                                models.Q(("scope", "site"), _negated=True),
                                models.Q(("key", ""), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="cap_has_a_key",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="WorkItem",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "owner",
                    models.CharField(
                        blank=True, default="", help_text="The process that holds the lease.", max_length=120
                    ),
                ),
                (
                    "lease_until",
                    models.DateTimeField(
                        blank=True, help_text="When the lease ends unless its owner renews it.", null=True
                    ),
                ),
                (
                    "attempt",
                    models.PositiveIntegerField(
                        default=0, help_text="Number of claims. Only the latest claim may write."
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="items",
                        to="benchmark.run",
                    ),
                ),
                (
                    "problem",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="work_items",
                        to="benchmark.problem",
                    ),
                ),
                (
                    "chain",
                    models.PositiveIntegerField(help_text="0 for the first attempt at the problem, 1 …"),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("pending", "Pending"),
                            ("leased", "Leased"),
                            ("done", "Done"),
                            ("failed", "failed (provider or judge fault)"),
                        ],
                        default="pending",
                        max_length=10,
                    ),
                ),
                (
                    "fault",
                    models.TextField(
                        blank=True,
                        help_text="Why the provider or the judge failed; never the model's mistake.",
                    ),
                ),
                (
                    "permanent",
                    models.BooleanField(
                        default=False,
                        help_text="Every retry fails too: the provider rejects the request (context overflow, refused prompt).",
                    ),
                ),
                (
                    "judgement",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="work_items",
                        to="benchmark.judgement",
                    ),
                ),
            ],
            options={
                "ordering": ["run", "chain", "problem"],
                "indexes": [
                    models.Index(fields=["run", "state", "id"], name="benchmark_w_run_id_b958a3_idx")
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("run", "problem", "chain"), name="chain_once_per_run")
                ],
            },
        ),
        migrations.CreateModel(
            name="Generation",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "work_item",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="generations",
                        to="benchmark.workitem",
                    ),
                ),
                (
                    "step",
                    models.PositiveIntegerField(help_text="Position of the request in its chain, from 0."),
                ),
                (
                    "purpose",
                    models.CharField(
                        choices=[
                            ("verifier", "verifier (a program that generates or checks tests)"),
                            ("draft", "draft (a query, never an attempt)"),
                            ("solve", "Solve"),
                            ("reflect", "reflect (an answer after the results of previous answers)"),
                            ("critique", "critique (an analysis of a failure in words, never an attempt)"),
                            ("repair", "repair (an attempt after the verdict on the previous one)"),
                            ("session", "session (a reply to a tutor's message)"),
                            (
                                "recorded",
                                "recorded (a reply of another session that the chain begins with, at no cost)",
                            ),
                        ],
                        max_length=10,
                    ),
                ),
                ("messages", models.JSONField(help_text="The messages as sent.")),
                (
                    "prompt_hash",
                    models.CharField(help_text="sha256 of the messages as canonical JSON.", max_length=64),
                ),
                ("template_hash", models.CharField(max_length=64)),
                ("parameters", models.JSONField(help_text="Sampling parameters as sent.")),
                (
                    "model_returned",
                    models.CharField(
                        blank=True, help_text="The model's name in the provider's response.", max_length=200
                    ),
                ),
                ("text", models.TextField()),
                ("reasoning", models.TextField(blank=True)),
                (
                    "blocks",
                    models.JSONField(
                        blank=True,
                        help_text="Blocks beside the text that the next request to the provider sends back: signed thinking, encrypted reasoning. Null: none.",
                        null=True,
                    ),
                ),
                (
                    "code",
                    models.TextField(blank=True, help_text="The extracted program; blank means NO_CODE."),
                ),
                (
                    "extraction",
                    models.JSONField(
                        blank=True, default=dict, help_text="Rule, span and number of candidate blocks."
                    ),
                ),
                (
                    "input_tokens",
                    models.PositiveIntegerField(
                        blank=True, help_text="Null: the provider did not report it.", null=True
                    ),
                ),
                ("output_tokens", models.PositiveIntegerField(blank=True, null=True)),
                ("cached_input_tokens", models.PositiveIntegerField(blank=True, null=True)),
                ("reasoning_tokens", models.PositiveIntegerField(blank=True, null=True)),
                ("latency", models.FloatField(help_text="Seconds from the request to the end of the reply.")),
                (
                    "first_token",
                    models.FloatField(
                        blank=True, help_text="Seconds from the request to the first text.", null=True
                    ),
                ),
                ("finish_reason", models.CharField(blank=True, max_length=60)),
                ("request_id", models.CharField(blank=True, max_length=200)),
                (
                    "retrieval",
                    models.JSONField(
                        blank=True,
                        help_text="Ids, scores, lengths and truncation of the retrieved texts, and the index.",
                        null=True,
                    ),
                ),
                (
                    "sample_judgement",
                    models.ForeignKey(
                        blank=True,
                        help_text="The judgement on the samples, if the method uses it.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="benchmark.judgement",
                    ),
                ),
                (
                    "hidden_judgement",
                    models.ForeignKey(
                        blank=True,
                        help_text="The judgement on all tests, if the method uses its verdict.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="benchmark.judgement",
                    ),
                ),
                (
                    "cache_key",
                    models.CharField(
                        blank=True,
                        help_text="sha256 of the model, its address, the messages, the parameters and the attempt.",
                        max_length=64,
                    ),
                ),
                (
                    "reused",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        help_text="The paid reply that this one repeats at no cost. Null: this reply was paid for.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="reuses",
                        to="benchmark.generation",
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "ordering": ["work_item", "step"],
                "indexes": [
                    models.Index(
                        condition=models.Q(("reused", None)),
                        fields=["cache_key"],
                        name="paid_generation_by_cache_key",
                    ),
                    models.Index(
                        condition=models.Q(("reused__isnull", False)),
                        fields=["reused"],
                        name="generation_by_reused",
                    ),
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
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("work_item", "step"), name="step_once_per_work_item")
                ],
            },
        ),
        migrations.CreateModel(
            name="RejudgedProgram",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "rejudging",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="programs",
                        to="benchmark.rejudging",
                    ),
                ),
                (
                    "before",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="rejudged_again",
                        to="benchmark.judgement",
                    ),
                ),
                (
                    "after",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="rejudged_programs",
                        to="benchmark.judgement",
                    ),
                ),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("outcome", "outcome (the attempt of a chain, or the execution of a session)"),
                            ("program", "program (another program on all tests)"),
                            ("samples", "Samples"),
                        ],
                        max_length=10,
                    ),
                ),
                (
                    "number",
                    models.PositiveIntegerField(
                        help_text="Number of the generation in its session, or of the reply in its chain, from 1."
                    ),
                ),
                (
                    "work_item",
                    models.ForeignKey(
                        blank=True,
                        help_text="The chain whose program it is. Null: of a session of a tutor.",
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="rejudged_programs",
                        to="benchmark.workitem",
                    ),
                ),
                (
                    "session",
                    models.UUIDField(
                        blank=True,
                        db_index=True,
                        help_text="Id of the session of a tutor. Null: of a chain.",
                        null=True,
                    ),
                ),
            ],
            options={
                "ordering": ["rejudging", "pk"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("rejudging", "before"), name="judged_again_once_per_rejudging"
                    )
                ],
            },
        ),
        migrations.AddField(
            model_name="WorkItem",
            name="selected",
            field=models.ForeignKey(
                blank=True,
                help_text="The generation that counts as the attempt.",
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="benchmark.generation",
            ),
        ),
    ]
