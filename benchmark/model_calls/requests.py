"""Model requests outside chains: many to one model, each reply stored when it arrives.

They share budgets and the limits of the model with runs.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from benchmark.model_calls import caps, ledger
from benchmark.model_calls.budget import Price, RunBudget, Spending
from benchmark.model_calls.commit_queue import CommitQueue
from benchmark.model_calls.heartbeat import send_heartbeat, unregister
from benchmark.model_calls.ledger import Account
from benchmark.model_calls.rate_limit import RateLimitedProvider, RateLimiter, RateLimits
from benchmark.model_calls.stopping import FATAL_KINDS, USAGE_UNREPORTED, Stop, StopRequestedError
from benchmark.model_calls.waits import RetryWaits
from benchmark.models.faults import provider_fault
from benchmark.models.leases import HEARTBEAT
from benchmark.models.metering import MeteredRun
from benchmark.models.owners import new_owner
from benchmark.prompts import Prompt
from benchmark.providers import ModelReply, ModelSpec, Parameters, ProviderError, complete, open_provider

NO_BOUND, NOTHING_SPENT, USUAL = RunBudget(), Spending(), RateLimits()


@dataclass(frozen=True)
class ModelRequest:
    """A prompt, its subject in words for users, and the function that stores its reply in a transaction.

    `seed` overrides the seed of the parameters where it is not None.
    """

    subject: str
    prompt: Prompt
    store: Callable[[ModelReply], object]
    seed: int | None = None


@dataclass
class SpendTracker:
    """Spending and budget of a run, or of all requests of one kind where there is no run."""

    price: Price | None = None
    budget: RunBudget = NO_BOUND
    limits: RateLimits = USUAL
    run: MeteredRun | None = None
    spent: Spending = NOTHING_SPENT

    @classmethod
    def of_run(cls, run: MeteredRun) -> "SpendTracker":
        """Return the tracker of a run, with its price, budget, limits and spending."""
        return cls(
            Price.of_run(run), RunBudget(**run.budget), RateLimits(**run.limits), run, Spending.of_run(run)
        )

    def account(self, spec: ModelSpec) -> Account:
        """Return the account of calls to this model."""
        return Account(str(spec), self.price, "" if self.run is None else self.run.study_key)

    def store(self, spending: Spending, spec: ModelSpec) -> None:
        """Add the spending of one call to the ledger and to the run's row, in the transaction that stores the reply."""
        if self.run is not None:
            spending.add_to(self.run)
        ledger.record(self.account(spec), [spending])

    @property
    def as_json(self) -> dict[str, Any]:
        """The spending for the JSON documents of commands."""
        return self.spent.to_json(self.price)

    @property
    def summary(self) -> str:
        """The cost as a short text for progress bars."""
        return self.spent.summary(self.price)


@dataclass(frozen=True)
class RequestMonitor:
    """The observer of requests: `begin` gets the number of steps, `advance` is called after each, `report` gets lines.

    `stop` ends the work early.
    """

    stop: Stop
    begin: Callable[[int], object]
    advance: Callable[[], object]
    report: Callable[[str], object]


@dataclass
class SendOutcome:
    """The result of sending requests; `faults` are the provider's, by subject; they do not count against the model."""

    done: int = 0
    faults: dict[str, str] = field(default_factory=dict)


async def send_all(
    requests: Sequence[ModelRequest],
    spec: ModelSpec,
    parameters: Parameters,
    tracker: SpendTracker,
    monitor: RequestMonitor,
) -> SendOutcome:
    """Send the requests until all have a reply or a stop is requested, as many at once as the limits allow.

    No call begins after the budget is used up or a spending cap is reached; calls in flight are completed. A failed
    request is counted and left for the next call. Raises ProviderError when the provider cannot be opened.
    """
    limiter = RateLimiter(tracker.limits, monitor.stop)
    provider = RateLimitedProvider(open_provider(spec), limiter, tracker.limits)
    try:
        with CommitQueue() as commits:
            sender = _Sender(spec, parameters, tracker, monitor, provider, limiter, commits)
            await sender.send(requests)
    finally:
        await provider.aclose()
    return sender.outcome


