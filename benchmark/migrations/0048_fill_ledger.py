"""Fill an empty ledger of spending with the runs of earlier versions.

The source is what each run stores: its price, its paid calls and their tokens. They count on the day (UTC) on which the
run started. Other calls of that time (sessions, checks, probes) stored no price, so they are not in the ledger.
"""

from collections import defaultdict
from datetime import UTC

from django.db import migrations

MICRO = 1_000_000
COUNTS = (
    "calls", "input_tokens", "output_tokens", "cached_input_tokens", "microdollars", "calls_of_unknown_cost",
)  # fmt: skip

USAGE = (
    "paid_calls", "paid_input_tokens", "paid_output_tokens", "paid_cached_input_tokens", "calls_without_tokens",
    "calls_broken_off",
)  # fmt: skip


def fill(apps, schema_editor):
    """Add the usage of every run of this site. A ledger that has rows counts its runs already."""
    alias = schema_editor.connection.alias
    spend = apps.get_model("benchmark", "DailySpend").objects.using(alias)
    if spend.exists():
        return
    sums = defaultdict(lambda: dict.fromkeys(COUNTS, 0))
    for name in ("Run", "SimilarityRun"):
        runs = apps.get_model("benchmark", name).objects.using(alias).exclude(model_spec="")
        if name == "Run":
            runs = runs.filter(source__isnull=True)  # another site paid for imported runs
        for run in runs.only("started_at", "model_spec", "study_key", "price", *USAGE).iterator():
            _add(sums[run.started_at.astimezone(UTC).date(), run.model_spec, run.study_key], run)
    for (day, spec, study), counts in sums.items():
        if any(counts.values()):
            spend.create(day=day, model_spec=spec, study_key=study, **counts)


def _add(counts, run):
    """Add the usage of a run. The cost of calls without tokens, and of broken-off calls, is unknown."""
    price, free = (
        run.price,
        bool(run.price) and not any(run.price.get(name) for name in ("input", "output", "cached_input")),
    )
    counts["calls"] += run.paid_calls
    counts["input_tokens"] += run.paid_input_tokens
    counts["output_tokens"] += run.paid_output_tokens
    counts["cached_input_tokens"] += run.paid_cached_input_tokens
    if free:
        return
    if not price:
        counts["calls_of_unknown_cost"] += run.paid_calls + run.calls_broken_off
        return
    cached = min(run.paid_cached_input_tokens, run.paid_input_tokens)
    cached_price = price.get("cached_input")
    dollars = (
        (run.paid_input_tokens - cached) * price["input"]
        + cached * (price["input"] if cached_price is None else cached_price)
        + run.paid_output_tokens * price["output"]
    ) / 1e6
    counts["microdollars"] += round(dollars * MICRO)
    counts["calls_of_unknown_cost"] += run.calls_without_tokens + run.calls_broken_off


class Migration(migrations.Migration):
    dependencies = [("benchmark", "0047_judgement_requested_by")]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop, elidable=True)]
