"""The log and the loops of the streamer."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from benchmark.providers import Message, Parameters
from tests.fake_providers import FakeProviders, Script, failure
from tutoring.replies.streamer import ActiveReply, Streamer


async def test_a_wait_that_the_provider_requests_is_in_the_log(
    fake_providers: FakeProviders, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tutoring.replies.streamer.record_call", lambda *_, **__: None)
    fake_providers.script(failure(429, retry_after="0"), Script())
    claimed = SimpleNamespace(
        pk=7,
        model_spec="openai:m",
        parameters=Parameters(),
        messages=[Message("user", "Hello")],
        shown_from=None,
        answer=None,
    )
    streamer, chat = Streamer(1), ActiveReply(cast("Any", claimed))
    await streamer._stream(chat)
    assert chat.answer.text == "Hello, world."
    [record] = [one for one in caplog.records if one.name == "tutoring.replies.streamer"]
    assert record.getMessage() == "reply 7 waits 0 seconds before its model is called again: rate_limit"
    await streamer.providers["openai", ""].aclose()


async def test_text_of_a_stopped_reply_does_not_keep_an_idle_streamer_busy() -> None:
    """A reply that is stopped leaves its mark of waiting text behind."""
    streamer = Streamer(1)
    streamer.text_waiting.set()
    task = asyncio.create_task(streamer._flush_regularly())
    async with asyncio.timeout(30):
        while streamer.text_waiting.is_set():
            await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
