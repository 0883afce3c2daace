"""Waiting for a reply: what the page may say of it, when it is given up, and who can help after a failure."""

from __future__ import annotations

import time
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import AsyncMock
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client, override_settings
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings

from benchmark.models import ModelTest, Problem, Process
from benchmark.processes import Heartbeat
from benchmark.providers import Message, Parameters, ProviderError, RetryPolicy
from tests.benchmark.processes import killed_process
from tests.fake_providers import FakeProviders, Script, failure
from tests.tutoring.dialogues import RIGHT, TALK, SessionUnderTest, start
from tests.tutoring.test_refusals import close_session, status_from_socket
from tutoring.actions import AskAgain
from tutoring.models import Event, Protocol, Reply, Session
from tutoring.protocols import PRESETS, Rules, freeze, rules_of
from tutoring.replies import streamer as streamer_module
from tutoring.replies.claimed_reply import ClaimedReply
from tutoring.replies.endings import fail_reply
from tutoring.replies.model_answer import ModelAnswer
from tutoring.replies.pieces import record_call
from tutoring.replies.streamer import FLUSH_INTERVAL, ActiveReply, Streamer
from tutoring.sessions.context import RefusedError
from tutoring.sessions.conversation import tutor_view
from tutoring.sessions.dialogue import model_messages
from tutoring.views.socket import TRY_AGAIN_LATER, Cursor, SessionConsumer

OPEN = {"hide_model": False, "seconds_to_first_word": None, "characters_per_second": None}


@pytest.fixture
def open_session(alice: User, doubling: Problem) -> SessionUnderTest:
    """A session under a protocol that is not blind."""
    protocol = freeze("open", PRESETS["usaco-2024"].with_settings(**OPEN))
    return SessionUnderTest(start(alice, doubling, protocol, "openai:hidden-model-name"), alice)


def page_of(session: SessionUnderTest) -> str:
    client = Client()
    client.force_login(session.tutor)
    return client.get(f"/sessions/{session.pk}/").content.decode()


def consumer_of(session: SessionUnderTest) -> SessionConsumer:
    """Return the socket of a page that has nothing yet."""
    consumer = SessionConsumer()
    consumer.session_id, consumer.cursor = session.pk, Cursor()
    consumer.session, consumer.user, consumer.names = session.refresh(), session.tutor, None
    assert session.row.protocol is not None
    consumer.rules = rules_of(session.row.protocol)
    return consumer


def fail(session: SessionUnderTest, kind: str) -> None:
    fail_reply(session.claim(), kind, "broken", ModelAnswer())


def ask_again(session: SessionUnderTest) -> None:
    AskAgain(session_id=session.pk, person=session.tutor, command=uuid4()).execute()


# The pace


def claimed_reply(rules: Rules) -> ClaimedReply:
    return ClaimedReply(
        pk=1, attempt=1, session_id=uuid4(), model_spec="m", parameters=Parameters(), messages=(), live=True,
        characters_per_second=rules.characters_per_second, maximum_seconds_shown=rules.maximum_seconds_shown,
        shown_from=timezone.now(), answer=None,
    )  # fmt: skip


def seconds_shown(claimed: ClaimedReply, length: int) -> float:
    """Return the seconds from the first to the last character of a reply of this length."""
    chat = ActiveReply(claimed, ModelAnswer("x" * length), "x" * length, persisted=True)
    now, ticks, shown = timezone.now(), 0, 0
    while shown < length:
        ticks += 1
        delta = chat.next_delta(FLUSH_INTERVAL, now)
        shown += 0 if delta is None else len(delta.text)
    return ticks * FLUSH_INTERVAL


@given(length=st.integers(1, 60_000))
def test_seconds_of_a_reply_depend_on_its_length_alone_and_have_a_ceiling(length: int):
    preset = PRESETS["usaco-2024"]
    assert (preset.characters_per_second, preset.maximum_seconds_shown) == (240, 30)
    expected = min(length / 240, 30)
    assert expected - 0.05 <= seconds_shown(claimed_reply(preset), length) <= expected + 0.15


