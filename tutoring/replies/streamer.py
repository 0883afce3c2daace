"""The streamer: claims waiting replies, asks the models, and writes their text into the database as it comes.

One process serves many chats: all text that arrived in the last 50 ms is stored in one transaction, then
passed on by doorbell. What a killed streamer had claimed is taken over when its lease ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import TypeVar

from asgiref.sync import sync_to_async
from channels.layers import get_channel_layer
from django.db import DatabaseError
from django.utils import timezone
from redis import RedisError

from benchmark.models import Judgement
from benchmark.providers import (
    Completed,
    Parameters,
    Provider,
    ProviderError,
    ReasoningDelta,
    Restarted,
    Retry,
    TextDelta,
    open_provider,
    parse_model_spec,
    stream_with_retries,
)
from tutoring.actions import record_verdict
from tutoring.models import Session
from tutoring.notifications import STREAMERS, TextChunk, notify_storage_delay, notify_text
from tutoring.replies.answers import Answer
from tutoring.replies.streaming import (
    ClaimedReply,
    Delta,
    append_deltas,
    claim_replies,
    fail_reply,
    finish_reply,
    keep_answer,
    restart_reply,
)
from tutoring.scores.near_misses import remind_of_near_misses

logger = logging.getLogger(__name__)

T = TypeVar("T")

FLUSH = 0.05
"""Seconds between two transactions that store streamed text."""

LOOK_FOR_STOPS = 0.1
"""Seconds between looks whether a reply that says nothing is to be stopped."""

AFTER_A_FAULT = 1.0
"""Seconds until a database that refused is asked again."""

COMPLAINT = 60.0
"""Seconds between two lines of the log that say so."""

RENEWAL = 2.0
"""Seconds after which a silent reply's lease is renewed; well below tutoring.replies.streaming.LEASE."""

LOOK = 0.5
"""Seconds between looks for waiting replies without a doorbell."""

SWEEP = 5.0
"""Seconds between looks for verdicts that nobody recorded."""


@dataclass
class Chat:
    """One reply this process is writing."""

    claimed: ClaimedReply
    answer: Answer = field(default_factory=Answer)
    pending: str = ""
    """Text that has arrived and is not handed out."""
    kept: bool = False
    """The answer is whole, and stored."""
    allowance: float = 0.0
    """Characters that an even pace lets through now."""
    seq: int = 0
    task: asyncio.Task[None] | None = None
    stopping: bool = False
    ending: bool = False
    lost: bool = False

    @classmethod
    def of(cls, claimed: ClaimedReply) -> Chat:
        """A reply to be written, or to be handed out further where its answer is whole already."""
        if claimed.answer is None:
            return cls(claimed)
        pending = claimed.answer.text[claimed.shown :]
        return cls(claimed, claimed.answer, pending, kept=True, seq=claimed.seq)

    def held(self, now: datetime) -> bool:
        """Whether the protocol lets no word be seen yet: its time has not come, or the answer is not whole."""
        return self.claimed.shown_from is not None and (not self.kept or now < self.claimed.shown_from)

    def take(self, seconds: float, now: datetime) -> Delta | None:
        """The next piece of text to store, `seconds` after the last look; None when there is none."""
        pace = self.claimed.characters_per_second
        if self.ending:
            size = len(self.pending)
        elif self.held(now):
            size = 0
        elif pace is None or not self.claimed.live:
            size = len(self.pending)
        else:
            self.allowance = min(self.allowance + pace * seconds, 2 * pace * FLUSH)
            size = min(len(self.pending), int(self.allowance))
            self.allowance -= size
        if not size:
            return None
        text, self.pending = self.pending[:size], self.pending[size:]
        self.seq += 1
        return Delta(self.claimed.pk, self.claimed.attempt, self.seq, text)

    def take_back(self, delta: Delta) -> None:
        """What could not be stored waits again, before what came later."""
        self.pending = delta.text + self.pending
        self.seq -= 1


