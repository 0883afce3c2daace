"""Streamed text in a web server: whoever watches a session hears of it, however the watchers come and go."""

import asyncio

import pytest

from tutoring.notifications import Piece, pass_text_on
from tutoring.notifications.chunk_broadcaster import TextFeed

IN_MEMORY = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}


class Page:
    """A browser that watches."""

    def __init__(self) -> None:
        self.piece: asyncio.Future[Piece] = asyncio.get_running_loop().create_future()

    def text_came(self, piece: Piece) -> None:
        self.piece.set_result(piece)

    def text_waits(self) -> None:
        raise AssertionError("nobody said that text waits")


@pytest.fixture(autouse=True)
def _layer(settings):
    settings.CHANNEL_LAYERS = IN_MEMORY


async def test_page_that_is_loaded_anew_by_the_only_one_who_watches_hears_the_text():
    feed, before, after = TextFeed(), Page(), Page()
    feed.watch("a-session", before)
    await asyncio.sleep(0)  # it listens
    feed.leave("a-session", before)
    feed.watch("a-session", after)
    await asyncio.sleep(0)
    piece = Piece("a-session", 1, 1, 1, "Let me think.")
    await pass_text_on([piece])
    async with asyncio.timeout(5):
        assert await after.piece == piece
    feed.leave("a-session", after)
