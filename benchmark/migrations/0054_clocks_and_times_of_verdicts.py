from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("benchmark", "0053_backups")]

    operations = [
        migrations.AddField(
            model_name="process",
            name="stored_at",
            field=models.DateTimeField(
                help_text="Time of the last heartbeat by the clock of the database.", null=True
            ),
        ),
        migrations.AddIndex(
            model_name="judgement",
            index=models.Index(
                condition=models.Q(("finished_at__isnull", False)),
                fields=["finished_at"],
                name="finished_judgement_by_time",
            ),
        ),
    ]
