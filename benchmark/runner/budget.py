"""What a run may spend, and what it has spent."""

from dataclasses import asdict, dataclass
from typing import Any

from django.db import connection

from benchmark.models.paying import PaidRun


@dataclass(frozen=True)
class Price:
    """US dollars for a million tokens."""

    input: float
    output: float

    def of(self, input_tokens: int, output_tokens: int) -> float:
        """US dollars. Tokens from the provider's cache count in full."""
        return (input_tokens * self.input + output_tokens * self.output) / 1e6

    def times(self, part: float) -> "Price":
        """This part of it."""
        return Price(self.input * part, self.output * part)

    @classmethod
    def of_run(cls, run: PaidRun) -> "Price | None":
        """The price the run was given; None: unknown."""
        return cls(**run.price) if run.price else None


@dataclass(frozen=True)
class Spent:
    """What was paid for: replies from the cache are not in it."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
        )

    def add_to(self, run: PaidRun) -> "Spent":
        """Count it in the run's row, in the transaction that stores what was paid for; returns all it has spent."""
        counts = ("paid_calls", "paid_input_tokens", "paid_output_tokens")
        added = ", ".join(f"{count} = {count} + %s" for count in counts)
        pk = run._meta.pk
        with connection.cursor() as cursor:
            cursor.execute(
                f"UPDATE {run._meta.db_table} SET {added} WHERE {pk.column} = %s "  # noqa: S608  (no value is in it)
                f"RETURNING {', '.join(counts)}",
                [self.calls, self.input_tokens, self.output_tokens, pk.get_db_prep_value(run.pk, connection)],
            )
            return Spent(*cursor.fetchone())

    @classmethod
    def of_reply(cls, input_tokens: int | None, output_tokens: int | None) -> "Spent":
        """One call; tokens that the provider did not tell count for nothing."""
        return cls(1, input_tokens or 0, output_tokens or 0)

    @classmethod
    def of_run(cls, run: PaidRun) -> "Spent":
        """What all processes of the run have spent, as of the row that was read."""
        return cls(run.paid_calls, run.paid_input_tokens, run.paid_output_tokens)

    def cost(self, price: Price | None) -> float | None:
        """US dollars; None: unknown."""
        return price.of(self.input_tokens, self.output_tokens) if price else None

    def to_json(self, price: Price | None) -> dict[str, Any]:
        """For documents of commands."""
        return asdict(self) | {"cost_usd": self.cost(price)}


@dataclass(frozen=True)
class Budget:
    """Bounds for a whole run; None: no bound. `cost` is in US dollars and needs a price."""

    cost: float | None = None
    tokens: int | None = None
    calls: int | None = None

    def used_up(self, spent: Spent, price: Price | None, *, in_flight: int = 0) -> str:
        """Why no further call may begin, or blank. Calls in flight count as calls, their tokens when they are known."""
        if self.calls is not None and spent.calls + in_flight >= self.calls:
            return f"the budget of {self.calls:,} calls is used up"
        tokens = spent.input_tokens + spent.output_tokens
        if self.tokens is not None and tokens >= self.tokens:
            return f"the budget of {self.tokens:,} tokens is used up ({tokens:,} spent)"
        cost = spent.cost(price)
        if self.cost is not None and (cost is None or cost >= self.cost):
            known = "at an unknown price" if cost is None else f"{cost:,.2f} spent"
            return f"the budget of {self.cost:,.2f} US dollars is used up ({known})"
        return ""

    def allows(self, total: Spent, price: Price | None) -> bool:
        """Whether all of that may be spent."""
        cost = total.cost(price)
        return (
            (self.calls is None or total.calls <= self.calls)
            and (self.tokens is None or total.input_tokens + total.output_tokens <= self.tokens)
            and (self.cost is None or (cost is not None and cost <= self.cost))
        )

    @property
    def needs_tokens(self) -> bool:
        """Whether it can only be kept with a provider that says how many tokens it used."""
        return self.cost is not None or self.tokens is not None
