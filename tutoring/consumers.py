"""The live half of the session page: sends what is new, and takes nothing but requests to catch up.

Commands go by HTTP (tutoring.views), so a broken socket never loses one.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncJsonWebsocketConsumer
from django.contrib.auth import get_user
from django.contrib.sessions.backends.db import SessionStore
from django.http import HttpRequest

from tutoring.conversation import SHOWN_TO_TUTORS, active_reply, event_view, session_for_tutor, tutor_view
from tutoring.doorbell import session_group
from tutoring.models import Event, Reply, Session
from tutoring.roles import Role, has_role
from tutoring.views import render_status

POLL = 2.0
"""Seconds between looks at the rows without a doorbell: a lost one delays text by at most this."""

MAXIMUM_MESSAGE = 1_000
"""Characters a browser may send at once; catching up needs far fewer."""

ENDS = (Event.Kind.REPLY, Event.Kind.REPLY_FAILED)

NOT_LOGGED_IN, FORBIDDEN, NOT_FOUND = 4401, 4403, 4404


@dataclass
class Cursor:
    """What the browser has: events up to `event`, and the reply in the making up to piece `seq`."""

    event: int = 0
    reply: int | None = None
    attempt: int = 0
    seq: int = 0


class SessionConsumer(AsyncJsonWebsocketConsumer):
    """One browser tab on one session."""

    session_id: UUID
    cursor: Cursor | None = None
    catching_up = False
    """The rows are being read: streamed text must wait, or it would overtake them."""

    async def connect(self) -> None:
        self.session_id = self.scope["url_route"]["kwargs"]["session_id"]
        self.news = asyncio.Event()
        await self.accept()
        if await self._refuse_strangers():
            return
        await self.channel_layer.group_add(session_group(self.session_id), self.channel_name)
        self.follower = asyncio.create_task(self._follow())

    async def disconnect(self, code: int) -> None:
        if hasattr(self, "follower"):
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
            reply = message.get("reply") or {"id": None, "attempt": 0, "seq": 0}
            cursor = Cursor(
                event=int(message["after"]),
                reply=None if reply["id"] is None else int(reply["id"]),
                attempt=int(reply["attempt"]),
                seq=int(reply["seq"]),
            )
        except (ValueError, KeyError, TypeError) as error:
            await self.send_json({"type": "error", "message": f"not understood: {error}"})
            return
        self.cursor = cursor
        self.news.set()

    async def session_changed(self, _: dict[str, Any]) -> None:
        self.news.set()

    async def reply_delta(self, message: dict[str, Any]) -> None:
        """Pass text on when it continues what the browser has; else let the rows say what is missing."""
        cursor = self.cursor
        if cursor is None:
            return
        same = (cursor.reply, cursor.attempt) == (message["reply"], message["attempt"])
        if same and message["seq"] == cursor.seq + 1 and not self.catching_up:
            cursor.seq += 1
            await self.send_json(message | {"type": "delta"})
        elif not same or message["seq"] > cursor.seq:
            self.news.set()

    async def _follow(self) -> None:
        """Send what is new whenever the doorbell rings, and look for it now and then without."""
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.news.wait(), POLL)
            self.news.clear()
            if await self._refuse_strangers():
                return
            if self.cursor is not None:
                self.catching_up = True
                for message in await self._news():
                    await self.send_json(message)
                self.catching_up = False

    async def _refuse_strangers(self) -> bool:
        """Close the socket of who may not watch (any more): a socket outlives a logout."""
        code = await self._refusal()
        if code:
            await self.close(code)
        return bool(code)

    @database_sync_to_async
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
            session_for_tutor(self.session_id, user.pk)
        except Session.DoesNotExist:
            return NOT_FOUND
        self.user = user
        return 0

    @database_sync_to_async
    def _news(self) -> list[dict[str, Any]]:
        """Messages that bring the browser from its cursor to the present."""
        cursor = self.cursor
        assert cursor is not None
        messages: list[dict[str, Any]] = []
        current = Reply.objects.filter(session_id=self.session_id, state__in=Reply.UNFINISHED).first()
        events = list(Event.objects.filter(session_id=self.session_id, seq__gt=cursor.event).order_by("seq"))
        if events:
            cursor.event = events[-1].seq
            ended = {event.data["reply"] for event in events if event.kind in ENDS}
            if current is not None and current.pk in ended:
                current = None  # it ended between the two reads
            shown = [event_view(event) for event in events if event.kind in SHOWN_TO_TUTORS]
            if shown:
                pushed = [{"seq": view.seq, "kind": view.kind, "html": view.html} for view in shown]
                messages.append({"type": "events", "events": pushed})
        before = cursor.reply
        messages += self._text(cursor, current)
        if events or before != cursor.reply:
            view = tutor_view(session_for_tutor(self.session_id, self.user.pk))
            messages.append(
                {
                    "type": "status",
                    "html": render_status(view),
                    "may": view.may,
                    "state": view.session.state,
                    "active_reply": view.active_reply.id if view.active_reply else None,
                }
            )
        return messages

    def _text(self, cursor: Cursor, reply: Reply | None) -> list[dict[str, Any]]:
        """The pieces of the reply in the making that the browser misses; all of it when it has another one."""
        if reply is None:
            cursor.reply, cursor.attempt, cursor.seq = None, 0, 0
            return []
        if (cursor.reply, cursor.attempt) != (reply.pk, reply.attempt):
            whole = active_reply(reply)
            cursor.reply, cursor.attempt, cursor.seq = whole.id, whole.attempt, whole.seq
            snapshot = asdict(whole)
            return [{"type": "snapshot", "reply": snapshot.pop("id"), **snapshot}]
        pieces = reply.deltas.filter(attempt=reply.attempt, seq__gt=cursor.seq).order_by("seq")
        messages = [
            {
                "type": "delta",
                "reply": reply.pk,
                "attempt": reply.attempt,
                "seq": piece.seq,
                "text": piece.text,
            }
            for piece in pieces
        ]
        cursor.seq += len(messages)
        return messages
