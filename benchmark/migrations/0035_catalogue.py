"""Tests of models, and a row for the model of each run that is older than the table of models."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

from benchmark.migrations._model_rows import ModelRows

SAMPLING = ("temperature", "top_p", "max_output_tokens", "seed", "reasoning")
BATCH = 500


def link_runs(apps, schema_editor):
    """Give each run the row of its model and sampling parameters."""
    rows = ModelRows(apps.get_model("benchmark", "LanguageModel").objects)

    def link(table, sampling_of):
        runs = table.objects.filter(model=None).exclude(model_spec="").order_by("pk")
        last = None
        while batch := list(
            (runs if last is None else runs.filter(pk__gt=last)).values_list(
                "pk", "model_spec", "parameters"
            )[:BATCH]
        ):
            for pk, spec, parameters in batch:
                table.objects.filter(pk=pk).update(model_id=rows.id_of(spec, sampling_of(parameters)))
            last = batch[-1][0]

    link(apps.get_model("benchmark", "Run"), _sampling)
    link(apps.get_model("benchmark", "SimilarityRun"), lambda parameters: parameters.get("sampling") or {})


def _sampling(parameters):
    return {name: parameters[name] for name in SAMPLING if parameters.get(name) is not None}


class Migration(migrations.Migration):
    dependencies = [
        ("benchmark", "0034_blocks_of_generations"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="languagemodel",
            name="automatic",
            field=models.BooleanField(
                default=False,
                help_text="Whether a command made it for a model that was named as provider:model.",
            ),
        ),
        migrations.AddField(
            model_name="similarityrun",
            name="model",
            field=models.ForeignKey(
                blank=True,
                help_text="The model's version. Null: no model was called.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="similarity_runs",
                to="benchmark.languagemodel",
            ),
        ),
        migrations.AlterField(
            model_name="run",
            name="model",
            field=models.ForeignKey(
                blank=True,
                help_text="The model's version. Null in older runs whose model is unknown.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="runs",
                to="benchmark.languagemodel",
            ),
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
                (
                    "model",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="tests",
                        to="benchmark.languagemodel",
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
            ],
            options={"ordering": ["-pk"]},
        ),
        migrations.RunPython(link_runs, migrations.RunPython.noop, elidable=True),
    ]
