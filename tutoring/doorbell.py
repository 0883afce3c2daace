"""Doorbells: hints that rows have changed. Losing one costs a moment, never a row.

The rows in the database are the truth; whoever is rung reads them. Text that is being streamed rides along,
so that a reader who has everything before it need not read the database for it.
"""

from __future__ import annotations

import logging
from typing import Any
from uuid import UUID

import redis
from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer

logger = logging.getLogger(__name__)

STREAMERS = "streamers"


def session_group(session_id: UUID | str) -> str:
    """The channel-layer group of everyone who watches the session."""
    return f"session-{session_id}"


async def ring(group: str, message: dict[str, Any]) -> None:
    """Send `message` to a group; a broken message server is logged and survived."""
    try:
        await get_channel_layer().group_send(group, message)
    except (redis.RedisError, OSError) as error:
        logger.warning("no doorbell for %s: %s", group, error)


def ring_session(session_id: UUID) -> None:
    """Tell the session's watchers that there are new events."""
    async_to_sync(ring)(session_group(session_id), {"type": "session.changed"})


def ring_streamers() -> None:
    """Tell the streamers that a reply is waiting."""
    async_to_sync(ring)(STREAMERS, {"type": "reply.waiting"})
