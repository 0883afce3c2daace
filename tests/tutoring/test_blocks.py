"""Blocks beside the text of replies, such as signed thinking: stored with the reply and sent back."""

import json
from types import SimpleNamespace
from typing import Any, cast

from benchmark.providers import Completed, Message, Parameters, TokenUsage
from config.env import ModelEndpoint
from tests.fake_providers import FakeProviders, Script
from tests.tutoring.dialogues import SessionUnderTest
from tests.tutoring.test_trajectories import imported, run, wipe
from tutoring.models.payloads import ReplyFinished
from tutoring.replies.endings import finish_reply
from tutoring.replies.model_answer import ModelAnswer
from tutoring.replies.pieces import Delta, append_deltas
from tutoring.replies.streamer import ActiveReply, Streamer

BLOCKS = ({"type": "thinking", "thinking": "Hm.", "signature": "c2lnbmVk"},)
USAGE = TokenUsage(10, 5, None, 3)


def reply(session: SessionUnderTest, text: str, *, stopped: bool = False) -> None:
    """Write a reply with blocks, whose answer is stored and read before it is shown, as after a restart."""
    claimed = session.claim()
    append_deltas([Delta(claimed.pk, claimed.attempt, 1, text)], [(claimed.pk, claimed.attempt)])
    answer = ModelAnswer(text=text, completed=Completed(USAGE, "m", "stop", "request-1", BLOCKS))
    stored = ModelAnswer.from_json(json.loads(json.dumps(answer.to_json())))
    assert stored == answer
    finish_reply(claimed, stored, stopped=stopped)


def test_the_next_request_contains_the_blocks_of_the_reply(session: SessionUnderTest) -> None:
    session.say("Hello.")
    reply(session, "Hi.")
    session.say("Go on.")
    messages = session.claim().messages
    assert messages[-2] == Message("assistant", "Hi.", BLOCKS)
    assert [message.blocks for message in messages if message.role == "user"] == [(), ()]


def test_blocks_of_a_stopped_reply_are_not_stored(session: SessionUnderTest) -> None:
    session.say("Hello.")
    reply(session, "Hi.", stopped=True)
    event = session.row.events.get(kind="reply")
    assert event.payload_as(ReplyFinished).blocks == []
    assert "blocks" not in event.data
    session.say("Go on.")
    assert session.claim().messages[-2] == Message("assistant", "Hi.")


def test_an_export_contains_the_blocks_and_can_be_imported(session: SessionUnderTest, tmp_path) -> None:
    session.say("Hello.")
    reply(session, "Hi.")
    exported = run("export_trajectories")
    [event] = [event for event in json.loads(exported)["events"] if event["kind"] == "reply"]
    assert event["data"]["blocks"] == [dict(block) for block in BLOCKS]
    wipe()
    file = tmp_path / "session.jsonl"
    file.write_text(exported)
    assert [row["state"] for row in imported(file)] == ["imported"]
    assert json.loads(run("export_trajectories"))["events"] == json.loads(exported)["events"]


async def test_the_streamer_collects_blocks_from_a_named_endpoint(
    fake_providers: FakeProviders, settings: Any
) -> None:
    settings.MODEL_ENDPOINTS = {
        "lab": ModelEndpoint(fake_providers.openai_url),
        "other": ModelEndpoint(fake_providers.openai_url),
    }
    fake_providers.script(Script(reasoning=("Hm.",)), Script())
    streamer = Streamer(1)
    for spec in ("openai-responses@lab:m", "openai-responses@other:m"):
        claimed = SimpleNamespace(
            pk=7,
            model_spec=spec,
            parameters=Parameters(),
            messages=[Message("user", "Hello")],
            shown_from=None,
            answer=None,
        )
        chat = ActiveReply(cast("Any", claimed))
        await streamer._stream(chat)
        assert chat.answer.text == "Hello, world."
    assert [*streamer.providers] == [("openai-responses", "lab"), ("openai-responses", "other")]
    for provider in streamer.providers.values():
        await provider.aclose()