@dataclass
class _Sender:
    """The calls of one `send_all`."""

    spec: ModelSpec
    parameters: Parameters
    tracker: SpendTracker
    monitor: RequestMonitor
    provider: RateLimitedProvider
    limiter: RateLimiter
    commits: CommitQueue
    outcome: SendOutcome = field(default_factory=SendOutcome)
    in_flight: int = 0

    def __post_init__(self) -> None:
        self.retry = RetryWaits(self.monitor.report).policy(self.monitor.stop)

    async def send(self, requests: Sequence[ModelRequest]) -> None:
        """Send all requests, with a heartbeat in the meantime."""
        waiting = iter(requests)

        async def work() -> None:
            for request in waiting:
                if not await self._send_one(request):
                    return

        name = new_owner()
        heart = asyncio.create_task(self._keep_alive(name))
        try:
            async with asyncio.TaskGroup() as tasks:
                for _ in range(min(self.tracker.limits.concurrency, len(requests))):
                    tasks.create_task(work())
        finally:
            heart.cancel()
            await self._count_broken_off()
            await self.commits.run(lambda: unregister(None, name))

    async def _send_one(self, request: ModelRequest) -> bool:
        """Send one request; return whether further ones may follow."""
        tracker, stop = self.tracker, self.monitor.stop
        refusal = await self.commits.submit(_refusals, tracker.account(self.spec))
        if refusal:
            stop.request(refusal)
        tracker.budget.request_stop(stop, tracker.spent, tracker.price, in_flight=self.in_flight)
        if stop.reason:
            return False
        self.in_flight += 1
        try:
            seed = self.parameters.seed if request.seed is None else request.seed
            parameters = replace(self.parameters, seed=seed)
            reply = await complete(
                self.provider, self.spec.model, request.prompt.messages, parameters, retry=self.retry
            )
            # Not `spent += await …`, which would read the sum before other calls add to it.
            spending = await self.commits.run(partial(_store, request, reply, tracker, self.spec))
            tracker.spent += spending
        except StopRequestedError:
            return False
        except ProviderError as error:
            self.outcome.faults[request.subject] = provider_fault(error.kind, error.message)
            if error.kind in FATAL_KINDS:
                stop.request(error.message)
            return True
        finally:
            self.in_flight -= 1
        if None in (reply.usage.input_tokens, reply.usage.output_tokens) and tracker.budget.needs_tokens:
            stop.request(USAGE_UNREPORTED)
        self.outcome.done += 1
        self.monitor.advance()
        return True

    async def _count_broken_off(self) -> None:
        if number := self.provider.pop_broken_off():
            broken_off = Spending(calls_broken_off=number)
            self.tracker.spent += broken_off
            await self.commits.run(lambda: self.tracker.store(broken_off, self.spec))

    async def _keep_alive(self, name: str) -> None:
        while True:
            await self.limiter.set_peers(await self.commits.run(lambda: send_heartbeat(name, str(self.spec))))
            await self._count_broken_off()
            await asyncio.sleep(HEARTBEAT)


def _refusals(accounts: list[Account]) -> list[str]:
    """Return for each call why a spending cap refuses it, or blank. All calls are of one account."""
    return [caps.refusal(accounts[0])] * len(accounts)


def _store(request: ModelRequest, reply: ModelReply, tracker: SpendTracker, spec: ModelSpec) -> Spending:
    """Store the reply and its cost, and return the cost."""
    request.store(reply)
    usage = reply.usage
    spending = Spending.of_reply(usage.input_tokens, usage.output_tokens, usage.cached_input_tokens)
    tracker.store(spending, spec)
    return spending
