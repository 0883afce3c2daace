"""The levels of help of both reviewers, stored with the review outcome for figures and level caps."""

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

_BATCH = 500


def fill_levels(apps: Apps, _editor: BaseDatabaseSchemaEditor) -> None:
    """Fill the levels of existing outcomes from their submitted reviews."""
    outcomes = apps.get_model("tutoring", "ReviewOutcome").objects.order_by("pk")
    reviews = apps.get_model("tutoring", "Review").objects.filter(state="submitted", slot__isnull=False)
    last = 0
    while batch := list(outcomes.filter(pk__gt=last)[:_BATCH]):
        last = batch[-1].pk
        found = {}
        rows = reviews.filter(session__in=[one.session_id for one in batch])
        for session, version, slot, by, content in rows.values_list(
            "session", "rule_set", "slot", "by", "content"
        ):
            levels = {one["seq"]: one.get("level") for one in content.get("messages", ())}
            found.setdefault((session, version), {})[slot] = (by, levels)
        for outcome in batch:
            slots = found.get((outcome.session_id, outcome.rule_set), {})
            if not {1, 2} <= slots.keys():
                continue
            first, second = (levels for _, levels in sorted((slots[1], slots[2]), key=lambda one: one[0]))
            adjudicated = slots[3][1] if 3 in slots else {}
            outcome.levels = [
                [seq, level, second[seq], adjudicated.get(seq)]
                for seq, level in first.items()
                if level is not None and second.get(seq) is not None
            ]
        outcomes.bulk_update(batch, ["levels"])


class Migration(migrations.Migration):
    dependencies = [
        ("tutoring", "0037_replay"),
    ]

    operations = [
        migrations.AddField(
            model_name="reviewoutcome",
            name="levels",
            field=models.JSONField(
                default=list,
                help_text="Levels of help: number of the message, both reviewers' levels, and the adjudicated level or null.",
            ),
        ),
        migrations.RunPython(fill_levels, migrations.RunPython.noop),
    ]
