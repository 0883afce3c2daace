"""Many questions to one model, some at a time; each reply is kept the moment it arrives."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from asgiref.sync import sync_to_async

from benchmark.prompts import Prompt
from benchmark.providers import ProviderError, Reply, complete, open_provider, parse_model_spec
from benchmark.runner import Price, Stop
from benchmark.similarity.representations import Author

_HOPELESS = frozenset({"authentication", "configuration"})
"""Faults that every further call would meet too."""


@dataclass(frozen=True)
class Call:
    """A question, and what is done with its reply."""

    prompt: Prompt
    keep: Callable[[Reply], object]


@dataclass
class Spending:
    """What was spent, in US dollars, and what may be; a reply whose tokens are unknown counts for nothing."""

    price: Price | None = None
    limit: float | None = None
    dollars: float = 0.0

    def add(self, reply: Reply) -> None:
        if self.price is not None:
            tokens = (reply.usage.input_tokens or 0, reply.usage.output_tokens or 0)
            self.dollars += (tokens[0] * self.price.input + tokens[1] * self.price.output) / 1e6

    @property
    def used_up(self) -> bool:
        return self.limit is not None and self.dollars >= self.limit


@dataclass
class Outcome:
    """How calls went. `faults` are the provider's, by message; they count against no model."""

    done: int = 0
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
            if spending.used_up:
                stop.ask(f"the budget of {spending.limit:g} US dollars is used up")
            if stop.reason:
                return
            try:
                reply = await complete(provider, spec.model, call.prompt.messages, author.parameters)
            except ProviderError as error:
                outcome.faults[f"provider fault ({error.kind}): {error.message}"] += 1
                if error.kind in _HOPELESS:
                    stop.ask(error.message)
                continue
            spending.add(reply)
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
