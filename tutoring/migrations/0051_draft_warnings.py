"""The warnings about drafts as rows of their own. Each stored warning rewrote all earlier ones of its draft."""

import django.db.models.deletion
import django.utils.timezone
from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def move_warnings(apps: Apps, _editor: BaseDatabaseSchemaEditor) -> None:
    """Store each warning of an unsent draft as a row."""
    warnings = apps.get_model("tutoring", "DraftWarning").objects
    for session, checks in apps.get_model("tutoring", "Draft").objects.values_list("session", "checks"):
        for check in checks:
            warnings.create(session_id=session, **check)


class Migration(migrations.Migration):
    dependencies = [
        ("tutoring", "0050_indexes_of_lists"),
    ]

    operations = [
        migrations.CreateModel(
            name="DraftWarning",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("at", models.DateTimeField(default=django.utils.timezone.now)),
                ("text", models.TextField()),
                ("detections", models.JSONField(help_text="The findings that the page showed.")),
                (
                    "session",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="draft_warnings",
                        to="tutoring.session",
                    ),
                ),
            ],
            options={"ordering": ["pk"]},
        ),
        migrations.RunPython(move_warnings, migrations.RunPython.noop),
        migrations.RemoveField(model_name="draft", name="checks"),
    ]
