"""Rename Settlement to ReviewOutcome: the model, its table, its related name and its constraint."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tutoring", "0016_plain_help_texts")]

    operations = [
        migrations.RemoveConstraint(model_name="settlement", name="settled_once_per_rule_set"),
        migrations.RenameModel(old_name="Settlement", new_name="ReviewOutcome"),
        migrations.AlterField(
            model_name="reviewoutcome",
            name="session",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="review_outcomes",
                to="tutoring.session",
            ),
        ),
        migrations.AddConstraint(
            model_name="reviewoutcome",
            constraint=models.UniqueConstraint(
                fields=["session", "rule_set"], name="one_review_outcome_per_rule_set"
            ),
        ),
    ]
