"""Blind sessions: the time and pace at which a reply appears do not depend on its model."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timedelta
from html import unescape
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from accounts.roles import Role
from benchmark.models import Problem
from benchmark.providers import Completed, Parameters, TokenUsage
from tests.tutoring.conftest import PersonFactory
from tests.tutoring.dialogues import RIGHT, SessionUnderTest, start
from tutoring.actions import AskAgain
from tutoring.models import Event, Protocol, Reply
from tutoring.protocols import PRESETS, freeze, rules_of
from tutoring.replies.claimed_reply import ClaimedReply
from tutoring.replies.claims import restart_reply
from tutoring.replies.endings import fail_reply, finish_reply, persist_answer
from tutoring.replies.model_answer import ModelAnswer
from tutoring.replies.pieces import Delta, append_deltas
from tutoring.replies.streamer import FLUSH_INTERVAL, ActiveReply
from tutoring.sessions.conversation import tutor_view

COMPLETED = Completed(
    usage=TokenUsage(input_tokens=10, output_tokens=5, cached_input_tokens=None, reasoning_tokens=None),
    model="hidden-model-name-2026",
    finish_reason="stop",
    request_id="request-1",
)


@pytest.fixture
def blind(alice: User, doubling: Problem, protocol: Protocol) -> SessionUnderTest:
    """A session of the default protocol, whose replies appear after a fixed time."""
    assert rules_of(protocol).seconds_to_first_word == 20
    return SessionUnderTest(start(alice, doubling, protocol, "openai:hidden-model-name"), alice)


def answer_after(claimed: ClaimedReply, text: str, seconds: float) -> ModelAnswer:
    """Return a complete answer that ended `seconds` before its scheduled time (negative: after it)."""
    assert claimed.shown_from is not None
    ended = claimed.shown_from - timedelta(seconds=seconds)
    return ModelAnswer(text=text, ended_at=ended.isoformat(), completed=COMPLETED)


def release(claimed: ClaimedReply, *pieces: str) -> None:
    deltas = [Delta(claimed.pk, claimed.attempt, seq, text) for seq, text in enumerate(pieces, start=1)]
    append_deltas(deltas, [(claimed.pk, claimed.attempt)])


def page_of(session: SessionUnderTest) -> str:
    client = Client()
    client.force_login(session.tutor)
    page = client.get(f"/sessions/{session.pk}/").content.decode()
    return "\n".join(line for line in page.splitlines() if "csrf" not in line and "nonce" not in line)


DUE = datetime.fromisoformat("2026-01-01T00:00:20+00:00")
TEXT = "word " * 40


@pytest.mark.slow
@given(
    arrivals=st.lists(st.tuples(st.integers(0, 399), st.integers(1, 60)), max_size=30),
    whole_at=st.integers(0, 420),
)
def test_released_chunks_and_their_times_are_the_same_for_every_model(
    arrivals: list[tuple[int, int]], whole_at: int
) -> None:
    """A tick is 50 ms, the reply is scheduled for tick 400, and the model writes until tick `whole_at`."""
    claimed = ClaimedReply(
        pk=1, attempt=1, session_id=uuid4(), model_spec="m", parameters=Parameters(), messages=(), live=True,
        characters_per_second=240, maximum_seconds_shown=None, shown_from=DUE, answer=None,
    )  # fmt: skip
    chat = ActiveReply(claimed)
    arriving, released = dict(arrivals), []
    for tick in range(500):
        arrived = len(chat.answer.text)
        size = len(TEXT) if tick == whole_at else arriving.get(tick, 0) if tick < whole_at else 0
        chat.answer.text += TEXT[arrived : arrived + size]
        chat.pending += TEXT[arrived : arrived + size]
        chat.persisted = tick >= whole_at
        delta = chat.next_delta(FLUSH_INTERVAL, DUE + timedelta(seconds=FLUSH_INTERVAL * (tick - 400)))
        if delta is not None:
            released.append((tick, delta.text))
    first = max(400, whole_at)
    assert released == [
        (first + number, TEXT[12 * number : 12 * number + 12]) for number in range(-(-len(TEXT) // 12))
    ]


def test_call_that_is_repeated_leaves_no_trace_on_the_page(blind: SessionUnderTest):
    blind.say("Try it.", mode="code")
    waiting = page_of(blind)
    assert "The reply never appears sooner than 20 seconds after your message, whichever model" in waiting
    claimed = blind.claim()
    again = restart_reply(claimed, "the stream broke", "It had said this.")
    assert again is not None
    assert page_of(blind) == waiting
    persist_answer(again, answer_after(again, RIGHT, 5))
    assert page_of(blind) == waiting
    release(again, RIGHT)
    finish_reply(again, answer_after(again, RIGHT, 5))
    [restart] = blind.events(Event.Kind.REPLY_RESTARTED)
    assert restart.data["partial_text"] == "It had said this."
    view = tutor_view(blind.refresh())
    assert [event.seq for event in view.events] == [1, 2, 3], "no gap reveals the repeated call"
    assert [event.kind for event in view.events] == ["opened", "message", "reply"]
    assert blind.events(Event.Kind.REPLY)[0].data["attempts"] == 2


def test_complete_answer_is_requested_once(blind: SessionUnderTest):
    blind.say("Try it.", mode="code")
    claimed = blind.claim()
    persist_answer(claimed, replace(answer_after(claimed, RIGHT, 5), reasoning="Hm."))
    release(claimed, RIGHT[:5], RIGHT[5:9])
    before = page_of(blind)
    Reply.objects.filter(pk=claimed.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    heir = blind.claim()
    chat = ActiveReply.of(heir)
    assert (chat.persisted, chat.pending, chat.seq) == (True, RIGHT[9:], 2)
    assert page_of(blind) == before, "shown text is not taken back"
    _, lost = append_deltas([Delta(claimed.pk, claimed.attempt, 3, "late")], [(claimed.pk, claimed.attempt)])
    assert lost == {claimed.pk}
    append_deltas([Delta(heir.pk, heir.attempt, 3, chat.pending)], [(heir.pk, heir.attempt)])
    finish_reply(heir, chat.answer)
    [reply] = blind.events(Event.Kind.REPLY)
    assert reply.data["text"] == RIGHT
    assert reply.data["attempts"] == 1
    assert (reply.data["reasoning"], reply.data["model"], reply.data["usage"]["output_tokens"]) == (
        "Hm.",
        "hidden-model-name-2026",
        5,
    )
    assert not blind.events(Event.Kind.REPLY_RESTARTED)
    assert Reply.objects.get().answer is None, "the event holds it"


@pytest.mark.parametrize(("seen", "generation"), [(0, None), (9, None), (len(RIGHT), 1)])
def test_stop_counts_what_was_seen_and_shows_no_more(
    blind: SessionUnderTest, seen: int, generation: int | None
):
    blind.say("Try it.", mode="code")
    claimed = blind.claim()
    answer = answer_after(claimed, RIGHT, 5)
    persist_answer(claimed, answer)
    if seen:
        release(claimed, RIGHT[:seen])
    finish_reply(claimed, answer, stopped=True)
    [reply] = blind.events(Event.Kind.REPLY)
    assert (reply.data["text"], reply.data["unseen_text"]) == (RIGHT[:seen], RIGHT[seen:])
    assert (reply.data["generation"], reply.data["stopped"], reply.data["finish_reason"]) == (
        generation,
        True,
        "stopped",
    )
    assert reply.data["usage"]["output_tokens"] == 5, "unseen tokens are paid"
    assert (">generation 1<" in page_of(blind)) == (generation is not None)
    assert tutor_view(blind.refresh()).budget.stops_used == 1


@pytest.mark.usefixtures("sandbox")
def test_late_replies_are_counted_for_researchers_alone(
    blind: SessionUnderTest, person: PersonFactory, alice: User
):
    blind.say("Try it.", mode="code")
    claimed = blind.claim()
    persist_answer(claimed, answer_after(claimed, RIGHT, 5))
    release(claimed, RIGHT)
    finish_reply(claimed, answer_after(claimed, RIGHT, 5))
    blind.say("And now?")
    claimed = blind.claim()
    fail_reply(claimed, "timeout", "it took too long", answer_after(claimed, "Half", -2.5))
    AskAgain(session_id=blind.pk, person=alice, command=uuid4()).execute()
    claimed = blind.claim()
    release(claimed, "Words.")
    finish_reply(claimed, answer_after(claimed, "Words.", -3.25))
    kinds = (Event.Kind.REPLY, Event.Kind.REPLY_FAILED)
    assert [event.data["late_by"] for event in blind.events(*kinds)] == [0, 2.5, 3.25]
    assert blind.refresh().late_replies == 2
    client = Client()
    client.force_login(person("rosa", Role.RESEARCHER))
    record = client.get(f"/trajectories/{blind.pk}/").content.decode()
    assert "Display delay</dt><dd>3.25&nbsp;s" in record
    assert "<dt>Delayed replies</dt><dd>2 of 3" in record
    blind.execute()
    blind.judge()
    rates = client.get("/review/solve-rates/").content.decode()
    [behind] = re.findall(r'href="([^"]+found=late[^"]*)">1</a>', rates)
    assert str(blind.pk) in client.get(unescape(behind)).content.decode()
    tutors = page_of(blind)
    assert "late" not in tutors.replace("latest", "").replace("template", "").replace("related", "").lower()
    assert "delay" not in tutors.lower()


def test_protocols_without_a_schedule_and_scripted_students_are_not_held(
    alice: User, doubling: Problem, protocol: Protocol
):
    open_ = freeze("open", PRESETS["usaco-2024"].with_settings(seconds_to_first_word=None))
    for under, model in ((open_, "openai:m"), (protocol, "practice:student")):
        session = SessionUnderTest(start(alice, doubling, under, model), alice)
        session.say("Try it.", mode="code")
        claimed = session.claim()
        assert (claimed.shown_from, claimed.shown_attempt) == (None, 1)
        assert "seconds after your message" not in page_of(session)
        finish_reply(claimed, ModelAnswer(completed=COMPLETED))
        [reply] = session.events(Event.Kind.REPLY)
        assert (reply.data["late_by"], session.refresh().late_replies) == (None, 0)


@pytest.mark.parametrize("jump", [-3600, 3600])
def test_a_jump_of_the_clock_does_not_move_a_claimed_reply(
    blind: SessionUnderTest, monkeypatch: pytest.MonkeyPatch, jump: int
):
    blind.say("Try it.", mode="code")
    reply = ActiveReply.of(blind.claim())
    due = reply.claimed.shown_from
    assert due is not None
    jumped = timezone.now() + timedelta(seconds=jump)
    monkeypatch.setattr(timezone, "now", lambda: jumped)
    assert 18 < (due - reply.now()).total_seconds() <= 20


def test_a_reply_whose_message_is_later_than_the_clock_is_due_after_its_delay(
    blind: SessionUnderTest, monkeypatch: pytest.MonkeyPatch
):
    blind.say("Try it.", mode="code")
    set_back = timezone.now() - timedelta(hours=1)
    monkeypatch.setattr(timezone, "now", lambda: set_back)
    reply = ActiveReply.of(blind.claim())
    assert reply.claimed.shown_from is not None
    assert 18 < (reply.claimed.shown_from - reply.now()).total_seconds() <= 20.1
