"""Renames `KeptFigures` to `CachedRunReport` and its column `stamp` to `fingerprint`."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("benchmark", "0031_words"),
    ]

    operations = [
        migrations.RenameModel(old_name="KeptFigures", new_name="CachedRunReport"),
        migrations.RenameField(model_name="cachedrunreport", old_name="stamp", new_name="fingerprint"),
        migrations.AlterModelOptions(name="cachedrunreport", options={"verbose_name": "cached report"}),
        migrations.AlterField(
            model_name="cachedrunreport",
            name="fingerprint",
            field=models.CharField(
                help_text="Version of the document and state of the run. Figures with another fingerprint are stale.",
                max_length=200,
            ),
        ),
        migrations.AlterField(
            model_name="cachedrunreport",
            name="run",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="cached_report",
                to="benchmark.run",
            ),
        ),
    ]
