"""The streamed text of all chats, heard once in a web server and handed to the sockets that watch them."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from typing import Any, Protocol

from channels.layers import get_channel_layer
from redis import RedisError

from tutoring.notifications import TEXT, Piece

logger = logging.getLogger(__name__)


class Watcher(Protocol):
    """Who is told of the text of one session."""

    def text_came(self, piece: Piece) -> None: ...

    def text_waits(self) -> None: ...


class TextFeed:
    """Hears while anybody watches. What is missed meanwhile is in the rows."""

    def __init__(self) -> None:
        self._watchers: defaultdict[str, set[Watcher]] = defaultdict(set)
        self._listener: asyncio.Task[None] | None = None

    def watch(self, session: str, watcher: Watcher) -> None:
        self._watchers[session].add(watcher)
        if self._listener is None:
            self._listener = asyncio.create_task(self._listen())

    def leave(self, session: str, watcher: Watcher) -> None:
        self._watchers[session].discard(watcher)
        if not self._watchers[session]:
            del self._watchers[session]
        if not self._watchers and self._listener is not None:
            self._listener.cancel()
            self._listener = None  # it takes a while to end, and whoever comes meanwhile needs another

    async def _listen(self) -> None:
        while True:
            try:
                layer = get_channel_layer()
                channel = await layer.new_channel()
                await layer.group_add(TEXT, channel)
                while True:
                    self._hand_out(await layer.receive(channel))
            except (RedisError, OSError) as error:
                logger.warning("no streamed text is heard: %s", error)
                await asyncio.sleep(1)

    def _hand_out(self, message: dict[str, Any]) -> None:
        for fields in message.get("pieces", ()):
            piece = Piece(*fields)
            for watcher in tuple(self._watchers.get(piece.session, ())):
                watcher.text_came(piece)
        for session in message.get("waiting", ()):
            for watcher in tuple(self._watchers.get(session, ())):
                watcher.text_waits()


text_feed = TextFeed()
