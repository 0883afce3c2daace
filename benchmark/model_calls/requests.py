"""Questions that belong to no chain: many to one model, each reply stored the moment it arrives.

They keep to budgets and to the limits of the model, which they share with runs.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from benchmark.model_calls.budget import Budget, Price, Spending
from benchmark.model_calls.commit_queue import CommitQueue
from benchmark.model_calls.heartbeat import HEARTBEAT, beat, leave, present
from benchmark.model_calls.rate_limit import Limits, RateLimitedProvider, RateLimiter
from benchmark.model_calls.stopping import FATAL_KINDS, USAGE_UNREPORTED, Stop, StopRequestedError
from benchmark.model_calls.waits import RetryWaits
from benchmark.models.metering import PaidRun
from benchmark.prompts import Prompt
from benchmark.providers import ModelReply, ModelSpec, Parameters, ProviderError, complete, open_provider

NO_BOUND, NOTHING, USUAL = Budget(), Spending(), Limits()


@dataclass(frozen=True)
class ModelRequest:
    """A question: what it is about, in words for people, and what is done with its reply, in a transaction."""

    about: str
    prompt: Prompt
    keep: Callable[[ModelReply], object]


@dataclass
class SpendTracker:
    """What was spent and what may be, in all: by the run where there is one, else for everything of the same kind."""

    price: Price | None = None
    budget: Budget = NO_BOUND
    limits: Limits = USUAL
    run: PaidRun | None = None
    spent: Spending = NOTHING

    @classmethod
    def of_run(cls, run: PaidRun) -> "SpendTracker":
        """The means a run was given, and what it has paid so far."""
        return cls(Price.of_run(run), Budget(**run.budget), Limits(**run.limits), run, Spending.of_run(run))

    def write(self, paid: Spending) -> None:
        """Count it in the run's row, in the transaction that stores what was paid for."""
        if self.run is not None:
            paid.add_to(self.run)

    @property
    def told(self) -> dict[str, Any]:
        """What was spent, for documents of commands."""
        return self.spent.to_json(self.price)

    @property
    def shown(self) -> str:
        """Money, for a bar."""
        return self.spent.shown(self.price)


@dataclass
class SendOutcome:
    """How calls went. `faults` are the provider's, by what the call is about; they count against no model."""

    done: int = 0
    faults: dict[str, str] = field(default_factory=dict)


async def send_all(
    calls: Sequence[ModelRequest],
    spec: ModelSpec,
    parameters: Parameters,
    *,
    ledger: SpendTracker,
    stop: Stop,
    advance: Callable[[], object],
    tell: Callable[[str], object],
) -> SendOutcome:
    """Make the calls until all are made or a stop is asked for, as many at once as the limits allow.

    No call begins once the ledger has reached its budget; those in flight are waited for. A call that fails is
    counted and left for the next time. `tell` takes lines for the user. Raises ProviderError when the provider cannot
    be opened.
    """
    outcome = SendOutcome()
    pace = RateLimiter(ledger.limits)
    provider = RateLimitedProvider(open_provider(spec), pace, ledger.limits)
    retry = RetryWaits(tell).retry(stop)
    waiting = iter(calls)
    in_flight = 0

    async def work(commits: CommitQueue) -> None:
        nonlocal in_flight
        for call in waiting:
            if reason := ledger.budget.used_up(ledger.spent, ledger.price, in_flight=in_flight):
                stop.ask(reason)
            if stop.reason:
                return
            in_flight += 1
            try:
                reply = await complete(provider, spec.model, call.prompt.messages, parameters, retry=retry)
                ledger.spent += await commits.run(partial(_store, call, reply, ledger))
            except StopRequestedError:
                return
            except ProviderError as error:
                outcome.faults[call.about] = f"provider fault ({error.kind}): {error.message}"
                if error.kind in FATAL_KINDS:
                    stop.ask(error.message)
                continue
            finally:
                in_flight -= 1
            if None in (reply.usage.input_tokens, reply.usage.output_tokens) and ledger.budget.needs_tokens:
                stop.ask(USAGE_UNREPORTED)
            outcome.done += 1
            advance()

    async def count_broken_off(commits: CommitQueue) -> None:
        if number := provider.pop_broken_off():
            broken_off = Spending(calls_broken_off=number)
            ledger.spent += broken_off
            await commits.run(lambda: ledger.write(broken_off))

    async def keep_alive(commits: CommitQueue, name: str) -> None:
        while True:
            await pace.set_peers(await commits.run(lambda: beat(name, str(spec))))
            await count_broken_off(commits)
            await asyncio.sleep(HEARTBEAT)

    try:
        with CommitQueue() as commits, present() as name:
            heart = asyncio.create_task(keep_alive(commits, name))
            try:
                async with asyncio.TaskGroup() as tasks:
                    for _ in range(min(ledger.limits.concurrency, len(calls))):
                        tasks.create_task(work(commits))
            finally:
                heart.cancel()
                await count_broken_off(commits)
                await commits.run(lambda: leave(None, name))
    finally:
        await provider.aclose()
    return outcome


def _store(call: ModelRequest, reply: ModelReply, ledger: SpendTracker) -> Spending:
    """Keep the reply and count it; returns what it cost."""
    call.keep(reply)
    usage = reply.usage
    paid = Spending.of_reply(usage.input_tokens, usage.output_tokens, usage.cached_input_tokens)
    ledger.write(paid)
    return paid