def test_protocols_that_were_frozen_before_keep_their_pace(protocol: Protocol):
    before = rules_of(protocol).to_json()
    del before["maximum_seconds_shown"]
    rules = Rules.from_json(before, "an earlier version")
    assert rules.to_json() == before, "so it keeps its hash"
    assert seconds_shown(claimed_reply(rules), 24_000) == pytest.approx(100, abs=0.1)


# The wait


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, float]]:
    """The calls that the streamer records, each with the seconds until the reply is given up."""
    calls: list[tuple[int, float]] = []
    monkeypatch.setattr(
        streamer_module, "record_call", lambda _claimed, call, left, **_: calls.append((call, left))
    )
    monkeypatch.setattr(streamer_module, "restart_reply", lambda claimed, _reason, _text: claimed)
    return calls


async def reply_to(settings: Settings, seconds: float) -> ActiveReply:
    """Request a reply that is given up after `seconds` without text. Raises ProviderError."""
    settings.REPLY_TIMEOUT = seconds
    claimed = SimpleNamespace(
        pk=7, model_spec="openai:m", parameters=Parameters(), messages=[Message("user", "Hello")], shown_from=None,
        answer=None, session_id="s",
    )  # fmt: skip
    streamer, chat = Streamer(1), ActiveReply(cast("Any", claimed))
    streamer._stored = run_at_once  # type: ignore[method-assign]
    try:
        await streamer._stream(chat)
    finally:
        for provider in streamer.providers.values():
            await provider.aclose()
    return chat


async def run_at_once(write: Any) -> Any:
    return write()


@pytest.mark.parametrize("after", [0, 3])
async def test_hanging_provider_is_given_up(
    fake_providers: FakeProviders, settings: Settings, recorded: list[tuple[int, float]], after: int
):
    fake_providers.script(Script(tuple("abcdef"), ending="hang", after=after))
    with pytest.raises(ProviderError) as caught:
        await reply_to(settings, 0.3)
    assert (caught.value.kind, caught.value.message) == (
        "timeout",
        "no new text for 0.3 s (REPLY_TIMEOUT), call 1",
    )
    assert recorded == []


@pytest.mark.slow
async def test_calls_are_recorded_and_a_repeated_beginning_is_no_progress(
    fake_providers: FakeProviders, settings: Settings, recorded: list[tuple[int, float]]
):
    cut = Script(tuple("abcdef"), ending="cut", after=3)
    fake_providers.script(failure(500), cut, Script(tuple("abcdef"), ending="hang", after=3))
    with pytest.raises(ProviderError, match="call 3; the last call failed: OpenAI"):
        await reply_to(settings, 5)
    assert [call for call, _ in recorded] == [2, 3]
    assert all(0 < left <= 5 for _, left in recorded)


@pytest.mark.slow
async def test_a_repeated_beginning_does_not_extend_the_wait(
    fake_providers: FakeProviders, settings: Settings, recorded: list[tuple[int, float]]
):
    """After 2 of 3 s without new text, a call repeats the beginning; the reply is given up at 3 s, not at 5 s."""
    text = tuple("abcdef")
    fake_providers.script(
        Script(text, ending="cut", after=3), Script(text, delay=0.5, ending="hang", after=3)
    )
    begun = time.monotonic()
    with pytest.raises(ProviderError, match="no new text for 3 s"):
        await reply_to(settings, 3)
    assert time.monotonic() - begun < 4


def test_only_text_beyond_that_of_every_call_before_is_progress():
    reply = ActiveReply(cast("Any", SimpleNamespace()))
    assert not reply.has_progressed(), "no text"
    for text, reasoning, is_longer in (
        ("abc", "", True),
        ("abc", "", False),
        ("ab", "", False),
        ("abc", "d", True),
        ("", "", False),
        ("a", "b", False),
        ("abcde", "", True),
    ):
        reply.answer = ModelAnswer(text, reasoning=reasoning)
        assert reply.has_progressed() == is_longer, (text, reasoning)


