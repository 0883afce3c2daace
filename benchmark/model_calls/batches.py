"""Batches of a run: its requests are collected until every chain waits, then submitted together.

Chains send one request at a time and are independent of batches. The rows of a batch and its requests are stored before
the provider creates it. A later process, even after `kill -9`, therefore waits for the same batch, and no request is
paid for twice.
"""

import asyncio
import json
import logging
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, TypeVar, cast
from uuid import UUID, uuid4

from django.utils import timezone

from benchmark.model_calls import batch_rows, caps
from benchmark.model_calls.batch_requests import BatchReply, BatchRequest
from benchmark.model_calls.budget import Price, RunBudget, Spending
from benchmark.model_calls.commit_queue import CommitQueue
from benchmark.model_calls.ledger import Account
from benchmark.model_calls.rate_limit import RateLimits, check_length
from benchmark.model_calls.stopping import FATAL_KINDS, Stop, StopRequestedError
from benchmark.models import Batch, Run
from benchmark.providers import (
    REFUSED,
    BatchingProvider,
    Message,
    ModelReply,
    Parameters,
    ProviderError,
    RetryPolicy,
    StreamEvent,
    complete,
    longest_reply,
    parse_model_spec,
)
from benchmark.providers.batching import BatchState, unanswered

logger = logging.getLogger(__name__)

T = TypeVar("T")

IN_BATCHES = RateLimits(concurrency=5_000)
"""The default limits of runs in batches: the number of open chains, which also bounds the size of a batch."""

_TICK = 0.1
"""Seconds between two checks whether a batch is complete."""

_QUIET = 10.0
"""Seconds without a new request after which a batch is submitted although some chains still compute."""

_LONGEST_COLLECTION = 300.0
"""Seconds after which a batch is submitted in any case."""

_LISTING_DELAY = timedelta(seconds=60)
"""The longest time until a new batch appears in the provider's list."""

_SHORTEST_POLL, _LONGEST_POLL = 0.2, 60.0
"""Seconds between two polls of a batch: a twentieth of its age, within these bounds."""

_LONGEST_RETRY = 24 * 3600.0
"""Seconds for which requests about an existing batch are repeated while the provider is unavailable."""

_NO_WAIT = RetryPolicy(base=0)
"""The retry policy of a request: one without a reply goes into the next batch, without a wait."""


@dataclass(frozen=True)
class BatchHooks:
    """The interface of batches to the rest of the process.

    `spending` returns what the run has spent, `open_chains` the number of chains that may still send a request.
    `on_progress` is called with the numbers of submitted and of answered requests.
    `retry` bounds the attempts to create a batch.
    """

    stop: Stop
    retry: RetryPolicy
    spending: Callable[[], Spending]
    open_chains: Callable[[], int]
    on_progress: Callable[[int, int], None]


