from django.db import migrations, models


class Migration(migrations.Migration):
    """Give each event the version of its schema. Events that exist already are of version 1."""

    dependencies = [("tutoring", "0014_leases_of_replies")]

    operations = [
        migrations.AddField(
            model_name="event",
            name="version",
            field=models.PositiveSmallIntegerField(
                default=1, help_text="Version of the schema of the data (tutoring.models.payloads)."
            ),
        ),
    ]
