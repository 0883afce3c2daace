"""What calls cost each day, the caps on it, and the study of a run."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("benchmark", "0037_travel"),
    ]

    operations = [
        migrations.AddField(
            model_name="run",
            name="study_key",
            field=models.CharField(
                blank=True,
                default="",
                help_text="study:NAME@VERSION, whose spending the run counts in. Blank: outside of studies.",
                max_length=140,
            ),
        ),
        migrations.AddField(
            model_name="similarityrun",
            name="study_key",
            field=models.CharField(
                blank=True,
                default="",
                help_text="study:NAME@VERSION, whose spending the run counts in. Blank: outside of studies.",
                max_length=140,
            ),
        ),
        migrations.AlterField(
            model_name="run",
            name="model_spec",
            field=models.CharField(
                blank=True, help_text="provider:model. Blank: no model is called.", max_length=200
            ),
        ),
        migrations.AlterField(
            model_name="similarityrun",
            name="model_spec",
            field=models.CharField(
                blank=True, help_text="provider:model. Blank: no model is called.", max_length=200
            ),
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
    ]