class Batches:
    """The batches of one process for one run. `reply` may be called while the `running` block is active."""

    def __init__(
        self, run: Run, provider: BatchingProvider, commits: CommitQueue, hooks: BatchHooks, *, cancel: bool
    ) -> None:
        """With `cancel` no batch is created, and existing ones are cancelled."""
        self._run = run
        self._provider = provider
        self._spec = parse_model_spec(run.model_spec)
        self._commits = commits
        self._hooks = hooks
        self._cancel = cancel
        self._budget = RunBudget(**run.budget)
        self._price = Price.of_run(run)
        self._account = Account.of_run(run)
        self._context: int | None = run.limits.get("context_tokens")
        self._largest = provider.limits.requests
        self._one_at_a_time = False
        self._pending: list[BatchRequest] = []
        self._wake = asyncio.Event()
        self._submitted: dict[UUID, dict[str, BatchRequest]] = defaultdict(dict)
        self._trackers: dict[UUID, asyncio.Task[None]] = {}
        self._counts: dict[UUID, tuple[int, int]] = {}
        self._tasks: asyncio.TaskGroup | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Collect and submit requests until the block ends; batches of the provider stay there."""
        async with asyncio.TaskGroup() as self._tasks:
            collector = self._tasks.create_task(self._collect_requests())
            try:
                yield
            finally:
                for task in (collector, *self._trackers.values()):
                    task.cancel()

    async def reply(self, name: str, messages: Sequence[Message], parameters: Parameters) -> ModelReply:
        """Return the reply to the request of this name, retried like `complete`; its latency is the time of its batch.

        Raises ProviderError and StopRequestedError.
        """
        provider = _BatchProvider(self, name)
        reply = await complete(provider, self._spec.model, messages, parameters, retry=_NO_WAIT)
        return replace(reply, latency=provider.seconds, first_token=None)

    async def attempt(self, name: str, messages: Sequence[Message], parameters: Parameters) -> BatchReply:
        """Return the reply of one attempt. Raises ProviderError and StopRequestedError."""
        check_length(messages, parameters, self._context)
        longest = longest_reply(self._spec.provider, parameters)
        request = BatchRequest(
            name, messages, parameters, longest, asyncio.get_running_loop().create_future()
        )
        batch = await self._commits.submit(batch_rows.batches_of, (self._run.pk, name))
        if batch is None:
            self._add(request)
        else:
            self._submitted[batch.pk][name] = request
            self._start(batch.pk, self._track(batch))
        return await request.reply

    def _add(self, request: BatchRequest) -> None:
        self._pending.append(request)
        self._wake.set()

    def _start(self, batch_id: UUID, work: Coroutine[Any, Any, None]) -> None:
        """Start the task of a batch, unless it is running."""
        if batch_id in self._trackers:
            work.close()
            return
        assert self._tasks is not None
        self._trackers[batch_id] = self._tasks.create_task(self._run_tracker(batch_id, work))

    async def _run_tracker(self, batch_id: UUID, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception as error:  # noqa: BLE001  (raised where the replies are awaited)
            for request in self._submitted.pop(batch_id, {}).values():
                request.fail(_final(error))
        finally:
            del self._trackers[batch_id]
            self._counts.pop(batch_id, None)
            self._report_progress()
            self._wake.set()

    async def _collect_requests(self) -> None:
        while True:
            await self._wake.wait()
            await asyncio.sleep(_TICK)
            if self._hooks.stop.reason:
                for request in self._pending:  # none of these is paid for
                    request.fail(StopRequestedError())
                self._pending.clear()
            elif (self._pending and not self._is_complete()) or (self._pending and await self._submit()):
                continue
            self._wake.clear()  # until there is another request, or room in the budget

    def _is_complete(self) -> bool:
        now = time.monotonic()
        waiting = len(self._pending) + sum(map(len, self._submitted.values()))
        return (
            waiting >= self._hooks.open_chains()
            or len(self._pending) >= self._largest
            or now - self._pending[-1].created > _QUIET
            or now - self._pending[0].created > _LONGEST_COLLECTION
        )

    async def _submit(self) -> bool:
        """Start one batch of the first pending requests that the provider, the budget and the spending caps allow.

        Returns whether the pending requests changed or a stop was requested.
        """
        if self._one_at_a_time and any(self._submitted.values()):
            return False
        refusal, left = await self._commits.run(
            lambda: (caps.refusal(self._account), caps.dollars_left(self._account))
        )
        in_flight = [request for batch in self._submitted.values() for request in batch.values()]
        taken, bodies, requests = self._select(in_flight, 0.0 if refusal else left)
        if not taken and not in_flight:
            self._hooks.stop.request(refusal or self._stop_reason(self._pending[0], left))
            return True
        del self._pending[:taken]
        if requests:
            batch_id = uuid4()
            self._submitted[batch_id] = requests
            self._start(batch_id, self._create_and_track(batch_id, bodies))
        return taken > 0

    def _select(
        self, in_flight: Sequence[BatchRequest], left: float | None
    ) -> tuple[int, dict[str, dict[str, Any]], dict[str, BatchRequest]]:
        """Return the number of pending requests to remove, and the bodies and requests of the next batch by name.

        All requests in flight may cost `left` US dollars; None: no cap applies.
        Requests that the provider cannot send fail and are removed too.
        """
        bodies: dict[str, dict[str, Any]] = {}
        requests: dict[str, BatchRequest] = {}
        most = sum((request.most for request in in_flight), Spending())
        spent = self._hooks.spending()
        size = taken = 0
        for request in self._pending[: self._largest]:
            most += request.most
            if (
                self._cancel
                or self._is_unbounded(request, left)
                or not self._budget.allows(spent + most, self._price)
                or not RunBudget(cost=left).allows(most, self._price)
            ):
                break
            try:
                body = self._provider.request(
                    request.name, self._spec.model, request.messages, request.parameters
                )
            except ProviderError as error:
                request.fail(error)
                taken += 1
                continue
            size += len(json.dumps(body)) + 1
            if size > self._provider.limits.bytes and requests:
                break
            bodies[request.name], requests[request.name] = body, request
            taken += 1
        return taken, bodies, requests

    def _is_unbounded(self, request: BatchRequest, left: float | None) -> bool:
        """Return whether a budget or a cap bounds the cost of the request, and nothing bounds its reply."""
        return request.longest is None and (self._budget.needs_tokens or left is not None)

    def _stop_reason(self, request: BatchRequest, left: float | None) -> str:
        if self._cancel:
            return "its batches were cancelled"
        if self._is_unbounded(request, left):
            return (
                "a run with a budget of tokens or money, or with a spending cap, needs max_output_tokens in new "
                "batches. Resume it without the budget or the cap, or start a new run"
            )
        tokens = request.most.input_tokens + request.most.output_tokens
        if not RunBudget(cost=left).allows(request.most, self._price):
            return (
                f"a spending cap leaves {left:,.2f} US dollars, which may not be enough for one more question (up to "
                f"{tokens:,} tokens). Raise the cap on the page Spending, or with: manage.py spending set"
            )
        return self._budget.used_up(self._hooks.spending(), self._price) or (
            f"the rest of the budget may not be enough for one more question (up to {tokens:,} tokens)"
        )

    async def _create_and_track(self, batch_id: UUID, bodies: Mapping[str, dict[str, Any]]) -> None:
        failures = 0
        while True:
            try:
                batch = await self._create(batch_id, bodies)
                break
            except ProviderError as error:
                failures += 1
                try:
                    self._hooks.retry.check(failures, error)
                except ProviderError as last:
                    if last.kind != "rate_limit":
                        raise
                    self._shrink(batch_id, last)
                    return
                await self._hooks.retry.pause(failures, error)
        await self._track(batch)

    async def _create(self, batch_id: UUID, bodies: Mapping[str, dict[str, Any]]) -> Batch:
        """Create a batch and return its row. Raises ProviderError when the provider certainly created none."""
        prepared = await self._provider.prepare_batch(list(bodies.values()))
        batch = await self._commits.run(lambda: batch_rows.create(self._run, batch_id, bodies))
        try:
            provider_id = await self._provider.create_batch(str(batch_id), prepared)
        except ProviderError as error:
            if error.kind in REFUSED:
                await self._commits.run(lambda: batch_rows.delete(batch))
                raise
            logger.warning("it is uncertain whether a batch was created; searching for it: %s", error)
        else:
            await self._commits.submit(batch_rows.store_provider_ids, (batch, provider_id))
        return batch

    def _shrink(self, batch_id: UUID, error: ProviderError) -> None:
        """Submit one batch at a time from now on, and smaller ones where one alone exceeds the provider's limit."""
        requests = self._submitted.pop(batch_id)
        if not any(self._submitted.values()):
            if len(requests) == 1:
                for request in requests.values():
                    request.fail(_final(error))
                return
            self._largest = len(requests) // 2
        self._one_at_a_time = True
        for request in requests.values():
            self._add(request)

    async def _track(self, batch: Batch) -> None:
        """Wait for the end of the batch and deliver its results."""
        if not batch.provider_id and not await self._find(batch):
            for request in self._submitted.pop(batch.pk).values():
                self._add(request)
            return
        try:
            if self._cancel and batch.ended_at is None:
                await self._retry(lambda: self._provider.cancel_batch(batch.provider_id))
            state = await self._wait_for_end(batch)
            if state.failure:
                raise state.failure
            while self._submitted[batch.pk]:
                await self._deliver_results(batch)
            del self._submitted[batch.pk]
        except ProviderError as error:
            # Faults of this side leave the batch as it is: a later process gets its replies.
            if error.kind not in FATAL_KINDS:
                fault = error.message
                await self._commits.run(lambda: batch_rows.mark_failed(batch, fault))
            if error.kind != "rate_limit":
                raise
            self._shrink(batch.pk, error)

    async def _find(self, batch: Batch) -> bool:
        """Return whether the provider created a batch whose id was not stored, and store its id."""
        names, known = await self._commits.run(
            lambda: (batch_rows.request_names(batch), batch_rows.provider_ids())
        )
        while True:
            before = timezone.now()
            found = await self._retry(
                lambda: self._provider.find_batch(str(batch.pk), names, batch.created_at, known)
            )
            if found:
                await self._commits.submit(batch_rows.store_provider_ids, (batch, found))
                return True
            if before > batch.created_at + _LISTING_DELAY:
                await self._commits.run(lambda: batch_rows.delete(batch))
                return False
            await asyncio.sleep(_LONGEST_POLL / 10)

    async def _wait_for_end(self, batch: Batch) -> BatchState:
        """Return the final state of the batch."""
        while True:
            state = await self._retry(lambda: self._provider.batch_state(batch.provider_id))
            if (state.answered, state.ended_at) != (batch.answered, batch.ended_at):
                batch.answered, batch.ended_at = state.answered, state.ended_at
                await self._commits.run(lambda: batch_rows.save_progress(batch))
            self._counts[batch.pk] = batch.requests, batch.answered
            self._report_progress()
            if state.ended_at:
                return state
            age = (timezone.now() - batch.created_at).total_seconds()
            await asyncio.sleep(min(max(age / 20, _SHORTEST_POLL), _LONGEST_POLL))

    async def _deliver_results(self, batch: Batch) -> None:
        """Set the results of the requests that wait now."""
        waiting = dict(self._submitted[batch.pk])
        seconds = (batch.ended_at - batch.created_at).total_seconds() if batch.ended_at else 0.0
        failed: dict[str, ProviderError] = {}

        async def read() -> None:
            # By contract, these results are a generator.
            async with aclosing(cast("Any", self._provider.batch_results(batch.provider_id))) as results:
                async for result in results:
                    if isinstance(result.outcome, ProviderError):
                        failed[result.name] = result.outcome
                    elif request := waiting.pop(result.name, None):
                        del self._submitted[batch.pk][result.name]
                        request.succeed((result.outcome, max(0.0, seconds)))

        await self._retry(read)
        for name in waiting:
            failed.setdefault(name, unanswered("The provider", "it is not among the results"))
        faults = {name: error.message for name, error in failed.items()}
        await self._commits.run(lambda: batch_rows.mark_failed(batch, faults))
        for name, request in waiting.items():
            del self._submitted[batch.pk][name]
            request.fail(failed[name])

    async def _retry(self, call: Callable[[], Awaitable[T]]) -> T:
        """Return the provider's answer; repeat the call for a day, because the batch is paid for."""
        failures, deadline = 0, time.monotonic() + _LONGEST_RETRY
        while True:
            try:
                return await call()
            except ProviderError as error:
                failures += 1
                wait = max(min(2.0**failures, _LONGEST_POLL), error.retry_after or 0.0)
                if not error.retryable or time.monotonic() + wait > deadline:
                    raise
                logger.warning("a request about a batch is repeated in %.0f seconds: %s", wait, error)
            await asyncio.sleep(wait)

    def _report_progress(self) -> None:
        requests = sum(number for number, _ in self._counts.values())
        self._hooks.on_progress(requests, sum(answered for _, answered in self._counts.values()))


def _final(error: Exception) -> Exception:
    """Return the error as one that is not retried."""
    if isinstance(error, ProviderError):
        return ProviderError(error.kind, error.message, retryable=False)
    return error


class _BatchProvider:
    """The provider of one request, for `complete`; `seconds` is the time that its batch took."""

    scripted = False

    def __init__(self, batches: Batches, name: str) -> None:
        self.seconds = 0.0
        self._batches = batches
        self._name = name

    async def stream(
        self, _model: str, messages: Sequence[Message], parameters: Parameters
    ) -> AsyncIterator[StreamEvent]:
        """Yield the whole reply at once; see `Provider.stream`."""
        events, self.seconds = await self._batches.attempt(self._name, messages, parameters)
        for event in events:
            yield event

    async def aclose(self) -> None:
        """Do nothing: the client has another owner."""
