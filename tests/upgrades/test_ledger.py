"""The upgrade fills an empty ledger with the runs of earlier versions, at their stored prices."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

from benchmark.models import DailySpend

BEFORE = [("benchmark", "0037_travel")]
DAY = datetime(2026, 1, 2, 23, 30, tzinfo=UTC)


def store_old_rows(old: Any) -> None:
    dataset = old.get_model("benchmark", "Dataset").objects.create(name="ledger", format="icpc")
    table = old.get_model("benchmark", "Run")

    def add(spec: str, price: dict[str, Any] | None, **columns: Any) -> None:
        run = table.objects.create(
            dataset=dataset,
            method="zero-shot",
            model_spec=spec,
            parameters={},
            manifest={},
            price=price,
            **columns,
        )
        table.objects.filter(pk=run.pk).update(started_at=DAY)

    usage = {"paid_calls": 3, "paid_input_tokens": 1_000_000, "paid_output_tokens": 500_000}
    price = {"input": 2.0, "output": 8.0, "cached_input": 1.0, "source": "given", "snapshot_date": ""}
    add(
        "openai:m",
        price,
        **usage,
        paid_cached_input_tokens=400_000,
        calls_without_tokens=1,
        calls_broken_off=2,
    )
    add("openai:m", price, **usage, state="finished")
    add("openai:other", None, **usage, calls_broken_off=1)
    add("practice:student", price | {"input": 0.0, "output": 0.0, "cached_input": None}, **usage)
    add("openai:m", price, **usage, source={"site": "elsewhere"})
    add("openai:m", price)
    add("", None)


def check_ledger() -> None:
    found = {
        row.model_spec: (row.day, row.calls, row.input_tokens, row.cached_input_tokens, row.dollars,
                         row.calls_of_unknown_cost)
        for row in DailySpend.objects.all()
    }  # fmt: skip
    day = date(2026, 1, 2)
    assert found == {
        "openai:m": (day, 6, 2_000_000, 400_000, (1.2 + 0.4 + 4) + (2 + 4), 3),
        "openai:other": (day, 3, 1_000_000, 0, 0, 4),
        "practice:student": (day, 3, 1_000_000, 0, 0, 0),
    }


def test_the_ledger_begins_with_the_runs_of_earlier_versions(check_upgraded: Callable[..., None]) -> None:
    check_upgraded(check_ledger)
