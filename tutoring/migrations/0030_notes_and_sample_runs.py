"""Private notes of tutors, and runs on the samples that spend no execution."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("benchmark", "0049_machine_speed"),
        ("tutoring", "0029_rejudging"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="PrivateNote",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("text", models.TextField(blank=True)),
                ("saved_at", models.DateTimeField(auto_now=True)),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="private_notes",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "problem",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="private_notes",
                        to="benchmark.problem",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("person", "problem"), name="note_once_per_person_and_problem"
                    )
                ]
            },
        ),
        migrations.AddField(
            model_name="session",
            name="sample_judgement",
            field=models.ForeignKey(
                blank=True,
                help_text="The run on the samples whose result is not recorded yet. Null: none.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="sample_sessions",
                to="benchmark.judgement",
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
                    ("sample_run", "Sample Run"),
                    ("sample_result", "Sample Result"),
                    ("closed", "Closed"),
                    ("refused", "Refused"),
                    ("invalidated", "Invalidated"),
                    ("reread", "Read again"),
                    ("rejudged", "Judged again"),
                ],
                max_length=20,
            ),
        ),
    ]