async def test_requested_wait_that_exceeds_the_limit_is_not_begun(
    fake_providers: FakeProviders, settings: Settings, recorded: list[tuple[int, float]]
):
    fake_providers.script(failure(429, retry_after="30"))
    with pytest.raises(ProviderError, match="longer than the 20 seconds"):
        await reply_to(settings, 20)
    assert recorded == []


@pytest.mark.slow
async def test_text_that_keeps_coming_is_not_given_up(
    fake_providers: FakeProviders, settings: Settings, recorded: list[tuple[int, float]]
):
    fake_providers.script(Script(tuple("abcdefgh"), delay=0.2))
    chat = await reply_to(settings, 1)
    assert chat.answer.text == "abcdefgh"


def test_page_without_a_schedule_shows_the_call_and_the_time_left(open_session: SessionUnderTest):
    open_session.say()
    waiting = status_from_socket(open_session)["wait"]
    assert waiting == {"due_in": None, "call": None, "calls": None, "gives_up_in": None, "limit": None}
    claimed = open_session.claim()
    waiting = status_from_socket(open_session)["wait"]
    assert (waiting["call"], waiting["calls"], waiting["limit"]) == (1, RetryPolicy.attempts, 180)
    assert 170 < waiting["gives_up_in"] <= 180
    record_call(claimed, 2, 40.0, broken_off=False)
    waiting = status_from_socket(open_session)["wait"]
    assert waiting["call"] == 2
    assert 35 < waiting["gives_up_in"] <= 40


@pytest.mark.parametrize("blind", [False, True])
def test_page_is_told_of_each_call_unless_it_is_blind(
    open_session: SessionUnderTest, session: SessionUnderTest, blind: bool
):
    held = session if blind else open_session
    held.say()
    consumer = consumer_of(held)

    def told() -> int:
        _, is_changed = consumer._updates()
        return len([consumer._status()] if is_changed else [])

    assert told() == 1
    claimed = held.claim()
    assert told() == (0 if blind else 1)
    record_call(claimed, 2, 40.0, broken_off=False)
    assert told() == (0 if blind else 1)
    assert told() == 0


async def test_socket_whose_updates_fail_is_closed_and_the_page_reconnects(monkeypatch: pytest.MonkeyPatch):
    consumer = SessionConsumer()
    monkeypatch.setattr(consumer, "_send_updates", AsyncMock(side_effect=ValueError("a fault")))
    monkeypatch.setattr(consumer, "close", AsyncMock())
    await consumer._run()
    consumer.close.assert_awaited_once_with(TRY_AGAIN_LATER)


def test_status_is_not_older_than_the_events_it_follows(session: SessionUnderTest):
    consumer = consumer_of(session)
    close_session(session).execute()  # after the socket has read the session and before it reads the events
    (events,), is_changed = consumer._updates()
    assert events["events"][-1]["kind"] == "closed"
    assert is_changed
    assert consumer._status()["state"] == "closed"


def test_blind_page_shows_its_schedule_and_nothing_else(session: SessionUnderTest):
    session.say()
    claimed = session.claim()
    record_call(claimed, 2, 40.0, broken_off=False)
    waiting = status_from_socket(session)["wait"]
    assert 15 < waiting.pop("due_in") <= 20
    assert set(waiting.values()) == {None}
    Reply.objects.update(shown_from=timezone.now() - timedelta(seconds=5))
    assert status_from_socket(session)["wait"]["due_in"] == 0
    session.finish(claimed, TALK)
    assert status_from_socket(session)["wait"] is None


# A reply that no process can write


