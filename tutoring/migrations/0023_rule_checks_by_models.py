"""The model of a rule check, and a row for the model of each session that is older than the table of models."""

import django.db.models.deletion
from django.db import migrations, models

from benchmark.migrations._model_rows import ModelRows


def link_sessions(apps, schema_editor):
    """Give each session that was held here the row of its model, which got no sampling parameters.

    The sampling of imported sessions is unknown, so they get no row.
    """
    rows = ModelRows(apps.get_model("benchmark", "LanguageModel").objects)
    held = apps.get_model("tutoring", "Session").objects.filter(origin="tutored", model=None)
    for spec in held.order_by().values_list("model_spec", flat=True).distinct():
        if (row_id := rows.id_of(spec, {})) is not None:
            held.filter(model_spec=spec).update(model_id=row_id)


class Migration(migrations.Migration):
    dependencies = [
        ("tutoring", "0021_models_of_sessions"),
        ("benchmark", "0035_catalogue"),
    ]

    operations = [
        migrations.AddField(
            model_name="rulecheck",
            name="language_model",
            field=models.ForeignKey(
                blank=True,
                help_text="The row of the model. Null for checks by detectors, older checks and imported checks.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="rule_checks",
                to="benchmark.languagemodel",
            ),
        ),
        migrations.AlterField(
            model_name="session",
            name="model",
            field=models.ForeignKey(
                blank=True,
                help_text="The model's version. Null in imported sessions.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="sessions",
                to="benchmark.languagemodel",
            ),
        ),
        migrations.RunPython(link_sessions, migrations.RunPython.noop, elidable=True),
    ]
