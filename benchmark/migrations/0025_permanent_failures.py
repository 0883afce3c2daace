"""Adds `WorkItem.permanent`, set for requests the provider rejected, and renames the kept score."""

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def mark_rejected(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Mark failed items whose stored fault is a rejected request."""
    items = apps.get_model("benchmark", "WorkItem").objects
    items.filter(state="failed", fault__startswith="provider fault (bad_request)").update(permanent=True)


class Migration(migrations.Migration):
    dependencies = [
        ("benchmark", "0024_count_calls_without_tokens"),
    ]

    operations = [
        migrations.AddField(
            model_name="workitem",
            name="permanent",
            field=models.BooleanField(
                default=False,
                help_text="Failed, and every retry would: the provider rejects the request (context overflow, "
                "refused prompt).",
            ),
        ),
        migrations.RunPython(mark_rejected, migrations.RunPython.noop),
        migrations.RenameField(model_name="keptfigures", old_name="pass_at_1", new_name="score"),
        migrations.AlterField(
            model_name="keptfigures",
            name="score",
            field=models.FloatField(
                blank=True,
                help_text="The headline over all problems, pass@1 or Refine@K; the lists order by it.",
                null=True,
            ),
        ),
    ]
