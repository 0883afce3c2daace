"""Doorbells: hints that rows have changed. Losing one costs a moment, never a row.

The rows in the database are the truth; whoever is rung reads them. Text that is being streamed rides along,
so that a reader who has everything before it need not read the database for it.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, NamedTuple
from uuid import UUID

import redis
from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer

logger = logging.getLogger(__name__)

STREAMERS = "streamers"

TEXT = "text"
"""The group of all web servers, for the text of all chats: one message a moment, however many are written."""


class Piece(NamedTuple):
    """A piece of a reply as it is passed on: `seq` counts from 1 within the attempt."""

    session: str
    reply: int
    attempt: int
    seq: int
    text: str


def session_group(session_id: UUID | str) -> str:
    """The channel-layer group of everyone who watches the session."""
    return f"session-{session_id}"


async def ring(group: str, message: dict[str, Any]) -> None:
    """Send `message` to a group; a broken message server is logged and survived."""
    try:
        await get_channel_layer().group_send(group, message)
    except (redis.RedisError, OSError) as error:
        logger.warning("no doorbell for %s: %s", group, error)


async def pass_text_on(pieces: Sequence[Piece]) -> None:
    """Give text that has just been stored to all web servers."""
    await ring(TEXT, {"pieces": [list(piece) for piece in pieces]})


async def say_text_waits(sessions: Sequence[str]) -> None:
    """Tell who watches these sessions that the text cannot be stored now, and is not lost."""
    await ring(TEXT, {"waiting": sessions})


def ring_session(session_id: UUID) -> None:
    """Tell the session's watchers that there are new events."""
    async_to_sync(ring)(session_group(session_id), {"type": "session.changed"})


def ring_streamers() -> None:
    """Tell the streamers that a reply is waiting, or is to be stopped."""
    async_to_sync(ring)(STREAMERS, {"type": "reply.waiting"})