class Streamer:
    """The loop and its chats. `limit` is the number of replies written at once."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.complained_at = -COMPLAINT
        self.chats: dict[int, Chat] = {}
        self.providers: dict[str, Provider] = {}
        self.text_waiting = asyncio.Event()
        self.replies_waiting = asyncio.Event()
        self.flushing = asyncio.Lock()
        self.flushed_at = 0.0
        self.renewed_at = 0.0

    async def run(self) -> None:
        """Serve until cancelled. What is unfinished then is taken over by the next streamer."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._listen())
                group.create_task(self._claim())
                group.create_task(self._flush_regularly())
                group.create_task(self._sweep())
        finally:
            for chat in self.chats.values():
                if chat.task is not None:
                    chat.task.cancel()
            for provider in self.providers.values():
                await provider.aclose()

    async def _listen(self) -> None:
        """Hear the doorbell of new replies; without the message server, looking regularly is enough."""
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
                logger.warning("the doorbell is out of order: %s", error)
                await asyncio.sleep(1)

    async def _claim(self) -> None:
        while True:
            free = self.limit - len(self.chats)
            if free:
                for claimed in await self._stored(partial(claim_replies, free, tuple(self.chats))):
                    chat = Chat.of(claimed)
                    self.chats[claimed.pk] = chat
                    chat.task = asyncio.create_task(self._write(chat))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.replies_waiting.wait(), LOOK)
            self.replies_waiting.clear()

    async def _stored(self, write: Callable[[], T]) -> T:
        """What `write` returns, tried until the database takes it: a full disk has room again one day."""
        while True:
            try:
                return await sync_to_async(write)()
            except DatabaseError as error:
                await self._wait_for_the_database(error)

    async def _wait_for_the_database(self, error: DatabaseError) -> None:
        """Say it now and then in the log, which may be on the same full disk, and always to who waits for a reply."""
        if time.monotonic() - self.complained_at >= COMPLAINT:
            self.complained_at = time.monotonic()
            logger.error("the database refuses what is to be stored; it is tried again: %s", error)
        waiting = [str(chat.claimed.session_id) for chat in self.chats.values()]
        if waiting:
            await notify_storage_delay(waiting)
        await asyncio.sleep(AFTER_A_FAULT)

    async def _write(self, chat: Chat) -> None:
        """Write one reply and end it with an event, whatever happens."""
        try:
            try:
                end = await self._reply(chat)
            except asyncio.CancelledError:
                if not chat.stopping:
                    raise
                if chat.claimed.waits:
                    chat.pending = ""  # what the tutor has not seen was not said
                end = partial(finish_reply, answer=chat.answer, stopped=True)
            await self._end(chat, end)
        finally:
            self.chats.pop(chat.claimed.pk, None)

    async def _reply(self, chat: Chat) -> Callable[[ClaimedReply], None]:
        """Ask the model, let the tutor have the answer when it is due, and return what ends the reply."""
        end: Callable[..., None] = finish_reply
        try:
            if not chat.kept:
                await self._stream(chat)
                if chat.claimed.waits:
                    await self._stored(partial(keep_answer, chat.claimed, chat.answer))
                    chat.kept = True
        except ProviderError as error:
            end = partial(fail_reply, kind=error.kind, message=error.message)
        except Exception as error:
            logger.exception("reply %s failed", chat.claimed.pk)
            end = partial(fail_reply, kind="unknown", message=f"{type(error).__name__} in the streamer")
        chat.answer.ended_at = chat.answer.ended_at or timezone.now().isoformat()
        await self._hand_out(chat)
        return partial(end, answer=chat.answer)

    async def _hand_out(self, chat: Chat) -> None:
        """Returns when the tutor has all that is to be seen, of a held reply not before its time."""
        claimed = chat.claimed
        if claimed.shown_from is not None:
            if not chat.kept:
                chat.pending = ""  # of a failed answer nothing was seen, and nothing will be
            await asyncio.sleep((claimed.shown_from - timezone.now()).total_seconds())
        while chat.pending and claimed.waits:
            self.text_waiting.set()
            await asyncio.sleep(FLUSH)

    async def _stream(self, chat: Chat) -> None:
        """Collect the model's answer. Raises ProviderError."""
        spec = parse_model_spec(chat.claimed.model_spec)
        provider = self.providers.get(spec.provider)
        if provider is None:
            provider = self.providers[spec.provider] = await asyncio.to_thread(open_provider, spec)
        parameters = Parameters()
        retry = Retry(announce=partial(_log_wait, chat.claimed.pk))
        events = stream_with_retries(provider, spec.model, chat.claimed.messages, parameters, retry=retry)
        async for event in events:
            match event:
                case TextDelta(text):
                    chat.answer.first_text_at = chat.answer.first_text_at or timezone.now().isoformat()
                    chat.answer.text += text
                    chat.pending += text
                    if chat.claimed.shown_from is None:
                        self.text_waiting.set()
                case ReasoningDelta(text):
                    chat.answer.reasoning += text
                case Restarted(error):
                    await self._restart(chat, error)
                case Completed():
                    chat.answer.completed = event
                    chat.answer.ended_at = timezone.now().isoformat()
                    return
        raise ProviderError("connection", "the stream ended without a finish marker", retryable=False)

    async def _restart(self, chat: Chat, error: ProviderError) -> None:
        async with (
            self.flushing
        ):  # a flush between the row's new attempt and ours would take the reply for lost
            restart = partial(restart_reply, chat.claimed, error.message, chat.answer.text)
            claimed = await self._stored(restart)
            if claimed is None:
                chat.lost = True
                raise asyncio.CancelledError
            chat.claimed = claimed
            chat.answer = Answer()
            chat.pending = ""
            chat.seq = 0

    async def _end(self, chat: Chat, write: Callable[[ClaimedReply], None]) -> None:
        if chat.lost:
            return
        chat.ending = True
        await self._flush()
        while chat.pending:
            await self._flush()
        await self._stored(partial(write, chat.claimed))

    async def _flush_regularly(self) -> None:
        """Store text at most every FLUSH seconds, at once after a silence, and renew leases meanwhile."""
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.text_waiting.wait(), LOOK_FOR_STOPS if self.chats else RENEWAL)
            silent = time.monotonic() - self.flushed_at
            if silent < FLUSH:
                await asyncio.sleep(FLUSH - silent)
            if self.chats:
                await self._flush()

    async def _flush(self) -> None:
        """Store what has arrived, pass it on, and act on what the rows say about our replies.

        What a full disk or a lost database refuses is kept here and tried again.
        """
        async with self.flushing:
            now = time.monotonic()
            passed, self.flushed_at = now - self.flushed_at, now
            self.text_waiting.clear()
            clock = timezone.now()
            taken = [
                (chat, delta)
                for chat in self.chats.values()
                if (delta := chat.take(passed, clock)) is not None
            ]
            deltas = [delta for _, delta in taken]
            streaming = [(chat.claimed.pk, chat.claimed.attempt) for chat in self.chats.values()]
            renew = now - self.renewed_at > RENEWAL
            try:
                stopped, lost = await sync_to_async(append_deltas)(deltas, streaming, renew)
            except DatabaseError as error:
                for chat, delta in taken:
                    chat.take_back(delta)
                await self._wait_for_the_database(error)
                return
            if renew:
                self.renewed_at = now
            if any(chat.pending and not chat.held(clock) for chat in self.chats.values()):
                self.text_waiting.set()
        pieces = [
            TextChunk(
                str(chat.claimed.session_id),
                delta.reply_id,
                chat.claimed.shown_attempt,
                delta.seq,
                delta.text,
            )
            for chat, delta in taken
            if chat.claimed.live and delta.reply_id not in lost
        ]
        if pieces:
            await notify_text(pieces)
        for chat in list(self.chats.values()):
            pk = chat.claimed.pk
            ended = chat.stopping or chat.ending or chat.lost
            if pk in stopped | lost and chat.task is not None and not ended:
                chat.lost = pk in lost
                chat.stopping = pk in stopped
                chat.task.cancel()

    async def _sweep(self) -> None:
        """Record verdicts whose worker died between judging and telling."""
        while True:
            await asyncio.sleep(SWEEP)
            await self._stored(_record_forgotten_verdicts)
            await self._stored(remind_of_near_misses)


def _record_forgotten_verdicts() -> None:
    done = (Judgement.State.DONE, Judgement.State.FAILED)
    waiting = Session.objects.filter(state=Session.State.JUDGING, judgement__state__in=done)
    for session in waiting.select_related("judgement"):
        if session.judgement is not None:
            record_verdict(session.judgement)


def _log_wait(reply_id: int, seconds: float, error: ProviderError) -> None:
    logger.warning(
        "reply %s waits %.0f seconds before its model is called again: %s", reply_id, seconds, error
    )
