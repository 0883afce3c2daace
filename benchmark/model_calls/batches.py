"""Questions of a run in batches: gathered until every chain waits, handed in together, answered within a day.

Chains ask one question at a time and know nothing of it. The row of a batch and of its questions is there before the
provider is asked to make it, so whoever asks one of them later, after a `kill -9` too, waits for the same batch: no
question is paid for twice.
"""

import asyncio
import json
import logging
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any, TypeVar, cast
from uuid import UUID, uuid4

from django.utils import timezone

from benchmark.model_calls import batch_rows
from benchmark.model_calls.batch_requests import Answer, ModelRequest
from benchmark.model_calls.budget import Budget, Price, Spending
from benchmark.model_calls.commit_queue import CommitQueue
from benchmark.model_calls.rate_limit import Limits, check_length
from benchmark.model_calls.stopping import Stop, StopRequestedError
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
)
from benchmark.providers.batching import BatchState, unanswered

logger = logging.getLogger(__name__)

T = TypeVar("T")

IN_BATCHES = Limits(concurrency=5_000)
"""Where nothing is said: so many chains are under way at once, and a batch holds no more questions than that."""

_TICK = 0.1
"""Seconds between two looks whether a batch is complete."""

_QUIET = 10.0
"""Seconds without a new question after which a batch is handed in though some chains still compute."""

_LONGEST_GATHERING = 300.0
"""Seconds after which it is handed in in any case."""

_ON_ITS_WAY = timedelta(seconds=60)
"""How long a batch that was asked for may take to show in the provider's list."""

_SHORTEST_LOOK, _LONGEST_LOOK = 0.2, 60.0
"""Seconds between two looks at a batch: a twentieth of its age, within these."""

_PATIENCE = 24 * 3600.0
"""Seconds for which a provider that is away is asked again about a batch that it made."""

_AGAIN = RetryPolicy(base=0)
"""A question without a reply goes into the next batch; there is nothing to wait for before."""

_FAULTS_OF_THIS_SIDE = frozenset({"authentication", "configuration"})
"""Faults of this side: the batch is not touched by them, and a later process gets its replies."""


