"""The WebSocket of the session page. It sends events and text; from the browser it accepts sync requests only.

Commands are sent by HTTP (tutoring.views.sessions), so a broken socket never loses one.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncJsonWebsocketConsumer
from django.contrib.auth import get_user
from django.db import DatabaseError
from django.http import HttpRequest
from pydantic import BaseModel, Field, ValidationError

from accounts.roles import Role, has_role
from accounts.sessions import SessionStore
from benchmark.rendering.markdown_stream import RenderedBlocks
from tutoring.models import Event, Reply, Session
from tutoring.models.payloads import ReplyFailed, ReplyFinished
from tutoring.notifications import TextChunk, person_group, session_group
from tutoring.notifications.chunk_broadcaster import chunk_broadcaster
from tutoring.protocols import rules_of_session
from tutoring.sessions.conversation import (
    PageView,
    PartialReply,
    active_reply,
    chunks_after,
    event_view,
    reply_outage,
    session_for_tutor,
    shown_events,
    tutor_view,
    waiting_for_judge,
)
from tutoring.sessions.masking import Names, names_of
from tutoring.sessions.reply_stream import ReplyStream

logger = logging.getLogger(__name__)

POLL_SECONDS = 2.0
"""Seconds without text or a notification after which the rows are read: one of them may be lost."""

TICK_SECONDS = 1.0
"""Seconds between two looks at the time."""

LOGIN_CHECK_SECONDS = 15.0
"""Seconds between two checks that the person may still read the session, if no notification requests one. Events are
never sent without a check."""

MAXIMUM_CHUNKS = 40
"""Chunks that are queued for a slow browser. Beyond that the browser gets the whole text instead."""

TRY_AGAIN_LATER = 1013
"""Close code of a socket whose events cannot be read now; the page reconnects."""

MAXIMUM_REQUEST = 1_000
"""Characters of one request of the browser."""

NOT_LOGGED_IN, FORBIDDEN, NOT_FOUND = 4401, 4403, 4404

Message = dict[str, Any]


class SyncRequest(BaseModel):
    """A request for everything after event number `after`, and for the whole text of the active reply."""

    op: Literal["sync"]
    after: Annotated[int, Field(ge=0, lt=2**31)]


@dataclass
class Cursor:
    """The position of the browser: a number of events, and of the unfinished reply the chunks up to `seq`."""

    event: int = 0
    reply: int | None = None
    attempt: int = 0
    seq: int = 0
    calls: int = 0
    """The number of the provider call that was last sent to the browser."""
    is_new: bool = True
    """Whether the browser's request is unanswered. The answer contains the status: an earlier one may be lost."""


