"""Checks by models, results of the training, and what settlements keep of their reviews for figures."""

from typing import Any

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


def count_settlements(apps: Any, schema_editor: Any) -> None:
    """Fill in what settlements of before do not have."""
    from tutoring.review.agreement import count_agreement
    from tutoring.review.content import Content, breaches
    from tutoring.rules import rule_set

    for settlement in apps.get_model("tutoring", "Settlement").objects.select_related("review"):
        rules = rule_set(settlement.rule_set)
        reviews = apps.get_model("tutoring", "Review").objects.filter(
            session=settlement.session_id, rule_set=settlement.rule_set, state="submitted", place__in=(1, 2)
        )
        named = [(review.by, Content.from_json(review.content)) for review in reviews.order_by("by")]
        (one, first), (other, second) = named
        settlement.reviewers = [one, other]
        settlement.counts = count_agreement(first, second, rules)
        if settlement.verdict:
            decided = Content.from_json(settlement.review.content) if settlement.review else first
            settlement.breaches = sorted(breaches(decided, rules))
        settlement.save()


class Migration(migrations.Migration):
    dependencies = [
        ("tutoring", "0003_rules"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="rulecheck",
            name="model",
            field=models.CharField(
                blank=True,
                help_text="As its provider returned it; blank where no model was asked.",
                max_length=200,
            ),
        ),
        migrations.AddField(
            model_name="rulecheck",
            name="prompt_hash",
            field=models.CharField(
                blank=True,
                help_text="sha256 of the prompt's template; blank where no model was asked.",
                max_length=64,
            ),
        ),
        migrations.AlterField(
            model_name="rulecheck",
            name="checked_at",
            field=models.DateTimeField(default=django.utils.timezone.now),
        ),
        migrations.AddField(
            model_name="settlement",
            name="breaches",
            field=models.JSONField(
                default=list,
                help_text="Forbidden clauses as settled: pairs of message and clause; none while disputed.",
            ),
        ),
        migrations.AddField(
            model_name="settlement",
            name="counts",
            field=models.BinaryField(
                default=b"",
                help_text="How they agree, measure by measure (tutoring.review.agreement).",
            ),
        ),
        migrations.AddField(
            model_name="settlement",
            name="reviewers",
            field=models.JSONField(
                default=list,
                help_text="Pseudonyms of the two independent reviewers, in alphabetical order.",
            ),
        ),
        migrations.RunPython(count_settlements, migrations.RunPython.noop),
        migrations.CreateModel(
            name="TrainingResult",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "rule_set",
                    models.PositiveIntegerField(
                        help_text="Version of the rule set the messages are labelled by."
                    ),
                ),
                ("answers", models.JSONField(help_text="Clauses by the number of the message.")),
                (
                    "right",
                    models.PositiveIntegerField(
                        help_text="Messages with the clauses that the codebook gives them."
                    ),
                ),
                ("messages", models.PositiveIntegerField(help_text="Messages that were labelled.")),
                ("at", models.DateTimeField(auto_now_add=True)),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="training_results",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={"ordering": ["-at"]},
        ),
    ]
