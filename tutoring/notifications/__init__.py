"""Notifications that rows have changed, sent through the message server. They may be lost.

The rows in the database are authoritative; receivers of a notification read them. Streamed text is sent with its
notification, so that a receiver that has all earlier chunks does not read the database for it.
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
"""The group of all streamers."""

TEXT = "text"
"""The group of all web servers, for the text of all replies: one message per flush, however many replies there are."""


class TextChunk(NamedTuple):
    """A chunk of a reply's text. `seq` counts from 1 within the attempt."""

    session: str
    reply: int
    attempt: int
    seq: int
    text: str


def session_group(session_id: UUID | str) -> str:
    """Return the channel-layer group of the session's open pages."""
    return f"session-{session_id}"


def person_group(person: int) -> str:
    """Return the channel-layer group of all open pages of a person."""
    return f"person-{person}"


async def notify(group: str, message: dict[str, Any]) -> None:
    """Send `message` to a group. If the message server fails, log a warning and return."""
    try:
        await get_channel_layer().group_send(group, message)
    except (redis.RedisError, OSError) as error:
        logger.warning("%s was not notified: %s", group, error)


async def notify_text(chunks: Sequence[TextChunk]) -> None:
    """Send text that has just been stored to all web servers."""
    await notify(TEXT, {"chunks": [list(chunk) for chunk in chunks]})


async def notify_storage_delay(sessions: Sequence[str]) -> None:
    """Notify the pages of these sessions that text cannot be stored now and is kept in memory."""
    await notify(TEXT, {"delayed": sessions})


def notify_session(session_id: UUID) -> None:
    """Notify the session's pages that there are new events."""
    async_to_sync(notify)(session_group(session_id), {"type": "session.changed"})


def notify_person(person: int) -> None:
    """Notify the person's pages that logins have ended, so that they check theirs."""
    async_to_sync(notify)(person_group(person), {"type": "session.changed"})


def notify_streamers() -> None:
    """Notify the streamers that a reply is queued, or must be stopped."""
    async_to_sync(notify)(STREAMERS, {"type": "reply.waiting"})