class Batches:
    """The batches of one process for one run. `reply` is for use while `at_work` is entered."""

    def __init__(
        self,
        run: Run,
        provider: BatchingProvider,
        model: str,
        commits: CommitQueue,
        stop: Stop,
        *,
        spent: Callable[[], Spending],
        under_way: Callable[[], int],
        told: Callable[[int, int], None],
        retry: RetryPolicy,
        cancel: bool,
    ) -> None:
        """`under_way` counts the chains that may still ask something; `told` takes how many questions are with the
        provider and how many of them are answered. `retry` says how often the provider is asked to make a batch. With
        `cancel` no batch begins, and those that are there end.
        """
        self._run = run
        self._provider = provider
        self._model = model
        self._commits = commits
        self._stop = stop
        self._spent = spent
        self._under_way = under_way
        self._told = told
        self._retry = retry
        self._cancel = cancel
        self._budget = Budget(**run.budget)
        self._price = Price.of_run(run)
        self._context: int | None = run.limits.get("context_tokens")
        self._largest = provider.limits.requests
        self._in_turn = False
        self._gathered: list[ModelRequest] = []
        self._asked = asyncio.Event()
        self._handed_in: dict[UUID, dict[str, ModelRequest]] = defaultdict(dict)
        self._followed: dict[UUID, asyncio.Task[None]] = {}
        self._with_provider: dict[UUID, tuple[int, int]] = {}
        self._tasks: asyncio.TaskGroup | None = None

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        """Gathers and hands in until the block ends; what is then with the provider stays there."""
        async with asyncio.TaskGroup() as self._tasks:
            gathering = self._tasks.create_task(self._gather())
            try:
                yield
            finally:
                for task in (gathering, *self._followed.values()):
                    task.cancel()

    async def reply(self, name: str, messages: Sequence[Message], parameters: Parameters) -> ModelReply:
        """The reply to the question of this name, tried as often as `complete` does; its latency is its batch's time.

        Raises ProviderError and Stopped.
        """
        asked = _Asked(self, name)
        reply = await complete(asked, self._model, messages, parameters, retry=_AGAIN)
        return replace(reply, latency=asked.seconds, first_token=None)

    async def answer(self, name: str, messages: Sequence[Message], parameters: Parameters) -> Answer:
        """One try: the events of the reply, and the seconds that its batch took. Raises ProviderError and Stopped."""
        check_length(messages, parameters, self._context)
        call = ModelRequest(name, messages, parameters, asyncio.get_running_loop().create_future())
        batch = await self._commits.do(batch_rows.holding, (self._run.pk, name))
        if batch is None:
            self._await_batch(call)
        else:
            self._handed_in[batch.pk][name] = call
            self._follow(batch.pk, self._look_after(batch))
        return await call.answer

    def _await_batch(self, call: ModelRequest) -> None:
        self._gathered.append(call)
        self._asked.set()

    def _follow(self, batch_id: UUID, work: Coroutine[Any, Any, None]) -> None:
        """Carry a batch through to its results, unless that is being done."""
        if batch_id in self._followed:
            work.close()
            return
        assert self._tasks is not None
        self._followed[batch_id] = self._tasks.create_task(self._followed_through(batch_id, work))

    async def _followed_through(self, batch_id: UUID, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception as error:  # noqa: BLE001  (raised where the replies are waited for)
            for call in self._handed_in.pop(batch_id, {}).values():
                call.fail(_final(error))
        finally:
            del self._followed[batch_id]
            self._with_provider.pop(batch_id, None)
            self._tell()
            self._asked.set()

    async def _gather(self) -> None:
        while True:
            await self._asked.wait()
            await asyncio.sleep(_TICK)
            if self._stop.reason:
                for call in self._gathered:  # nothing was paid for these
                    call.fail(StopRequestedError())
                self._gathered.clear()
            elif (self._gathered and not self._is_complete()) or (self._gathered and self._hand_in()):
                continue
            self._asked.clear()  # until there is another question, or room in the budget

    def _is_complete(self) -> bool:
        now = time.monotonic()
        waiting = len(self._gathered) + sum(map(len, self._handed_in.values()))
        return (
            waiting >= self._under_way()
            or len(self._gathered) >= self._largest
            or now - self._gathered[-1].asked > _QUIET
            or now - self._gathered[0].asked > _LONGEST_GATHERING
        )

    def _hand_in(self) -> bool:
        """Begin one batch of the first questions, as many as the provider takes and the budget allows, if any."""
        requests: dict[str, dict[str, Any]] = {}
        calls: dict[str, ModelRequest] = {}
        if self._in_turn and any(self._handed_in.values()):
            return False
        in_flight = [call for batch in self._handed_in.values() for call in batch.values()]
        total = sum((call.most for call in in_flight), self._spent())
        size = taken = 0
        for call in self._gathered[: self._largest]:
            total += call.most
            if self._cancel or not self._budget.allows(total, self._price):
                break
            try:
                request = self._provider.request(call.name, self._model, call.messages, call.parameters)
            except ProviderError as error:
                call.fail(error)
                taken += 1
                continue
            size += len(json.dumps(request)) + 1
            if size > self._provider.limits.bytes and calls:
                break
            requests[call.name], calls[call.name] = request, call
            taken += 1
        if not taken and not in_flight:
            self._stop.ask(self._why_no_more(self._gathered[0]))
            return True
        del self._gathered[:taken]
        if calls:
            batch_id = uuid4()
            self._handed_in[batch_id] = calls
            self._follow(batch_id, self._begin(batch_id, requests))
        return taken > 0

    def _why_no_more(self, call: ModelRequest) -> str:
        if self._cancel:
            return "its batches were cancelled"
        tokens = call.most.input_tokens + call.most.output_tokens
        return self._budget.used_up(self._spent(), self._price) or (
            f"the rest of the budget may not be enough for one more question (up to {tokens:,} tokens)"
        )

    async def _begin(self, batch_id: UUID, requests: Mapping[str, dict[str, Any]]) -> None:
        failures = 0
        while True:
            try:
                batch = await self._create(batch_id, requests)
                break
            except ProviderError as error:
                failures += 1
                try:
                    self._retry.check(failures, error)
                except ProviderError as last:
                    if last.kind == "rate_limit":
                        return self._ask_for_less(batch_id, last)
                    raise
                await self._retry.pause(failures, error)
        await self._look_after(batch)

    async def _create(self, batch_id: UUID, requests: Mapping[str, dict[str, Any]]) -> Batch:
        """The row of a new batch. Raises ProviderError when it is certain that the provider made none."""
        prepared = await self._provider.prepare_batch(list(requests.values()))
        batch = await self._commits.run(lambda: batch_rows.begin(self._run, batch_id, requests))
        try:
            provider_id = await self._provider.create_batch(str(batch_id), prepared)
        except ProviderError as error:
            if error.kind in REFUSED:
                await self._commits.run(lambda: batch_rows.forget(batch))
                raise
            logger.warning("whether a batch was made is not certain, it is looked for: %s", error)
        else:
            await self._commits.do(batch_rows.all_made, (batch, provider_id))
        return batch

    def _ask_for_less(self, batch_id: UUID, error: ProviderError) -> None:
        """The provider holds no more at once: from now on one batch after the other, and smaller ones if need be."""
        calls = self._handed_in.pop(batch_id)
        if not any(self._handed_in.values()):
            if len(calls) == 1:
                for call in calls.values():
                    call.fail(_final(error))
                return
            self._largest = len(calls) // 2
        self._in_turn = True
        for call in calls.values():
            self._await_batch(call)

    async def _look_after(self, batch: Batch) -> None:
        """From wherever the batch is to its results."""
        if not batch.provider_id and not await self._find(batch):
            for call in self._handed_in.pop(batch.pk).values():
                self._await_batch(call)
            return
        try:
            if self._cancel and batch.ended_at is None:
                await self._patiently(lambda: self._provider.cancel_batch(batch.provider_id))
            state = await self._end_of(batch)
            if state.failure:
                raise state.failure
            while self._handed_in[batch.pk]:
                await self._collect(batch)
            del self._handed_in[batch.pk]
        except ProviderError as error:
            if error.kind not in _FAULTS_OF_THIS_SIDE:
                why = error.message
                await self._commits.run(lambda: batch_rows.add_faults(batch, why))
            if error.kind == "rate_limit":
                return self._ask_for_less(batch.pk, error)
            raise

    async def _find(self, batch: Batch) -> bool:
        """Whether the provider made a batch that it was asked for by someone who could not note its answer."""
        names, known = await self._commits.run(lambda: (batch_rows.names(batch), batch_rows.known_ids()))
        while True:
            before = timezone.now()
            found = await self._patiently(
                lambda: self._provider.find_batch(str(batch.pk), names, batch.created_at, known)
            )
            if found:
                await self._commits.do(batch_rows.all_made, (batch, found))
                return True
            if before > batch.created_at + _ON_ITS_WAY:
                await self._commits.run(lambda: batch_rows.forget(batch))
                return False
            await asyncio.sleep(_LONGEST_LOOK / 10)

    async def _end_of(self, batch: Batch) -> BatchState:
        """The state of the batch when it has ended."""
        while True:
            state = await self._patiently(lambda: self._provider.batch_state(batch.provider_id))
            if (state.answered, state.ended_at) != (batch.answered, batch.ended_at):
                batch.answered, batch.ended_at = state.answered, state.ended_at
                await self._commits.run(lambda: batch_rows.advance(batch))
            self._with_provider[batch.pk] = batch.questions, batch.answered
            self._tell()
            if state.ended_at:
                return state
            age = (timezone.now() - batch.created_at).total_seconds()
            await asyncio.sleep(min(max(age / 20, _SHORTEST_LOOK), _LONGEST_LOOK))

    async def _collect(self, batch: Batch) -> None:
        """Hand the results to those who wait for them now."""
        waiting = dict(self._handed_in[batch.pk])
        seconds = (batch.ended_at - batch.created_at).total_seconds() if batch.ended_at else 0.0
        failed: dict[str, ProviderError] = {}

        async def read() -> None:
            # By its contract these results are a generator.
            async with aclosing(cast("Any", self._provider.batch_results(batch.provider_id))) as results:
                async for result in results:
                    if isinstance(result.outcome, ProviderError):
                        failed[result.name] = result.outcome
                    elif call := waiting.pop(result.name, None):
                        del self._handed_in[batch.pk][result.name]
                        call.succeed((result.outcome, max(0.0, seconds)))

        await self._patiently(read)
        for name in waiting:
            failed.setdefault(name, unanswered("The provider", "it is not among the results"))
        faults = {name: error.message for name, error in failed.items()}
        await self._commits.run(lambda: batch_rows.add_faults(batch, faults))
        for name, call in waiting.items():
            del self._handed_in[batch.pk][name]
            call.fail(failed[name])

    async def _patiently(self, ask: Callable[[], Awaitable[T]]) -> T:
        """What the provider answers. One that is away is asked again: what it holds was paid for."""
        failures, deadline = 0, time.monotonic() + _PATIENCE
        while True:
            try:
                return await ask()
            except ProviderError as error:
                failures += 1
                wait = max(min(2.0**failures, _LONGEST_LOOK), error.retry_after or 0.0)
                if not error.retryable or time.monotonic() + wait > deadline:
                    raise
                logger.warning("the provider is asked again about a batch in %.0f seconds: %s", wait, error)
            await asyncio.sleep(wait)

    def _tell(self) -> None:
        questions = sum(number for number, _ in self._with_provider.values())
        self._told(questions, sum(answered for _, answered in self._with_provider.values()))


def _final(error: Exception) -> Exception:
    """The same, after all that could be tried was."""
    if isinstance(error, ProviderError):
        return ProviderError(error.kind, error.message, retryable=False)
    return error


class _Asked:
    """The provider of one question, as `complete` calls it."""

    scripted = False

    def __init__(self, batches: Batches, name: str) -> None:
        self.seconds = 0.0
        self._batches = batches
        self._name = name

    async def stream(
        self, model: str, messages: Sequence[Message], parameters: Parameters
    ) -> AsyncIterator[StreamEvent]:
        """As `Provider.stream`: the whole reply at once."""
        events, self.seconds = await self._batches.answer(self._name, messages, parameters)
        for event in events:
            yield event

    async def aclose(self) -> None:
        """As `Provider.aclose`: the client belongs to others."""
