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
    TextDelta,
    open_provider,
    parse_model_spec,
    stream_with_retries,
)
from tutoring.actions import (
    ClaimedReply,
    Delta,
    append_deltas,
    claim_replies,
    fail_reply,
    finish_reply,
    record_verdict,
    remind_of_near_misses,
    restart_reply,
)
from tutoring.doorbell import STREAMERS, Piece, pass_text_on
from tutoring.models import Session

logger = logging.getLogger(__name__)

FLUSH = 0.05
"""Seconds between two transactions that store streamed text."""

LOOK_FOR_STOPS = 0.1
"""Seconds between looks whether a reply that says nothing is to be stopped."""

AFTER_A_FAULT = 1.0
"""Seconds until a database that refused is asked again."""

RENEWAL = 2.0
"""Seconds after which a silent reply's lease is renewed; well below tutoring.actions.streaming.LEASE."""

LOOK = 0.5
"""Seconds between looks for waiting replies without a doorbell."""

SWEEP = 5.0
"""Seconds between looks for verdicts that nobody recorded."""


@dataclass
class Chat:
    """One reply this process is writing."""

    claimed: ClaimedReply
    pending: str = ""
    """Text that has arrived and is not stored."""
    allowance: float = 0.0
    """Characters that an even pace lets through now."""
    seq: int = 0
    received_at: datetime | None = None
    """When the model's last word came."""
    reasoning: list[str] = field(default_factory=list)
    task: asyncio.Task[None] | None = None
    stopping: bool = False
    ending: bool = False
    lost: bool = False

    def take(self, seconds: float) -> Delta | None:
        """The next piece of text to store, `seconds` after the last look; None when there is none."""
        pace = self.claimed.characters_per_second
        if pace is None or self.ending or not self.claimed.live:
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
            except (RedisError, OSError) as error:
                logger.warning("the doorbell is out of order: %s", error)
                await asyncio.sleep(1)

    async def _claim(self) -> None:
        while True:
            free = self.limit - len(self.chats)
            if free:
                for claimed in await self._waiting_replies(free):
                    chat = Chat(claimed)
                    self.chats[claimed.pk] = chat
                    chat.task = asyncio.create_task(self._write(chat))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.replies_waiting.wait(), LOOK)
            self.replies_waiting.clear()

    async def _waiting_replies(self, free: int) -> list[ClaimedReply]:
        try:
            return await sync_to_async(claim_replies)(free)
        except DatabaseError:
            logger.exception("no reply can be claimed")
            await asyncio.sleep(AFTER_A_FAULT)
            return []

    async def _write(self, chat: Chat) -> None:
        """Ask the model for one reply and end it with an event, whatever happens."""
        try:
            completed = await self._stream(chat)
        except ProviderError as error:
            await self._end(chat, partial(fail_reply, kind=error.kind, message=error.message))
        except asyncio.CancelledError:
            if not chat.stopping:
                raise
            if chat.claimed.characters_per_second is not None:
                chat.pending = ""  # what the tutor has not seen was not said
            await self._end(chat, partial(finish_reply, reasoning="".join(chat.reasoning), completed=None))
        except Exception as error:
            logger.exception("reply %s failed", chat.claimed.pk)
            message = f"{type(error).__name__} in the streamer"
            await self._end(chat, partial(fail_reply, kind="unknown", message=message))
        else:
            finish = partial(
                finish_reply,
                reasoning="".join(chat.reasoning),
                completed=completed,
                received_at=chat.received_at,
            )
            await self._end(chat, finish)
        finally:
            self.chats.pop(chat.claimed.pk, None)

    async def _stream(self, chat: Chat) -> Completed:
        spec = parse_model_spec(chat.claimed.model_spec)
        provider = self.providers.get(spec.provider)
        if provider is None:
            provider = self.providers[spec.provider] = await asyncio.to_thread(open_provider, spec)
        parameters = Parameters()
        async for event in stream_with_retries(provider, spec.model, chat.claimed.messages, parameters):
            match event:
                case TextDelta(text):
                    chat.pending += text
                    self.text_waiting.set()
                case ReasoningDelta(text):
                    chat.reasoning.append(text)
                case Restarted(error):
                    await self._restart(chat, error)
                case Completed():
                    chat.received_at = timezone.now()
                    while chat.pending and chat.claimed.characters_per_second and chat.claimed.live:
                        self.text_waiting.set()
                        await asyncio.sleep(FLUSH)
                    return event
        raise ProviderError("connection", "the stream ended without a finish marker", retryable=False)

    async def _restart(self, chat: Chat, error: ProviderError) -> None:
        await self._flush()
        claimed = await sync_to_async(restart_reply)(chat.claimed, error.message)
        if claimed is None:
            chat.lost = True
            raise asyncio.CancelledError
        chat.claimed = claimed
        chat.pending = ""
        chat.reasoning.clear()
        chat.seq = 0

    async def _end(self, chat: Chat, write: Callable[[ClaimedReply], None]) -> None:
        if chat.lost:
            return
        chat.ending = True
        while True:
            await self._flush()
            try:
                if not chat.pending:
                    await sync_to_async(write)(chat.claimed)
                    return
            except DatabaseError:
                logger.exception("reply %s cannot be recorded yet", chat.claimed.pk)
            await asyncio.sleep(AFTER_A_FAULT)

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
            taken = [
                (chat, delta) for chat in self.chats.values() if (delta := chat.take(passed)) is not None
            ]
            deltas = [delta for _, delta in taken]
            streaming = [(chat.claimed.pk, chat.claimed.attempt) for chat in self.chats.values()]
            renew = now - self.renewed_at > RENEWAL
            try:
                stopped, lost = await sync_to_async(append_deltas)(deltas, streaming, renew)
            except DatabaseError:
                logger.exception("streamed text cannot be stored yet")
                for chat, delta in taken:
                    chat.take_back(delta)
                await asyncio.sleep(AFTER_A_FAULT)
                return
            if renew:
                self.renewed_at = now
            if any(chat.pending for chat in self.chats.values()):
                self.text_waiting.set()
        pieces = [
            Piece(str(chat.claimed.session_id), delta.reply_id, delta.attempt, delta.seq, delta.text)
            for chat, delta in taken
            if chat.claimed.live and delta.reply_id not in lost
        ]
        if pieces:
            await pass_text_on(pieces)
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
            try:
                await sync_to_async(_record_forgotten_verdicts)()
                await sync_to_async(remind_of_near_misses)()
            except DatabaseError:
                logger.exception("no look for forgotten work")


def _record_forgotten_verdicts() -> None:
    done = (Judgement.State.DONE, Judgement.State.FAILED)
    waiting = Session.objects.filter(state=Session.State.JUDGING, judgement__state__in=done)
    for session in waiting.select_related("judgement"):
        if session.judgement is not None:
            record_verdict(session.judgement)
