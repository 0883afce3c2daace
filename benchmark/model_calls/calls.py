"""Questions that belong to no chain: many to one model, each reply stored the moment it arrives.

They keep to budgets and to the limits of the model, which they share with runs.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from benchmark.model_calls.budget import Budget, Price, Spent
from benchmark.model_calls.commits import Commits
from benchmark.model_calls.heartbeat import send_heartbeat, unregister
from benchmark.model_calls.rate_limit import Limits, Pace, PacedProvider
from benchmark.model_calls.stopping import HOPELESS, UNCOUNTED, Stop, Stopped
from benchmark.model_calls.waits import Waits
from benchmark.models.leases import HEARTBEAT
from benchmark.models.metering import MeteredRun
from benchmark.models.owners import new_owner
from benchmark.prompts import Prompt
from benchmark.providers import ModelSpec, Parameters, ProviderError, Reply, complete, open_provider

NO_BOUND, NOTHING, USUAL = Budget(), Spent(), Limits()


@dataclass(frozen=True)
class Call:
    """A question: what it is about, in words for people, and what is done with its reply, in a transaction."""

    about: str
    prompt: Prompt
    keep: Callable[[Reply], object]


@dataclass
class Ledger:
    """What was spent and what may be, in all: by the run where there is one, else for everything of the same kind."""

    price: Price | None = None
    budget: Budget = NO_BOUND
    limits: Limits = USUAL
    run: MeteredRun | None = None
    spent: Spent = NOTHING

    @classmethod
    def of_run(cls, run: MeteredRun) -> "Ledger":
        """The means a run was given, and what it has paid so far."""
        return cls(Price.of_run(run), Budget(**run.budget), Limits(**run.limits), run, Spent.of_run(run))

    def write(self, paid: Spent) -> None:
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
class Outcome:
    """How calls went. `faults` are the provider's, by what the call is about; they count against no model."""

    done: int = 0
    faults: dict[str, str] = field(default_factory=dict)


async def ask_all(
    calls: Sequence[Call],
    spec: ModelSpec,
    parameters: Parameters,
    *,
    ledger: Ledger,
    stop: Stop,
    advance: Callable[[], object],
    tell: Callable[[str], object],
) -> Outcome:
    """Make the calls until all are made or a stop is asked for, as many at once as the limits allow.

    No call begins once the ledger has reached its budget; those in flight are waited for. A call that fails is
    counted and left for the next time. `tell` takes lines for the user. Raises ProviderError when the provider cannot
    be opened.
    """
    outcome = Outcome()
    pace = Pace(ledger.limits)
    provider = PacedProvider(open_provider(spec), pace, ledger.limits)
    retry = Waits(tell).retry(stop)
    waiting = iter(calls)
    in_flight = 0

    async def work(commits: Commits) -> None:
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
            except Stopped:
                return
            except ProviderError as error:
                outcome.faults[call.about] = f"provider fault ({error.kind}): {error.message}"
                if error.kind in HOPELESS:
                    stop.ask(error.message)
                continue
            finally:
                in_flight -= 1
            if None in (reply.usage.input_tokens, reply.usage.output_tokens) and ledger.budget.needs_tokens:
                stop.ask(UNCOUNTED)
            outcome.done += 1
            advance()

    async def count_broken_off(commits: Commits) -> None:
        if number := provider.take_broken_off():
            broken_off = Spent(calls_broken_off=number)
            ledger.spent += broken_off
            await commits.run(lambda: ledger.write(broken_off))

    async def keep_alive(commits: Commits, name: str) -> None:
        while True:
            await pace.share_with(await commits.run(lambda: send_heartbeat(name, str(spec))))
            await count_broken_off(commits)
            await asyncio.sleep(HEARTBEAT)

    try:
        name = new_owner()
        with Commits() as commits:
            heart = asyncio.create_task(keep_alive(commits, name))
            try:
                async with asyncio.TaskGroup() as tasks:
                    for _ in range(min(ledger.limits.concurrency, len(calls))):
                        tasks.create_task(work(commits))
            finally:
                heart.cancel()
                await count_broken_off(commits)
                await commits.run(lambda: unregister(None, name))
    finally:
        await provider.aclose()
    return outcome


def _store(call: Call, reply: Reply, ledger: Ledger) -> Spent:
    """Keep the reply and count it; returns what it cost."""
    call.keep(reply)
    usage = reply.usage
    paid = Spent.of_reply(usage.input_tokens, usage.output_tokens, usage.cached_input_tokens)
    ledger.write(paid)
    return paid