class SessionConsumer(AsyncJsonWebsocketConsumer):
    """The socket of one browser tab on one session."""

    session_id: UUID
    session: Session
    """The session as it was when the rows were read last."""
    cursor: Cursor | None = None
    last_activity = 0.0
    """Monotonic time at which text of the reply arrived, or the rows were read for it."""
    last_check = 0.0
    """Monotonic time of the last check of the person's permission."""
    dirty = False
    """Whether the rows may contain something new."""
    names: Names | None = None
    """What is masked in replies; None if nothing is."""
    stream: ReplyStream
    """Masks and renders the chunks of the reply that the cursor points to."""
    waiting: str | None = None
    """What the page says about the queue of the judge; None if it is unknown."""
    outage: datetime | None = None
    """Since when the page says that no process can write the reply; None if it does not say so."""
    storage_delayed = False
    """Whether the browser must be notified that text cannot be stored now."""

    async def connect(self) -> None:
        self.session_id = self.scope["url_route"]["kwargs"]["session_id"]
        self.pending = asyncio.Event()
        self.chunks: list[TextChunk] = []
        self.stream = ReplyStream(None)
        await self.accept()
        code, _, _ = await self._read(check=True, updates=False)
        if code:
            await self.close(code)
            return
        # The base class leaves these groups when the socket closes.
        self.groups = [session_group(self.session_id), person_group(self.user.pk)]
        for group in self.groups:
            await self.channel_layer.group_add(group, self.channel_name)
        chunk_broadcaster.subscribe(str(self.session_id), self)
        self.sender = asyncio.create_task(self._run())
        self._tick()

    async def disconnect(self, _: int) -> None:
        if hasattr(self, "sender"):
            chunk_broadcaster.unsubscribe(str(self.session_id), self)
            self.ticker.cancel()
            self.sender.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self.sender

    async def receive(self, text_data: str | None = None, **_: Any) -> None:
        """Accept a SyncRequest; answer anything else with an error."""
        try:
            if text_data is None or len(text_data) > MAXIMUM_REQUEST:
                raise ValueError(f"a request is text of at most {MAXIMUM_REQUEST} characters")
            request = SyncRequest.model_validate_json(text_data)
        except ValueError as error:
            fault = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
            await self.send_json({"type": "error", "message": f"invalid request: {fault}"})
            return
        # Chunks are masked and rendered from the beginning of a reply, so the browser gets its whole text.
        self.cursor = Cursor(request.after)
        self.request_refresh()

    async def session_changed(self, _: Message) -> None:
        """Handle the notification that the session has new events, or that logins of the person have ended."""
        self.request_refresh()

    def on_chunk(self, chunk: TextChunk) -> None:
        """Queue the chunk for the tab's own task, so that a slow browser does not delay the others."""
        if len(self.chunks) >= MAXIMUM_CHUNKS:
            self.chunks.clear()
            self.cursor = replace(self.cursor, reply=None) if self.cursor else None
            self.request_refresh()
        self.chunks.append(chunk)
        self.pending.set()

    def on_storage_delay(self) -> None:
        """Queue the message that text cannot be stored now."""
        self.storage_delayed = True
        self.pending.set()

    def request_refresh(self) -> None:
        """Request a read of the rows as soon as possible."""
        self.dirty = True
        self.pending.set()

    def _tick(self) -> None:
        """Let the tab's task look at the time regularly. A timeout of each wait would cost more than its message."""
        self.pending.set()
        self.ticker = asyncio.get_running_loop().call_later(TICK_SECONDS, self._tick)

    async def _run(self) -> None:
        """Send updates; close the socket if they cannot be read. The page reconnects unless the session is erased.

        Raises OSError if the browser is gone.
        """
        try:
            await self._send_updates()
        except Session.DoesNotExist:
            await self.close(NOT_FOUND)
        except DatabaseError as error:
            logger.error("the updates of a page cannot be read: %s", error)
            await self.close(TRY_AGAIN_LATER)
        except OSError:
            raise
        except Exception:
            logger.exception("the updates of a page cannot be read")
            await self.close(TRY_AGAIN_LATER)

    async def _send_updates(self) -> None:
        """Send updates after each notification, after each chunk, and after POLL_SECONDS without one."""
        while True:
            await self.pending.wait()
            self.pending.clear()
            if self.storage_delayed:
                self.storage_delayed = False
                await self.send_json({"type": "waiting"})
            missing = await self._send_chunks()
            dirty, self.dirty = self.dirty, False
            now = time.monotonic()
            check = dirty or now - self.last_check > LOGIN_CHECK_SECONDS
            idle = now - self.last_activity > POLL_SECONDS
            updates = self.cursor is not None and (dirty or missing or idle)
            if check or updates:
                code, messages, is_changed = await self._read(check, updates)
                if code:
                    await self.close(code)
                    return
                for message in messages:
                    await self.send_json(message)
                if is_changed:  # read after the events were sent: a verdict does not wait for it
                    await self.send_json(await database_sync_to_async(self._status)())

    async def _send_chunks(self) -> bool:
        """Send the chunks that continue the browser's text; return whether earlier chunks must be read first."""
        chunks, self.chunks = self.chunks, []
        for chunk in chunks:
            cursor = self.cursor
            if cursor is None:
                return False
            if cursor.reply == chunk.reply and cursor.attempt < chunk.attempt and chunk.seq == 1:
                cursor.attempt, cursor.seq = chunk.attempt, 1
                self.stream = ReplyStream(self.names)
                shown = self.stream.feed(chunk.text)
                await self.send_json(_snapshot(PartialReply(chunk.reply, chunk.attempt, 1, shown)))
                continue
            same = (cursor.reply, cursor.attempt) == (chunk.reply, chunk.attempt)
            if same and chunk.seq <= cursor.seq + 1:
                # A chunk that the rows contained already counts too: the next one continues after it.
                self.last_activity = time.monotonic()
            if same and chunk.seq == cursor.seq + 1:
                cursor.seq += 1
                shown = self.stream.feed(chunk.text)
                await self.send_json(_delta(chunk.reply, chunk.attempt, chunk.seq, shown))
            elif not same or chunk.seq > cursor.seq:
                return True
        cursor, stream = self.cursor, self.stream
        if cursor is not None and stream.unrendered:
            # In a thread, so that a long program does not delay the text of other pages.
            blocks = await asyncio.to_thread(stream.render)
            if blocks and cursor is self.cursor:  # not replaced meanwhile
                await self.send_json(_blocks(cursor, blocks))
        return False

    @database_sync_to_async
    def _read(self, check: bool, updates: bool) -> tuple[int, list[Message], bool]:
        """Check the permission and read updates, as requested; return the close code (0: none) and `_updates`.

        Both run in one call because a web server has few threads. A socket outlives a logout, hence the check.
        """
        if check:
            self.last_check = time.monotonic()
            if code := self._close_code():
                return code, [], False
        if not updates:
            return 0, [], False
        if not check:
            self.session = session_for_tutor(self.session_id, self.user.pk)
        self.last_activity = time.monotonic()
        return 0, *self._updates()

    def _status(self) -> Message:
        """Return the message that updates the rest of the page.

        Reads the session again, because it may have changed between its last read and that of the events.
        """
        self.session = session_for_tutor(self.session_id, self.user.pk)
        view = tutor_view(self.session, conversation=False)
        self.waiting, self.outage = view.waiting, view.outage
        return status_message(view)

    def _close_code(self) -> int:
        """Return the close code for a person who may not read the session, 0 for its tutor."""
        request = HttpRequest()
        # The login in the scope is as old as the connection, so it is read again.
        request.session = SessionStore(self.scope["session"].session_key)
        user = get_user(request)
        if not user.is_authenticated:
            return NOT_LOGGED_IN
        if not has_role(user, Role.TUTOR):
            return FORBIDDEN
        try:
            self.session = session_for_tutor(self.session_id, user.pk)
        except Session.DoesNotExist:
            return NOT_FOUND
        self.user, self.rules, self.names = user, rules_of_session(self.session), names_of(self.session)
        return 0

    def _updates(self) -> tuple[list[Message], bool]:
        """Return the events and the text that the browser lacks, and whether its status is old; advance the cursor."""
        cursor = self.cursor
        assert cursor is not None
        messages: list[Message] = []
        current = Reply.objects.filter(session_id=self.session_id, state__in=Reply.UNFINISHED).first()
        events = shown_events(self.session_id, cursor.event)
        if events:
            cursor.event += len(events)
            if current is not None and current.pk in _ended_replies([event for _, event in events]):
                current = None  # it ended between the two reads
            shown = [event_view(number, event, self.rules) for number, event in events]
            pushed = [{"seq": view.seq, "kind": view.kind, "html": view.html} for view in shown]
            messages.append({"type": "events", "events": pushed})
        before = (cursor.reply, cursor.calls)
        messages += self._text(cursor, current)
        cursor.calls = current.calls if current and not self.rules.is_blind else 0
        changed = before != (cursor.reply, cursor.calls) or self._queue_has_changed()
        outage = reply_outage(current) if current else None
        is_new, cursor.is_new = cursor.is_new, False
        return messages, is_new or bool(events) or changed or outage != self.outage

    def _queue_has_changed(self) -> bool:
        if self.waiting is None:
            return self.session.state == Session.State.JUDGING
        return waiting_for_judge(self.session) != self.waiting

    def _text(self, cursor: Cursor, reply: Reply | None) -> list[Message]:
        """Return the chunks of the unfinished reply that the browser lacks, or all of its text for another reply."""
        if reply is None:
            cursor.reply, cursor.attempt, cursor.seq = None, 0, 0
            return []
        if (cursor.reply, cursor.attempt) != (reply.pk, reply.shown_attempt):
            self.stream = ReplyStream(self.names)
            whole = active_reply(reply, self.stream)
            cursor.reply, cursor.attempt, cursor.seq = whole.id, whole.attempt, whole.seq
            return [_snapshot(whole)]
        chunks = chunks_after(reply, cursor.seq)
        messages = [
            _delta(reply.pk, reply.shown_attempt, chunk.seq, self.stream.feed(chunk.text)) for chunk in chunks
        ]
        cursor.seq += len(messages)
        if self.stream.unrendered and (blocks := self.stream.render()):
            messages.append(_blocks(cursor, blocks))
        return messages


