"""The ledger of spending: what calls cost each day, by model, study and purpose.

Every writer of paid replies calls `record` in the transaction that stores them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date

from django.db import connection
from django.utils import timezone

from benchmark.model_calls import catalogue
from benchmark.model_calls.budget import Price, Spending
from benchmark.models import DailySpend, LanguageModel
from benchmark.models.metering import MeteredRun
from benchmark.models.spending import MICRO, Purpose

_COUNTS = (
    "calls",
    "input_tokens",
    "output_tokens",
    "cached_input_tokens",
    "microdollars",
    "calls_of_unknown_cost",
)
"""The columns of `DailySpend` that are sums."""


@dataclass(frozen=True)
class Account:
    """The model, study and purpose that a call is charged to, and the price of the call; None: unknown."""

    model_spec: str
    price: Price | None
    study_key: str = ""
    purpose: Purpose = Purpose.RUN

    @classmethod
    def of_run(cls, run: MeteredRun) -> Account:
        """Return the account of a run's calls."""
        return cls(run.model_spec, Price.of_run(run), run.study_key)

    @classmethod
    def of_model(cls, row: LanguageModel, purpose: Purpose, study_key: str = "") -> Account:
        """Return the account of calls to a model outside runs."""
        return cls(row.spec, catalogue.known_price(row), study_key, purpose)

    def microdollars(self, spending: Spending) -> int | None:
        """Return the cost in micro-dollars, or None if the price or the tokens of a call are unknown."""
        if self.price is not None and self.price.is_free:
            return 0
        cost = None if spending.is_lower_bound else spending.cost(self.price)
        return None if cost is None else round(cost * MICRO)


def today() -> date:
    """Return the current day in UTC."""
    return timezone.now().astimezone(UTC).date()


def record(account: Account, calls: Iterable[Spending]) -> None:
    """Add the spending of single calls to today's row, in the transaction that stores their replies.

    Each call is rounded to a whole micro-dollar, so that the sums do not depend on which calls are added together.
    """
    total, microdollars, unknown = Spending(), 0, 0
    for call in calls:
        total += call
        cost = account.microdollars(call)
        microdollars += cost or 0
        unknown += call.calls + call.calls_broken_off if cost is None else 0
    if total == Spending():
        return
    numbers = (total.calls, total.input_tokens, total.output_tokens, total.cached_input_tokens)
    table = DailySpend._meta.db_table
    columns = ", ".join(_COUNTS)
    sums = ", ".join(f"{name} = {table}.{name} + excluded.{name}" for name in _COUNTS)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} (day, model_spec, study_key, purpose, {columns}) "  # noqa: S608  (no value is in it)
            "VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s) "
            f"ON CONFLICT (day, model_spec, study_key, purpose) DO UPDATE SET {sums}",
            [
                connection.ops.adapt_datefield_value(today()),
                account.model_spec,
                account.study_key,
                account.purpose,
                *numbers,
                microdollars,
                unknown,
            ],
        )
