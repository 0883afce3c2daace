"""Count what the rows of stored runs say about their paid replies: cached tokens, and replies without token counts."""

from typing import Any

from django.db import migrations
from django.db.models import Count, Q, Sum

_UNKNOWN = Q(input_tokens=None) | Q(output_tokens=None)


def count_from_rows(apps: Any, schema_editor: Any) -> None:
    """Fill the new columns of runs from their paid replies. Ranked answers have no reply and no latency."""
    for replies, runs, path in (
        ("Generation", "Run", "work_item__run"),
        ("QuestionAnswer", "SimilarityRun", "run"),
    ):
        paid = apps.get_model("benchmark", replies).objects.filter(reused=None, latency__isnull=False)
        counted = (
            paid.order_by()
            .values_list(path)
            .annotate(unknown=Count("pk", filter=_UNKNOWN), cached=Sum("cached_input_tokens"))
        )
        for pk, unknown, cached in counted:
            apps.get_model("benchmark", runs).objects.filter(pk=pk).update(
                calls_without_tokens=unknown, paid_cached_input_tokens=cached or 0
            )


class Migration(migrations.Migration):
    dependencies = [("benchmark", "0023_draws_and_calls_broken_off")]

    operations = [migrations.RunPython(count_from_rows, migrations.RunPython.noop)]
