"""The live half of the session page: sends what is new, and takes nothing but requests to catch up.

Commands go by HTTP (tutoring.views.sessions), so a broken socket never loses one.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.contrib.auth import get_user
from django.contrib.sessions.backends.db import SessionStore
from django.db import DatabaseError
from django.http import HttpRequest

from accounts.roles import Role, has_role
from tutoring.models import Event, Reply, Session
from tutoring.notifications import Piece, session_group
from tutoring.notifications.chunk_broadcaster import text_feed
from tutoring.protocols import rules_of
from tutoring.sessions.conversation import (
    active_reply,
    event_view,
    pieces_after,
    session_for_tutor,
    shown_events,
    tutor_view,
)
from tutoring.views.sessions import render_status

logger = logging.getLogger(__name__)

POLL = 2.0
"""Seconds between looks at the rows without a doorbell: a lost one delays text by at most this."""

LOGIN_CHECK = 6.0
"""Seconds between two looks whether who watches may still do so. They are also looked for before events are sent."""

MAXIMUM_LAG = 40
"""Pieces that may wait for a slow browser; then it gets the whole text so far instead of them."""

TRY_AGAIN_LATER = 1013
"""Close code of a socket whose news cannot be read now: the page comes back by itself."""

MAXIMUM_MESSAGE = 1_000
"""Characters a browser may send at once; catching up needs far fewer."""

ENDS = (Event.Kind.REPLY, Event.Kind.REPLY_FAILED)

NOT_LOGGED_IN, FORBIDDEN, NOT_FOUND = 4401, 4403, 4404


@dataclass
class Cursor:
    """What the browser has: so many events, and the reply in the making up to piece `seq`."""

    event: int = 0
    reply: int | None = None
    attempt: int = 0
    seq: int = 0


class SessionConsumer(AsyncWebsocketConsumer):
    """One browser tab on one session."""

    session_id: UUID
    cursor: Cursor | None = None
    heard = 0.0
    """When text of the reply came, or else the rows were read for it."""
    checked = 0.0
    """When it was last made sure that this person may watch."""
    rung = False
    """The rows hold something new."""
    waiting = False
    """What the model says cannot be stored, and the page has not been told."""

    async def connect(self) -> None:
        self.session_id = self.scope["url_route"]["kwargs"]["session_id"]
        self.news = asyncio.Event()
        self.pieces: list[Piece] = []
        await self.accept()
        code, _ = await self._read(check=True, news=False)
        if code:
            await self.close(code)
            return
        await self.channel_layer.group_add(session_group(self.session_id), self.channel_name)
        text_feed.watch(str(self.session_id), self)
        self.follower = asyncio.create_task(self._follow())

    async def disconnect(self, code: int) -> None:
        if hasattr(self, "follower"):
            text_feed.leave(str(self.session_id), self)
            self.follower.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self.follower
            await self.channel_layer.group_discard(session_group(self.session_id), self.channel_name)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None, **_: Any) -> None:
        """Only `{"op": "sync", "after": seq, "reply": {"id", "attempt", "seq"} or null}` is understood."""
        try:
            if text_data is None or len(text_data) > MAXIMUM_MESSAGE:
                raise ValueError("too long, or not text")
            message = json.loads(text_data)
            if message["op"] != "sync":
                raise ValueError(f"unknown op {message['op']!r}")
            if not 0 <= int(message["after"]) < 2**31:
                raise ValueError("after must count events")
            reply = message.get("reply") or {"id": None, "attempt": 0, "seq": 0}
            cursor = Cursor(
                event=int(message["after"]),
                reply=None if reply["id"] is None else int(reply["id"]),
                attempt=int(reply["attempt"]),
                seq=int(reply["seq"]),
            )
        except (ValueError, KeyError, TypeError) as error:
            await self.send(text_data=json.dumps({"type": "error", "message": f"not understood: {error}"}))
            return
        self.cursor = cursor
        self._look()

    async def session_changed(self, _: dict[str, Any]) -> None:
        self._look()

    def text_came(self, piece: Piece) -> None:
        """Keep it for this tab's own task: a slow browser must not hold up the others."""
        if len(self.pieces) >= MAXIMUM_LAG:
            self.pieces.clear()
            self.cursor = replace(self.cursor, reply=None) if self.cursor else None
            self._look()
        self.pieces.append(piece)
        self.news.set()

    def text_waits(self) -> None:
        """The text cannot be stored now: the page says so."""
        self.waiting = True
        self.news.set()

    def _look(self) -> None:
        """Let the rows be read."""
        self.rung = True
        self.news.set()

    async def _follow(self) -> None:
        """Send what is new, and let the page connect again where it cannot be read."""
        try:
            await self._send_news()
        except DatabaseError as error:
            logger.error("a page cannot be told what is new: %s", error)
            await self.close(TRY_AGAIN_LATER)

    async def _send_news(self) -> None:
        """Send what is new whenever the doorbell rings or text comes, and look for it now and then without."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(POLL):
                    await self.news.wait()
            self.news.clear()
            if self.waiting:
                self.waiting = False
                await self.send(text_data=json.dumps({"type": "waiting"}))
            missing = await self._pass_text_on()
            rung, self.rung = self.rung, False
            now = time.monotonic()
            check = rung or now - self.checked > LOGIN_CHECK
            read = self.cursor is not None and (rung or missing or now - self.heard > POLL)
            if check or read:
                code, messages = await self._read(check, read)
                if code:
                    await self.close(code)
                    return
                for message in messages:
                    await self.send(text_data=message)

    async def _pass_text_on(self) -> bool:
        """Send the pieces that continue what the browser has; whether the rows must say what is missing."""
        pieces, self.pieces = self.pieces, []
        for piece in pieces:
            cursor = self.cursor
            if cursor is None:
                return False
            if cursor.reply == piece.reply and cursor.attempt < piece.attempt and piece.seq == 1:
                cursor.attempt, cursor.seq = piece.attempt, 1
                await self.send(text_data=_snapshot(piece.reply, piece.attempt, 1, piece.text))
                continue
            same = (cursor.reply, cursor.attempt) == (piece.reply, piece.attempt)
            if same and piece.seq <= cursor.seq + 1:
                # Also by what the rows have said already: the next piece goes on after it.
                self.heard = time.monotonic()
            if same and piece.seq == cursor.seq + 1:
                cursor.seq += 1
                await self.send(text_data=_delta(piece.reply, piece.attempt, piece.seq, piece.text))
            elif not same or piece.seq > cursor.seq:
                return True
        return False

    @database_sync_to_async
    def _read(self, check: bool, news: bool) -> tuple[int, list[str]]:
        """The close code for who may not watch (any more), if asked for: a socket outlives a logout. Else the news.

        Both in one go, because the threads of a web server are few.
        """
        if check:
            self.checked = time.monotonic()
            if code := self._refusal():
                return code, []
        if not news:
            return 0, []
        self.heard = time.monotonic()
        return 0, self._news()

    def _refusal(self) -> int:
        request = HttpRequest()
        # Read anew: the scope's login is as old as the connection.
        request.session = SessionStore(self.scope["session"].session_key)
        user = get_user(request)
        if not user.is_authenticated:
            return NOT_LOGGED_IN
        if not has_role(user, Role.TUTOR):
            return FORBIDDEN
        try:
            session = session_for_tutor(self.session_id, user.pk)
        except Session.DoesNotExist:
            return NOT_FOUND
        assert session.protocol is not None
        self.user, self.rules = user, rules_of(session.protocol)
        return 0

    def _news(self) -> list[str]:
        """Messages that bring the browser from its cursor to the present."""
        cursor = self.cursor
        assert cursor is not None
        messages: list[str] = []
        current = Reply.objects.filter(session_id=self.session_id, state__in=Reply.UNFINISHED).first()
        events = shown_events(self.session_id, cursor.event)
        if events:
            cursor.event += len(events)
            ended = {event.data["reply"] for _, event in events if event.kind in ENDS}
            if current is not None and current.pk in ended:
                current = None  # it ended between the two reads
            shown = [event_view(number, event, self.rules) for number, event in events]
            pushed = [{"seq": view.seq, "kind": view.kind, "html": view.html} for view in shown]
            messages.append(json.dumps({"type": "events", "events": pushed}))
        before = cursor.reply
        messages += self._text(cursor, current)
        if events or before != cursor.reply:
            view = tutor_view(session_for_tutor(self.session_id, self.user.pk), conversation=False)
            status = {
                "type": "status",
                "html": render_status(view),
                "may": view.may,
                "state": view.standing.state,
                "active_reply": view.active_reply.id if view.active_reply else None,
            }
            messages.append(json.dumps(status))
        return messages

    def _text(self, cursor: Cursor, reply: Reply | None) -> list[str]:
        """The pieces of the reply in the making that the browser misses; all of it when it has another one."""
        if reply is None:
            cursor.reply, cursor.attempt, cursor.seq = None, 0, 0
            return []
        if (cursor.reply, cursor.attempt) != (reply.pk, reply.shown_attempt):
            whole = active_reply(reply)
            cursor.reply, cursor.attempt, cursor.seq = whole.id, whole.attempt, whole.seq
            return [_snapshot(whole.id, whole.attempt, whole.seq, whole.text)]
        pieces = pieces_after(reply, cursor.seq)
        messages = [_delta(reply.pk, reply.shown_attempt, piece.seq, piece.text) for piece in pieces]
        cursor.seq += len(messages)
        return messages


def _snapshot(reply: int, attempt: int, seq: int, text: str) -> str:
    return json.dumps({"type": "snapshot", "reply": reply, "attempt": attempt, "seq": seq, "text": text})


def _delta(reply: int, attempt: int, seq: int, text: str) -> str:
    return json.dumps({"type": "delta", "reply": reply, "attempt": attempt, "seq": seq, "text": text})