def status_message(view: PageView) -> Message:
    """Return the message that updates buttons, budget and composer of the page."""
    return {
        "type": "status",
        "html": view.status_html,
        "may": view.may,
        "state": view.status.state,
        "active_reply": view.active_reply.id if view.active_reply else None,
        "wait": asdict(view.wait) if view.wait else None,
        "outage": view.outage is not None,
    }


def _ended_replies(events: list[Event]) -> set[int | None]:
    payloads = [event.payload for event in events]
    return {one.reply for one in payloads if isinstance(one, ReplyFinished | ReplyFailed)}


def _snapshot(whole: PartialReply) -> Message:
    """Return the whole text of a reply. Its first `length` UTF-16 code units are rendered as `blocks`."""
    return {
        "type": "snapshot",
        "reply": whole.id,
        "attempt": whole.attempt,
        "seq": whole.seq,
        "text": whole.text,
        "blocks": list(whole.blocks),
        "length": whole.length,
    }


def _delta(reply: int, attempt: int, seq: int, text: str) -> Message:
    return {"type": "delta", "reply": reply, "attempt": attempt, "seq": seq, "text": text}


def _blocks(cursor: Cursor, blocks: RenderedBlocks) -> Message:
    """Return the blocks that replace those from number `first` on, and how much of the text they cover."""
    reply = {"type": "blocks", "reply": cursor.reply, "attempt": cursor.attempt}
    return reply | {"first": blocks.first, "blocks": list(blocks.html), "length": blocks.length}
