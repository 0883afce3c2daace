"""Tell claimed outcomes from verdicts; add the event of a dialogue that was read again."""

from django.db import migrations, models
from django.db.models import Exists, OuterRef


def mark_claims(apps, schema_editor):
    """Mark the imported sessions that are called solved or not solved and hold no verdict."""
    verdicts = apps.get_model("tutoring", "Event").objects.filter(session=OuterRef("pk"), kind="verdict")
    decided = apps.get_model("tutoring", "Session").objects.filter(
        origin="imported", outcome__in=("solved", "not_solved")
    )
    decided.exclude(Exists(verdicts)).update(outcome_claimed=True)


class Migration(migrations.Migration):
    dependencies = [("tutoring", "0009_pseudonym_salt")]

    operations = [
        migrations.AddField(
            model_name="session",
            name="outcome_claimed",
            field=models.BooleanField(
                default=False, help_text="Whether an imported record states the outcome without a verdict."
            ),
        ),
        migrations.AlterField(
            model_name="event",
            name="kind",
            field=models.CharField(
                choices=[
                    ("opened", "Opened"),
                    ("message", "Message"),
                    ("stop", "Stop"),
                    ("asked_again", "Asked Again"),
                    ("reply", "Reply"),
                    ("reply_restarted", "Reply Restarted"),
                    ("reply_failed", "Reply Failed"),
                    ("execution", "Execution"),
                    ("execution_fault", "Execution Fault"),
                    ("verdict", "Verdict"),
                    ("closed", "Closed"),
                    ("refused", "Refused"),
                    ("invalidated", "Invalidated"),
                    ("reread", "Read again"),
                ],
                max_length=20,
            ),
        ),
        migrations.RunPython(mark_claims, migrations.RunPython.noop),
    ]