@pytest.mark.parametrize("blind", [False, True])
def test_page_says_since_when_no_process_can_write_the_reply(
    open_session: SessionUnderTest, session: SessionUnderTest, blind: bool
):
    held = session if blind else open_session
    streamer = Heartbeat(Process.Kind.STREAMER)
    streamer.send("")
    held.say()
    assert status_from_socket(held)["outage"] is False
    streamer.end()
    assert status_from_socket(held)["outage"] is False, "a restart takes less than the patience"
    seen = timezone.now() - timedelta(minutes=3)
    Process.objects.update(last_seen=seen)
    status = status_from_socket(held)
    assert status["outage"] is True
    assert set(status["wait"].values()) == {None}, "no schedule can be kept"
    for shown in (status["html"], page_of(held)):
        assert "No reply can be written now" in shown
        assert f"{seen:%H:%M} UTC" in shown
        assert "The model is replying" not in shown
    assert '<span class="writing" hidden>' in page_of(held)
    streamer.send("")
    status = status_from_socket(held)
    assert status["outage"] is False
    assert "The model is replying" in status["html"]


def test_page_is_told_of_an_outage_without_an_event(session: SessionUnderTest):
    session.say()
    consumer = consumer_of(session)

    def told() -> list[bool]:
        _, is_changed = consumer._updates()
        return [consumer._status()["outage"]] if is_changed else []

    assert told() == [False]
    streamer = Heartbeat(Process.Kind.STREAMER)
    streamer.send("")
    assert told() == []
    streamer.end()
    Process.objects.update(last_seen=timezone.now() - timedelta(seconds=5))
    assert told() == [True]
    assert told() == []
    streamer.send("")
    assert told() == [False]


def test_reply_of_a_killed_streamer_waits_for_another_one(session: SessionUnderTest):
    session.say()
    claimed = session.claim()
    assert status_from_socket(session)["outage"] is False, (
        "this process writes it, with or without heartbeats"
    )
    with killed_process() as owner:
        Reply.objects.filter(pk=claimed.pk).update(owner=owner)
    assert status_from_socket(session)["outage"] is False, (
        "where no streamer was ever seen, the message counts"
    )
    Process.objects.create(
        owner="a/1/1/x", kind="streamer", host="h", pid=1, version="1",
        since=timezone.now(), last_seen=timezone.now() - timedelta(seconds=5), lease_until=timezone.now(),
    )  # fmt: skip
    assert status_from_socket(session)["outage"] is True


# Replies without text, refused replies, and failures


def test_empty_reply_says_so_and_may_be_requested_again(session: SessionUnderTest):
    session.say("Try it.", mode="code")
    session.reply(" \n")
    view = tutor_view(session.refresh())
    assert (view.may["ask_again"], view.may["send"], view.may["code"]) == (True, False, False)
    assert view.events[-1].fields["empty"]
    assert "The model ended its reply without any text." in page_of(session)
    ask_again(session)
    assert [message.role for message in model_messages(session.events())] == ["user"]
    session.reply(RIGHT)
    assert tutor_view(session.refresh()).budget.code_generations_used == 1
    with pytest.raises(RefusedError, match="did not fail"):
        ask_again(session)


def test_stopped_reply_without_text_is_not_empty(session: SessionUnderTest):
    session.say()
    session.stopped_reply("")
    view = tutor_view(session.refresh())
    assert (view.may["ask_again"], view.may["send"]) == (False, True)


def test_refused_reply_has_a_badge(session: SessionUnderTest):
    session.say()
    session.reply("I cannot help with that.", finish_reason="refusal")
    assert tutor_view(session.refresh()).events[-1].fields["refused"]
    assert ">refused</span>" in page_of(session)


