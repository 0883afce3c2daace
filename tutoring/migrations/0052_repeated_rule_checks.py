"""A check whose inputs are again those of an earlier one is stored again as the latest, with another time."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("benchmark", "0058_plain_plurals"),
        ("tutoring", "0051_draft_warnings"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="rulecheck",
            name="rule_check_once_per_basis",
        ),
        migrations.AddConstraint(
            model_name="rulecheck",
            constraint=models.UniqueConstraint(
                fields=("session", "basis", "checked_at"), name="rule_check_once_per_basis_and_time"
            ),
        ),
    ]
