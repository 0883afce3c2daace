"""Active minutes of constructed streams of events with known minutes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tutoring.effort.minutes import LONGEST, active_time
from tutoring.models import Event
from tutoring.models.payloads import MessageSent, ReplyFinished, ReplyRequestedAgain

START = datetime(2026, 3, 1, 23, 59, 0, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def message(seconds: float | None, *, debrief: bool = False) -> Event:
    payload = MessageSent(mode="talk", text="a", sent="a", phase="debrief" if debrief else None)
    return _event(payload, seconds)


def reply(seconds: float | None, *, shown_from: float | None = None) -> Event:
    nothing = (
        "reply", "message", "code_requested", "generation", "code", "extraction_rule", "model", "finish_reason",
        "request_id", "usage", "attempts", "started_at", "first_text_at", "received_at", "late_by",
    )  # fmt: skip
    unknown: dict[str, Any] = dict.fromkeys(nothing)
    payload = ReplyFinished(
        **unknown,
        text="b", unseen_text="", reasoning="", stopped=False, hidden=False,
        shown_from=None if shown_from is None else at(shown_from),
    )  # fmt: skip
    return _event(payload, seconds)


def _event(payload: MessageSent | ReplyFinished | ReplyRequestedAgain, seconds: float | None) -> Event:
    return Event(
        kind=payload.KIND,
        version=payload.VERSION,
        data=payload.to_json(),
        at=None if seconds is None else at(seconds),
    )


def seconds_of(*events: Event, elsewhere: tuple[float, ...] = ()) -> float:
    return active_time(events, [at(one) for one in elsewhere]).seconds


def test_sum_over_messages_from_the_reply_to_the_send():
    found = active_time([message(0), reply(10), message(40), reply(50), message(65.5), reply(70)])
    assert (found.seconds, found.messages, found.unknown) == (45.5, 2, 0)


def test_midnight_changes_nothing():
    assert seconds_of(message(0), reply(30), message(90)) == 60, "from 23:59:30 to 00:00:30"


def test_two_minutes_at_most_for_each_message():
    assert seconds_of(message(0), reply(10), message(4_000), reply(4_010), message(4_020)) == LONGEST + 10


def test_a_lost_connection_counts_as_two_minutes_at_most():
    """The tutor reads the reply, loses the connection for an hour and sends the message again."""
    assert seconds_of(message(0), reply(5), message(3_600), reply(3_605), message(3_625)) == LONGEST + 20


def test_a_held_reply_counts_from_the_moment_when_it_is_fully_shown():
    """The model needs 3 s, the protocol shows the reply from 20 s on, and its last word after 32 s."""
    assert seconds_of(message(0), reply(32, shown_from=20), message(62)) == 30
    assert seconds_of(message(0), reply(3, shown_from=20), message(62)) == 42, "stopped before it is due"


def test_time_in_another_session_does_not_count_twice():
    """Two tabs: between 10 and 70 s the tutor sends a message in another session, at 50 s."""
    assert seconds_of(message(0), reply(10), message(70), elsewhere=(50,)) == 20
    assert seconds_of(message(0), reply(10), message(70), elsewhere=(5, 80)) == 60
    here = seconds_of(message(0), reply(10), message(70), elsewhere=(20, 50))
    there = seconds_of(message(1), reply(12), message(20), reply(22), message(50), elsewhere=(0, 70))
    assert (here, there) == (20, 8 + 28)


def test_first_message_debrief_and_retries_do_not_count():
    assert seconds_of(message(100)) == 0
    assert seconds_of(message(0), reply(10), message(30, debrief=True)) == 0
    again = _event(ReplyRequestedAgain(message=1), 20)
    assert seconds_of(message(0), reply(10), again, reply(25), message(40)) == 15


@pytest.mark.parametrize(
    "events", [(message(0), reply(None), message(40)), (message(0), reply(1), message(None))]
)
def test_unknown_times_are_counted_as_unknown(events: tuple[Event, ...]):
    found = active_time(events)
    assert (found.seconds, found.messages, found.unknown) == (0, 0, 1)
