"""The streamed text of all replies, received once per web server and passed to the sockets that show it."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from typing import Any, Protocol

from channels.layers import get_channel_layer
from redis import RedisError

from tutoring.notifications import TEXT, TextChunk

logger = logging.getLogger(__name__)


class Subscriber(Protocol):
    """A receiver of the text of one session."""

    def on_chunk(self, chunk: TextChunk) -> None: ...

    def on_storage_delay(self) -> None: ...


class ChunkBroadcaster:
    """The web server's subscription to streamed text. It listens while it has subscribers."""

    def __init__(self) -> None:
        self._subscribers: defaultdict[str, set[Subscriber]] = defaultdict(set)
        self._listener: asyncio.Task[None] | None = None

    def subscribe(self, session: str, subscriber: Subscriber) -> None:
        """Pass the session's text to the subscriber from now on; earlier text is in the rows."""
        self._subscribers[session].add(subscriber)
        if self._listener is None:
            self._listener = asyncio.create_task(self._listen())

    def unsubscribe(self, session: str, subscriber: Subscriber) -> None:
        """Stop passing the session's text to the subscriber."""
        self._subscribers[session].discard(subscriber)
        if not self._subscribers[session]:
            del self._subscribers[session]
        if not self._subscribers and self._listener is not None:
            self._listener.cancel()
            self._listener = (
                None  # cancellation takes a while; a subscriber that joins meanwhile needs a new task
            )

    async def _listen(self) -> None:
        while True:
            try:
                layer = get_channel_layer()
                channel = await layer.new_channel()
                await layer.group_add(TEXT, channel)
                while True:
                    self._dispatch(await layer.receive(channel))
            except (RedisError, OSError) as error:
                logger.warning("streamed text is not received: %s", error)
                await asyncio.sleep(1)

    def _dispatch(self, message: dict[str, Any]) -> None:
        for fields in message.get("chunks", ()):
            chunk = TextChunk(*fields)
            for subscriber in tuple(self._subscribers.get(chunk.session, ())):
                subscriber.on_chunk(chunk)
        for session in message.get("delayed", ()):
            for subscriber in tuple(self._subscribers.get(session, ())):
                subscriber.on_storage_delay()


chunk_broadcaster = ChunkBroadcaster()
