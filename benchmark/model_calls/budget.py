"""Prices, budgets and the spending of a run."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from django.db import connection

from benchmark.model_calls.stopping import Stop
from benchmark.models.metering import MeteredRun


@dataclass(frozen=True)
class Price:
    """A price in US dollars for a million tokens, and its source.

    `cached_input` is for input tokens from the provider's cache; None: they cost as much as any input token.
    `snapshot_date` is the day on which the newest price of the source took effect, in ISO form.
    """

    input: float
    output: float
    cached_input: float | None = None
    source: str = "given"
    snapshot_date: str = ""

    def of(self, input_tokens: int, output_tokens: int, cached_input_tokens: int = 0) -> float:
        """Return the cost in US dollars. `input_tokens` include the cached ones."""
        cached = min(cached_input_tokens, input_tokens)
        cached_price = self.input if self.cached_input is None else self.cached_input
        uncached_cost = (input_tokens - cached) * self.input
        return (uncached_cost + cached * cached_price + output_tokens * self.output) / 1e6

    def times(self, factor: float) -> "Price":
        """Return this fraction of the price, for example for calls in batches."""
        cached = None if self.cached_input is None else self.cached_input * factor
        return replace(self, input=self.input * factor, output=self.output * factor, cached_input=cached)

    @property
    def is_free(self) -> bool:
        """Whether every call costs nothing."""
        return not (self.input or self.output or self.cached_input)

    @property
    def described(self) -> str:
        """The price in words."""
        cached = "" if self.cached_input is None else f" ({self.cached_input:g} cached)"
        dated = f", newest price of {self.snapshot_date}" if self.snapshot_date else ""
        return f"{self.input:g}{cached} and {self.output:g} US dollars for a million tokens ({self.source}{dated})"

    @classmethod
    def of_run(cls, run: MeteredRun) -> "Price | None":
        """Return the price of the run; None: unknown."""
        return cls(**run.price) if run.price else None


SPENDING_COLUMNS = (
    "paid_calls",
    "paid_input_tokens",
    "paid_output_tokens",
    "paid_cached_input_tokens",
    "calls_without_tokens",
    "calls_broken_off",
)
"""The columns of a `MeteredRun` for the fields of `Spending`, in their order."""


@dataclass(frozen=True)
class Spending:
    """Paid calls and their tokens; replies from the cache are not included.

    The provider did not report the tokens of `calls_without_tokens`. `calls_broken_off` counts calls without a complete
    reply, which are possibly billed and not included in `calls`.
    """

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = 0
    calls_without_tokens: int = 0
    calls_broken_off: int = 0

    def __add__(self, other: "Spending") -> "Spending":
        return Spending(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))

    def add_to(self, run: MeteredRun) -> "Spending":
        """Add this to the run's row, in the transaction that stores the replies, and return the run's total."""
        added = ", ".join(f"{column} = {column} + %s" for column in SPENDING_COLUMNS)
        pk = run._meta.pk
        with connection.cursor() as cursor:
            cursor.execute(
                f"UPDATE {run._meta.db_table} SET {added} WHERE {pk.column} = %s "  # noqa: S608  (no value is in it)
                f"RETURNING {', '.join(SPENDING_COLUMNS)}",
                [*asdict(self).values(), pk.get_db_prep_value(run.pk, connection)],
            )
            return Spending(*cursor.fetchone())

    @classmethod
    def of_reply(
        cls, input_tokens: int | None, output_tokens: int | None, cached_input_tokens: int | None
    ) -> "Spending":
        """Return the spending of one call; None: the provider did not report these tokens."""
        unknown = input_tokens is None or output_tokens is None
        return cls(1, input_tokens or 0, output_tokens or 0, cached_input_tokens or 0, int(unknown))

    @classmethod
    def of_run(cls, run: MeteredRun) -> "Spending":
        """Return the spending of all processes of the run, as of the row that was read."""
        return cls(*(getattr(run, column) for column in SPENDING_COLUMNS))

    def cost(self, price: Price | None) -> float | None:
        """Return the cost in US dollars; None if the price is unknown or no call has reported tokens."""
        if price is None or (self.calls and self.calls == self.calls_without_tokens and not self.tokens):
            return None
        return price.of(self.input_tokens, self.output_tokens, self.cached_input_tokens)

    @property
    def tokens(self) -> int:
        """Input and output tokens together."""
        return self.input_tokens + self.output_tokens

    @property
    def is_lower_bound(self) -> bool:
        """Whether some calls may have cost more than their reported tokens."""
        return self.calls_without_tokens + self.calls_broken_off > 0

    def summary(self, price: Price | None) -> str:
        """Return the cost as a short text, for example "≥1.25"."""
        cost = self.cost(price)
        return "unknown" if cost is None else f"{'≥' if self.is_lower_bound else ''}{cost:.2f}"

    def to_json(self, price: Price | None) -> dict[str, Any]:
        """Return all fields by name, with the cost, for the JSON documents of commands."""
        cost = self.cost(price)
        return asdict(self) | {
            "cost_usd": cost,
            "cost_is_lower_bound": cost is not None and self.is_lower_bound,
        }


def total_cost(costs: Iterable[float | None]) -> float | None:
    """Return the sum of costs in US dollars; None if one of them is unknown."""
    total = 0.0
    for cost in costs:
        if cost is None:
            return None
        total += cost
    return total


@dataclass(frozen=True)
class RunBudget:
    """Bounds on the spending of a whole run; None: no bound. `cost` is in US dollars and needs a price."""

    cost: float | None = None
    tokens: int | None = None
    calls: int | None = None

    def used_up(
        self,
        spent: Spending,
        price: Price | None,
        *,
        in_flight: int = 0,
        others: Sequence[tuple[Spending, Price | None]] = (),
    ) -> str:
        """Return why no further call may begin, or blank.

        Calls in flight count as calls; their tokens count when they are known. `others` are the spending and the prices
        of further models that share the budget.
        """
        costs = [spent.cost(price), *(part.cost(other) for part, other in others)]
        spent = sum((part for part, _ in others), spent)
        if self.calls is not None and spent.calls + in_flight >= self.calls:
            return f"the budget of {self.calls:,} calls is used up"
        if self.tokens is not None and spent.tokens >= self.tokens:
            return f"the budget of {self.tokens:,} tokens is used up ({spent.tokens:,} spent)"
        cost = total_cost(costs)
        if self.cost is not None and (cost is None or cost >= self.cost):
            known = "at an unknown price" if cost is None else f"{cost:,.2f} spent"
            return f"the budget of {self.cost:,.2f} US dollars is used up ({known})"
        return ""

    def request_stop(
        self,
        stop: Stop,
        spent: Spending,
        price: Price | None,
        *,
        in_flight: int,
        others: Sequence[tuple[Spending, Price | None]] = (),
    ) -> None:
        """Request a stop if no further call may begin, with the arguments of `used_up`.

        Calls in flight may still wait for the rate limit or a retry if the budget includes them.
        """
        if reason := self.used_up(spent, price, others=others):
            stop.request(reason)
        elif reason := self.used_up(spent, price, in_flight=in_flight, others=others):
            stop.request(reason, cancels_waits=False)

    def allows(self, total: Spending, price: Price | None) -> bool:
        """Return whether the total is within the budget."""
        cost = total.cost(price)
        return (
            (self.calls is None or total.calls <= self.calls)
            and (self.tokens is None or total.tokens <= self.tokens)
            and (self.cost is None or (cost is not None and cost <= self.cost))
        )

    @property
    def needs_tokens(self) -> bool:
        """Whether the budget needs a provider that reports tokens."""
        return self.cost is not None or self.tokens is not None
