"""The active minutes of a session, read from its events."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from tutoring.models import Event
from tutoring.models.payloads import ReplyFinished

LONGEST = 120.0
"""The most seconds between a reply and the next message that count."""


@dataclass(frozen=True)
class ActiveTime:
    """The active seconds of a session: an estimate over `messages` that follow a reply.

    `unknown` counts messages that follow a reply without a known time.
    """

    seconds: float
    messages: int
    unknown: int


def active_time(events: Iterable[Event], elsewhere: Sequence[datetime] = ()) -> ActiveTime:
    """Return the active time of one session from its events in order; the debrief is left out.

    Each message counts from the moment at which the previous reply is fully shown, at most `LONGEST` seconds. Time in
    which the protocol holds a reply back is before that moment, so it does not count. `elsewhere` are the times at
    which the same tutor sent messages in other sessions: time before such a message belongs to the other session.
    """
    seconds, messages, unknown = 0.0, 0, 0
    shown: datetime | None = None
    replied = False
    for event in events:
        if event.out_of_protocol:
            continue
        match event.kind:
            case Event.Kind.REPLY:
                replied, shown = True, _fully_shown(event)
            case Event.Kind.ASKED_AGAIN:
                replied = False  # the tutor waits for another reply to the same message
            case Event.Kind.MESSAGE if replied:
                replied = False
                if shown is None or event.at is None:
                    unknown += 1
                    continue
                messages += 1
                before = [moment for moment in elsewhere if shown < moment < event.at]
                since = max([shown, *before])
                seconds += min(max((event.at - since).total_seconds(), 0.0), LONGEST)
    return ActiveTime(seconds, messages, unknown)


def _fully_shown(event: Event) -> datetime | None:
    """Return when the tutor had the whole reply: its event is recorded then, and not before a held reply is due."""
    reply = event.payload_as(ReplyFinished)
    if event.at is None or reply.shown_from is None:
        return event.at
    return max(event.at, reply.shown_from)