@pytest.mark.parametrize("kind", ["authentication", "configuration", "not_found"])
def test_what_only_an_operator_can_mend_is_no_retry_until_it_is_mended(session: SessionUnderTest, kind: str):
    session.say()
    fail(session, kind)
    page = page_of(session)
    assert "An operator must act." in page
    assert "Press “Retry reply”" not in page
    view = tutor_view(session.refresh())
    assert not any(view.may[command] for command in ("send", "code", "ask_again", "execute"))
    assert view.may["close"]
    with pytest.raises(RefusedError, match="Only an operator"):
        ask_again(session)
    row = session.row.model
    assert row is not None
    ModelTest.objects.create(model=row, state=ModelTest.State.FAILED)
    assert tutor_view(session.refresh()).needs_operator
    ModelTest.objects.create(model=row, state=ModelTest.State.DONE)
    assert not tutor_view(session.refresh()).needs_operator
    ask_again(session)
    session.reply(TALK)


def test_another_session_that_gets_a_reply_shows_that_the_model_works(
    session: SessionUnderTest, bob: User, doubling: Problem, protocol: Protocol
):
    session.say()
    fail(session, "authentication")
    other = SessionUnderTest(start(bob, doubling, protocol, "openai:hidden-model-name"), bob)
    other.say()
    other.reply(TALK)
    assert tutor_view(session.refresh()).may["ask_again"]


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [("timeout", "The model did not answer in time."), ("server", "The model provider returned an error.")],
)
def test_other_failures_offer_a_retry(session: SessionUnderTest, kind: str, sentence: str):
    session.say()
    fail(session, kind)
    page = page_of(session)
    assert sentence in page
    assert "Press “Retry reply”" in page
    assert tutor_view(session.refresh()).may["ask_again"]


# Other sentences of the page


@pytest.mark.usefixtures("sandbox")
def test_session_without_hidden_tests_never_mentions_them(session: SessionUnderTest, doubling: Problem):
    Problem.objects.update(samples_only=True)
    session.ask_and_get(RIGHT)
    pages = [page_of(session)]
    session.execute()
    pages.append(page_of(session))
    session.judge()
    pages.append(page_of(session))
    for page in pages:
        assert "hidden test" not in page.lower()
    assert "hidden tests" not in "".join(event.html for event in tutor_view(session.refresh()).events).lower()


@pytest.mark.usefixtures("sandbox")
def test_debrief_says_at_the_top_that_it_is_out_of_protocol(session: SessionUnderTest):
    session.ask_and_get(RIGHT)
    session.execute()
    session.judge()
    client = Client()
    client.force_login(session.tutor)
    assert "Debrief, out of protocol." not in page_of(session)
    page = client.get(f"/sessions/{session.pk}/?debrief").content.decode()
    assert page.index("Debrief, out of protocol.") < page.index('id="events"')
    session.say("What did you learn?", mode="debrief")
    assert "Debrief, out of protocol." in page_of(session)


def test_first_action_of_a_session_is_the_primary_button(session: SessionUnderTest):
    def primary() -> list[str]:
        page = page_of(session)
        buttons = page[page.index('id="send"') : page.index('id="shortcuts"')]
        return [
            name
            for name in ("Send", "Ask for code")
            if f'class="primary">{name}<' in buttons.replace(" disabled", "")
        ]

    assert primary() == ["Ask for code"]
    session.ask_and_get(RIGHT)
    assert primary() == ["Send"]
    assert session.events(Event.Kind.REPLY)


def test_number_of_the_next_session_is_announced(session: SessionUnderTest, doubling: Problem):
    client = Client()
    client.force_login(session.tutor)
    Session.objects.update(state=Session.State.CLOSED)
    with override_settings(TUTORING_MODEL="openai:hidden-model-name"):
        page = client.get(doubling.get_absolute_url()).content.decode()
        assert "next: session 2 of 3" in page
        for number in (2, 3):
            Session.objects.create(
                tutor=session.tutor, problem=doubling, protocol=session.row.protocol, number=number,
                model=session.row.model, model_spec=session.row.model_spec, state=Session.State.CLOSED,
                language="python", opened_at=timezone.now(),
            )  # fmt: skip
        page = client.get(doubling.get_absolute_url()).content.decode()
    assert "all 3 sessions on this problem are used" in page
    assert page.count("Start a session</button>") == 1, "another protocol has sessions left"
