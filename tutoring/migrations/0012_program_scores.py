"""Program scores: a new name for near misses, with a judgement for each; owners of replies."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("benchmark", "0030_leases"), ("tutoring", "0011_salt_to_accounts")]

    operations = [
        migrations.RenameModel("NearMiss", "ProgramScore"),
        migrations.AddField(
            "programscore",
            "judgement",
            models.OneToOneField(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="program_score",
                to="benchmark.judgement",
            ),
        ),
        migrations.AddField(
            "programscore",
            "figures_record",
            models.JSONField(
                blank=True,
                help_text="The figures where no judgement holds them, by their names in exports.",
                null=True,
            ),
        ),
    ]
