"""Streamed text in a web server reaches the subscribers of its session."""

import asyncio

import pytest

from tutoring.notifications import TextChunk, notify_text
from tutoring.notifications.chunk_broadcaster import ChunkBroadcaster

IN_MEMORY = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}


class Page:
    """A subscriber that waits for one chunk."""

    def __init__(self) -> None:
        self.chunk: asyncio.Future[TextChunk] = asyncio.get_running_loop().create_future()

    def on_chunk(self, chunk: TextChunk) -> None:
        self.chunk.set_result(chunk)

    def on_storage_delay(self) -> None:
        raise AssertionError("no storage delay was announced")


@pytest.fixture(autouse=True)
def _layer(settings):
    settings.CHANNEL_LAYERS = IN_MEMORY


async def test_only_subscriber_that_is_replaced_gets_the_text():
    broadcaster, before, after = ChunkBroadcaster(), Page(), Page()
    broadcaster.subscribe("a-session", before)
    await asyncio.sleep(0)  # starts the listener
    broadcaster.unsubscribe("a-session", before)
    broadcaster.subscribe("a-session", after)
    await asyncio.sleep(0)
    chunk = TextChunk("a-session", 1, 1, 1, "Let me think.")
    await notify_text([chunk])
    async with asyncio.timeout(5):
        assert await after.chunk == chunk
    broadcaster.unsubscribe("a-session", after)
