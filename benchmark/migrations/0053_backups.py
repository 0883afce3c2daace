"""The table of written backups."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("benchmark", "0052_processes"),
    ]

    operations = [
        migrations.CreateModel(
            name="Backup",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "at",
                    models.DateTimeField(
                        help_text="Start of the backup, whose database has the state of this time."
                    ),
                ),
                ("seconds", models.FloatField()),
                ("bytes", models.BigIntegerField(help_text="Size of all files of the backup.")),
                ("host", models.CharField(max_length=200)),
                ("folder", models.CharField(max_length=500)),
            ],
            options={
                "ordering": ["-at"],
            },
        ),
    ]
