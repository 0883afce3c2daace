"""Many questions to one model, some at a time; each reply is kept the moment it arrives."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from asgiref.sync import sync_to_async

from benchmark.prompts import Prompt
from benchmark.providers import ProviderError, Reply, complete, open_provider, parse_model_spec
from benchmark.runner import Budget, Price, Spent, Stop
from benchmark.similarity.representations import Author

_HOPELESS = frozenset({"authentication", "configuration"})
"""Faults that every further call would meet too."""
NO_BOUND, NOTHING = Budget(), Spent()


@dataclass(frozen=True)
class Call:
    """A question, and what is done with its reply."""

    prompt: Prompt
    keep: Callable[[Reply], object]


@dataclass
class Spending:
    """What this command has spent, and what it may."""

    price: Price | None = None
    budget: Budget = NO_BOUND
    spent: Spent = NOTHING

    def add(self, reply: Reply) -> None:
        """Count a reply; unknown tokens count for nothing."""
        tokens = (reply.usage.input_tokens or 0, reply.usage.output_tokens or 0)
        self.spent = Spent(
            self.spent.calls + 1, self.spent.input_tokens + tokens[0], self.spent.output_tokens + tokens[1]
        )

    @property
    def shown(self) -> str:
        """Money, for a bar."""
        cost = self.spent.cost(self.price)
        return "unknown" if cost is None else f"{cost:.2f}"


@dataclass
class Outcome:
    """How calls went. `faults` are the provider's, by message; they count against no model."""

    done: int = 0
    in_flight: int = 0
    faults: Counter[str] = field(default_factory=Counter)


async def ask_all(
    calls: Sequence[Call],
    author: Author,
    *,
    concurrency: int,
    stop: Stop,
    spending: Spending,
    advance: Callable[[], object],
) -> Outcome:
    """Make the calls, at most `concurrency` at once, until all are made or a stop is asked for.

    No call begins once the spending has reached its limit; those in flight are waited for. A call that fails is
    counted and left for the next time. Raises ProviderError when the provider cannot be opened.
    """
    outcome = Outcome()
    spec = parse_model_spec(author.spec)
    provider = open_provider(spec)
    waiting = iter(calls)

    async def work() -> None:
        for call in waiting:
            if reason := spending.budget.used_up(spending.spent, spending.price, in_flight=outcome.in_flight):
                stop.ask(reason)
            if stop.reason:
                return
            outcome.in_flight += 1
            try:
                reply = await complete(provider, spec.model, call.prompt.messages, author.parameters)
            except ProviderError as error:
                outcome.faults[f"provider fault ({error.kind}): {error.message}"] += 1
                if error.kind in _HOPELESS:
                    stop.ask(error.message)
                continue
            finally:
                outcome.in_flight -= 1
            spending.add(reply)
            if None in (reply.usage.input_tokens, reply.usage.output_tokens) and spending.budget.needs_tokens:
                stop.ask("the provider does not say how many tokens it used, so the budget cannot be kept")
            await sync_to_async(call.keep)(reply)
            outcome.done += 1
            advance()

    try:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(min(concurrency, len(calls))):
                tasks.create_task(work())
    finally:
        await provider.aclose()
    return outcome
