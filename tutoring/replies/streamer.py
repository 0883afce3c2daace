"""The streamer: claims waiting replies, calls the models, and stores their text as it arrives.

One process writes many replies: it stores the text of the last 50 ms (on a busy machine of a longer time) in one
transaction, then sends it to the tutors' pages. Another streamer takes over the replies of one that died.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar

from asgiref.sync import sync_to_async
from channels.layers import get_channel_layer
from django.conf import settings
from django.db import DatabaseError
from django.utils import timezone
from redis import RedisError

from benchmark.model_calls.caps import CapReachedError
from benchmark.model_calls.model_tests import claim_tests, perform_test
from benchmark.model_calls.reply_cache import draw_seed
from benchmark.models import Process
from benchmark.models.leases import HEARTBEAT
from benchmark.processes import Heartbeat
from benchmark.processes.heartbeat import INTERVAL as HEARTBEAT_INTERVAL
from benchmark.providers import (
    Completed,
    ModelSpec,
    Provider,
    ProviderError,
    ReasoningDelta,
    Restarted,
    RetryPolicy,
    StreamEvent,
    TextDelta,
    draws_by_seed,
    open_provider,
    parse_model_spec,
    stream_with_retries,
)
from tutoring.notifications import STREAMERS, TextChunk, notify_storage_delay, notify_text
from tutoring.replies.claimed_reply import ClaimedReply
from tutoring.replies.claims import claim_replies, refuse_over_cap, restart_reply
from tutoring.replies.draft_checks import check_draft, claim_draft_checks
from tutoring.replies.endings import fail_reply, finish_reply, persist_answer
from tutoring.replies.model_answer import ModelAnswer
from tutoring.replies.model_drafts import claim_drafts, write_draft
from tutoring.replies.pieces import Delta, append_deltas, record_call
from tutoring.sessions.spending import NOT_CALLED, SPENDING_LIMIT, may_be_billed

logger = logging.getLogger(__name__)

T = TypeVar("T")

FLUSH_INTERVAL = 0.05
"""Seconds between two transactions that store streamed text, unless they take long."""

_LONGEST_FLUSH_INTERVAL = 0.5
"""Seconds between two transactions that take long. At most half of the time is spent on them."""

_STOP_CHECK_INTERVAL = 0.1
"""Seconds between two checks whether the tutor has stopped a reply without new text."""

_LIMIT_PRECISION = 0.1
"""Seconds by which the time limit of a reply may be too short, so that it is not set again for each piece of text."""

_RETRY_INTERVAL = 1.0
"""Seconds until a statement is repeated that the database has refused."""

_LOG_INTERVAL = 60.0
"""Seconds between two lines of the log about a database that refuses statements."""

_CLAIM_INTERVAL = 0.5
"""Seconds between two searches for waiting replies if no notification arrives."""


@dataclass
class ActiveReply:
    """One reply that this process writes."""

    claimed: ClaimedReply
    answer: ModelAnswer = field(default_factory=ModelAnswer)
    pending: str = ""
    """Text that has arrived and has not been stored as a piece."""
    persisted: bool = False
    """Whether the answer is whole, and stored."""
    credit: float = 0.0
    """Characters that the pace allows now."""
    calls: int = 1
    """Calls of the provider so far."""
    furthest: int = 0
    """Characters of text and reasoning that the best call has brought. Only more of them are progress."""
    failure: str = ""
    """Message of the last failed call."""
    broken_off: bool = False
    """Whether the last failed call may be billed and is not counted yet."""
    restarted_by: ProviderError | None = None
    """The error after which the reply began again. The restart counts its call."""
    seq: int = 0
    task: asyncio.Task[None] | None = None
    stopping: bool = False
    ending: bool = False
    lost: bool = False
    _clock_start: datetime = field(init=False)
    """The time at which the monotonic clock was 0, by the wall clock at the claim."""

    def __post_init__(self) -> None:
        self._clock_start = timezone.now() - timedelta(seconds=time.monotonic())

    @classmethod
    def of(cls, claimed: ClaimedReply) -> ActiveReply:
        """Return a reply to be written; if its answer is stored already, only the text not shown is left."""
        if claimed.answer is None:
            return cls(claimed)
        pending = claimed.answer.text[claimed.shown :]
        return cls(claimed, claimed.answer, pending, persisted=True, seq=claimed.seq)

    def now(self) -> datetime:
        """Return the time by the clock of the claim: a jump of the clock since then neither delays nor hastens text."""
        return self._clock_start + timedelta(seconds=time.monotonic())

    def is_delayed(self, now: datetime) -> bool:
        """Return whether the protocol hides the text: it is not due yet, or the answer is not whole."""
        return self.claimed.shown_from is not None and (not self.persisted or now < self.claimed.shown_from)

    def next_delta(self, seconds: float, now: datetime, interval: float = FLUSH_INTERVAL) -> Delta | None:
        """Return the next piece of text to store, `seconds` after the previous call; None if there is none.

        `interval` is the number of seconds between two calls now. A longer pause does not speed up the text after it.
        """
        pace = self.claimed.pace_of(self.answer)
        if self.ending:
            size = len(self.pending)
        elif self.is_delayed(now):
            size = 0
        elif pace is None or not self.claimed.live:
            size = len(self.pending)
        else:
            self.credit = min(self.credit + pace * seconds, 2 * pace * interval)
            size = min(len(self.pending), int(self.credit))
            self.credit -= size
        if not size:
            return None
        text, self.pending = self.pending[:size], self.pending[size:]
        self.seq += 1
        return Delta(self.claimed.pk, self.claimed.attempt, self.seq, text)

    def has_progressed(self) -> bool:
        """Return whether the answer is longer than that of any call before; a repeated beginning is not progress."""
        size = len(self.answer.text) + len(self.answer.reasoning)
        longer = size > self.furthest
        self.furthest = max(size, self.furthest)
        return longer

    def restore(self, delta: Delta) -> None:
        """Put a piece that could not be stored back before the text that arrived later."""
        self.pending = delta.text + self.pending
        self.seq -= 1


class Streamer:
    """The loop that writes replies. `limit` is the number of replies written at once."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.logged_at = -_LOG_INTERVAL
        self.active: dict[int, ActiveReply] = {}
        self.providers: dict[tuple[str, str], Provider] = {}
        self.model_tests: set[asyncio.Task[None]] = set()
        self.drafts: set[asyncio.Task[None]] = set()
        self.draft_checks: set[asyncio.Task[None]] = set()
        self.text_waiting = asyncio.Event()
        self.replies_waiting = asyncio.Event()
        self.flushing = asyncio.Lock()
        self.flushed_at = 0.0
        self.flush_interval = FLUSH_INTERVAL
        self.renewed_at = 0.0

    async def run(self) -> None:
        """Write replies until cancelled. Another streamer takes over those that are unfinished then."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._listen())
                group.create_task(self._claim())
                group.create_task(self._flush_regularly())
                group.create_task(self._send_heartbeats())
        finally:
            for reply in self.active.values():
                if reply.task is not None:
                    reply.task.cancel()
            for task in self.model_tests | self.drafts | self.draft_checks:
                task.cancel()
            for provider in self.providers.values():
                await provider.aclose()

    async def _send_heartbeats(self) -> None:
        heartbeat = Heartbeat(Process.Kind.STREAMER)
        try:
            while True:
                with contextlib.suppress(DatabaseError):  # the next heartbeat may find the database again
                    await sync_to_async(heartbeat.send)(self._doing())
                await asyncio.sleep(HEARTBEAT_INTERVAL)
        finally:
            with contextlib.suppress(DatabaseError):
                await sync_to_async(heartbeat.end)()

    def _doing(self) -> str:
        """Return the numbers of calls in progress by kind, in words; "" without any."""
        counts = [
            (len(self.active), "reply", "replies"),
            (len(self.model_tests), "model test", "model tests"),
            (len(self.drafts), "model draft", "model drafts"),
            (len(self.draft_checks), "draft check", "draft checks"),
        ]
        return ", ".join(f"{count} {one if count == 1 else many}" for count, one, many in counts if count)

    async def _listen(self) -> None:
        """Receive notifications of new replies. Without the message server, the regular searches find them."""
        while True:
            try:
                layer = get_channel_layer()
                channel = await layer.new_channel()
                await layer.group_add(STREAMERS, channel)
                while True:
                    await layer.receive(channel)
                    self.replies_waiting.set()
                    self.text_waiting.set()
            except (RedisError, OSError) as error:
                logger.warning("notifications are unavailable: %s", error)
                await asyncio.sleep(1)

    async def _claim(self) -> None:
        while True:
            free = self.limit - len(self.active)
            if free:
                for claimed in await self._stored(partial(claim_replies, free, tuple(self.active))):
                    reply = ActiveReply.of(claimed)
                    self.active[claimed.pk] = reply
                    reply.task = asyncio.create_task(self._write(reply))
            for test in await self._stored(claim_tests):
                self._begin(self.model_tests, perform_test(test))
            for request in await self._stored(claim_drafts):
                self._begin(self.drafts, write_draft(request, self._provider))
            for check in await self._stored(claim_draft_checks):
                self._begin(self.draft_checks, check_draft(check, self._provider))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(
                    _CLAIM_INTERVAL
                ):  # `wait_for` may swallow a cancellation (Python 3.11)
                    await self.replies_waiting.wait()
            self.replies_waiting.clear()

    @staticmethod
    def _begin(tasks: set[asyncio.Task[None]], work: Coroutine[object, object, None]) -> None:
        """Begin the work, and keep its task in the set until it ends."""
        task = asyncio.create_task(work)
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    async def _provider(self, spec: ModelSpec) -> Provider:
        """Return the open provider of the model. Raises ProviderError."""
        server = (spec.provider, spec.endpoint)
        if server not in self.providers:
            self.providers[server] = await asyncio.to_thread(open_provider, spec)
        return self.providers[server]

    async def _stored(self, write: Callable[[], T]) -> T:
        """Return what `write` returns; repeat it until the database accepts it, for example after the disk was full."""
        while True:
            try:
                return await sync_to_async(write)()
            except DatabaseError as error:
                await self._wait_for_database(error)

    async def _wait_for_database(self, error: DatabaseError) -> None:
        """Report the error in the log now and then, and on the pages of waiting tutors always; then wait."""
        if time.monotonic() - self.logged_at >= _LOG_INTERVAL:
            self.logged_at = time.monotonic()
            logger.error("the database refuses statements, which are repeated: %s", error)
        waiting = [str(reply.claimed.session_id) for reply in self.active.values()]
        if waiting:
            await notify_storage_delay(waiting)
        await asyncio.sleep(_RETRY_INTERVAL)

    async def _write(self, reply: ActiveReply) -> None:
        """Write one reply and end it with an event, also after an error."""
        try:
            try:
                end = await self._reply(reply)
            except asyncio.CancelledError:
                if not reply.stopping:
                    raise
                if reply.claimed.is_paced:
                    reply.pending = ""  # text that the tutor has not seen is not part of a stopped reply
                end = partial(finish_reply, answer=reply.answer, stopped=True)
            await self._end(reply, end)
        finally:
            self.active.pop(reply.claimed.pk, None)

    async def _reply(self, reply: ActiveReply) -> Callable[[ClaimedReply], None]:
        """Call the model, show the answer when it is due, and return the function that ends the reply."""
        end: Callable[..., None] = finish_reply
        try:
            if not reply.persisted:
                await self._stored(partial(refuse_over_cap, reply.claimed))
                await self._stream(reply)
                if reply.claimed.is_paced:
                    await self._stored(partial(persist_answer, reply.claimed, reply.answer))
                    reply.persisted = True
        except CapReachedError:
            end = partial(fail_reply, kind=SPENDING_LIMIT, message=NOT_CALLED)
        except ProviderError as error:
            end = partial(fail_reply, kind=error.kind, message=error.message)
        except Exception as error:
            logger.exception("reply %s failed", reply.claimed.pk)
            end = partial(fail_reply, kind="unknown", message=f"{type(error).__name__} in the streamer")
        reply.answer.ended_at = reply.answer.ended_at or timezone.now().isoformat()
        await self._show(reply)
        return partial(end, answer=reply.answer)

    async def _show(self, reply: ActiveReply) -> None:
        """Return when the tutor has the whole text; for a delayed reply not before it is due."""
        claimed = reply.claimed
        if claimed.shown_from is not None:
            if not reply.persisted:
                reply.pending = ""  # the text of a failed delayed answer is never shown
            await asyncio.sleep((claimed.shown_from - reply.now()).total_seconds())
        while reply.pending and claimed.is_paced:
            self.text_waiting.set()
            await asyncio.sleep(FLUSH_INTERVAL)

    async def _stream(self, reply: ActiveReply) -> None:
        """Collect the model's answer. Raises ProviderError, also after REPLY_TIMEOUT seconds without new text."""
        spec = parse_model_spec(reply.claimed.model_spec)
        provider = await self._provider(spec)
        parameters = reply.claimed.parameters
        if draws_by_seed(spec):
            parameters = replace(parameters, seed=draw_seed(f"reply {reply.claimed.pk}", parameters.seed))
        try:
            async with asyncio.timeout(settings.REPLY_TIMEOUT) as limit:
                retry = RetryPolicy(
                    longest=settings.REPLY_TIMEOUT,
                    announce=partial(_on_wait, reply),
                    sleep=partial(self._pause, reply, limit),
                )
                messages = reply.claimed.messages
                events = stream_with_retries(provider, spec.model, messages, parameters, retry=retry)
                async for event in events:
                    await self._take(reply, event, limit)
        except TimeoutError:
            waited = f"no new text for {settings.REPLY_TIMEOUT} s (REPLY_TIMEOUT)"
            last = f"; the last call failed: {reply.failure}" if reply.failure else ""
            raise ProviderError("timeout", f"{waited}, call {reply.calls}{last}") from None
        if reply.answer.completed is None:
            raise ProviderError("connection", "the stream ended without a finish marker", retryable=False)

    async def _take(self, reply: ActiveReply, event: StreamEvent | Restarted, limit: asyncio.Timeout) -> None:
        """Add an event of the provider to the answer; new text extends the limit."""
        match event:
            case TextDelta(text):
                reply.answer.first_text_at = reply.answer.first_text_at or timezone.now().isoformat()
                reply.answer.text += text
                reply.pending += text
                if reply.claimed.shown_from is None:
                    self.text_waiting.set()
            case ReasoningDelta(text):
                reply.answer.reasoning += text
            case Restarted(error):
                await self._restart(reply, limit, error)
            case Completed():
                reply.answer.completed = event
                reply.answer.ended_at = timezone.now().isoformat()
        if reply.has_progressed():
            end = asyncio.get_running_loop().time() + settings.REPLY_TIMEOUT
            if end - (limit.when() or 0.0) > _LIMIT_PRECISION:
                limit.reschedule(end)

    async def _pause(self, reply: ActiveReply, limit: asyncio.Timeout, seconds: float) -> None:
        """Store the number of the next call and the time at which the reply is given up, then wait."""
        reply.calls += 1
        reply.answer.calls_broken_off += reply.broken_off
        left = (limit.when() or 0.0) - asyncio.get_running_loop().time()
        record = partial(record_call, reply.claimed, reply.calls, left, broken_off=reply.broken_off)
        await self._stored_without_limit(limit, record)
        await asyncio.sleep(seconds)

    async def _restart(self, reply: ActiveReply, limit: asyncio.Timeout, error: ProviderError) -> None:
        # A flush between the new attempt in the row and in `reply.claimed` would find the reply lost.
        async with self.flushing:
            restart = partial(restart_reply, reply.claimed, error.message, reply.answer.text)
            claimed = await self._stored_without_limit(limit, restart)
            if claimed is None:
                reply.lost = True
                raise asyncio.CancelledError
            reply.claimed = claimed
            reply.answer = ModelAnswer(calls_broken_off=reply.answer.calls_broken_off)
            reply.restarted_by = error
            reply.pending = ""
            reply.seq = 0

    async def _stored_without_limit(self, limit: asyncio.Timeout, write: Callable[[], T]) -> T:
        """Return what `write` returns. The limit does not end a write, whose outcome would be unknown."""
        loop, when = asyncio.get_running_loop(), limit.when() or 0.0
        begun = loop.time()
        limit.reschedule(None)
        stored = await self._stored(write)
        limit.reschedule(when + loop.time() - begun)
        return stored

    async def _end(self, reply: ActiveReply, write: Callable[[ClaimedReply], None]) -> None:
        if reply.lost:
            return
        reply.ending = True
        await self._flush()
        while reply.pending:
            await self._flush()
        await self._stored(partial(write, reply.claimed))

    async def _flush_regularly(self) -> None:
        """Store text regularly, without delay after a pause, and renew leases."""
        while True:
            with contextlib.suppress(TimeoutError):
                timeout = _STOP_CHECK_INTERVAL if self.active else HEARTBEAT
                async with asyncio.timeout(timeout):  # `wait_for` may swallow a cancellation (Python 3.11)
                    await self.text_waiting.wait()
            since_flush = time.monotonic() - self.flushed_at
            if since_flush < self.flush_interval:
                await asyncio.sleep(self.flush_interval - since_flush)
            if self.active:
                begun = time.monotonic()
                await self._flush()
                longer = 2 * (time.monotonic() - begun)
                self.flush_interval = min(max(FLUSH_INTERVAL, longer), _LONGEST_FLUSH_INTERVAL)
            else:
                self.text_waiting.clear()  # by a reply that has ended; otherwise this loop would never wait again

    async def _flush(self) -> None:
        """Store the text that has arrived, send it to the pages, and end replies that were stopped or lost.

        Text that the database refuses stays in memory and is stored later.
        """
        async with self.flushing:
            now = time.monotonic()
            passed, self.flushed_at = now - self.flushed_at, now
            self.text_waiting.clear()
            taken = [
                (reply, delta)
                for reply in self.active.values()
                if (delta := reply.next_delta(passed, reply.now(), self.flush_interval)) is not None
            ]
            deltas = [delta for _, delta in taken]
            streaming = [(reply.claimed.pk, reply.claimed.attempt) for reply in self.active.values()]
            renew = now - self.renewed_at > HEARTBEAT
            try:
                stopped, lost = await sync_to_async(append_deltas)(deltas, streaming, renew)
            except DatabaseError as error:
                for reply, delta in taken:
                    reply.restore(delta)
                await self._wait_for_database(error)
                return
            if renew:
                self.renewed_at = now
            if any(reply.pending and not reply.is_delayed(reply.now()) for reply in self.active.values()):
                self.text_waiting.set()
        chunks = [
            TextChunk(
                str(reply.claimed.session_id),
                delta.reply_id,
                reply.claimed.shown_attempt,
                delta.seq,
                delta.text,
            )
            for reply, delta in taken
            if reply.claimed.live and delta.reply_id not in lost
        ]
        if chunks:
            await notify_text(chunks)
        for reply in list(self.active.values()):
            pk = reply.claimed.pk
            ended = reply.stopping or reply.ending or reply.lost
            if pk in stopped | lost and reply.task is not None and not ended:
                reply.lost = pk in lost
                reply.stopping = pk in stopped
                reply.task.cancel()


def _on_wait(reply: ActiveReply, seconds: float, error: ProviderError) -> None:
    reply.failure = error.message
    reply.broken_off = error is not reply.restarted_by and may_be_billed(error.kind)
    logger.warning(
        "reply %s waits %.0f seconds before its model is called again: %s",
        reply.claimed.pk,
        seconds,
        error.kind,
    )
