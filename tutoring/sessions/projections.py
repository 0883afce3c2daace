"""Counters of a session: columns that repeat what its events say, so that lists and filters need not read them.

`count_payload` is the only function that changes them. `append_event` and the importer call it for every event.
"""

from __future__ import annotations

from tutoring.models import Session
from tutoring.models.payloads import (
    AnyPayload,
    DialogueReread,
    ExecutionFailed,
    ExecutionRequested,
    Payload,
    ReplyFailed,
    ReplyFinished,
)

COUNTERS = ("code_generations", "executions", "late_replies")

CHECKED_SESSIONS = 100
"""Sessions that `manage.py doctor` checks."""


def count_payload(session: Session, payload: Payload) -> list[str]:
    """Update the counters by one more event; return the names of those that may have changed.

    A failed execution does not count. A newer reading of a published dialogue replaces the number of generations.
    """
    match payload:
        case ReplyFinished():
            session.code_generations += payload.generation is not None
            session.late_replies += bool(payload.late_by)
            return ["code_generations", "late_replies"]
        case ReplyFailed():
            session.late_replies += bool(payload.late_by)
            return ["late_replies"]
        case ExecutionRequested() | ExecutionFailed():
            session.executions += 1 if isinstance(payload, ExecutionRequested) else -1
            return ["executions"]
        case DialogueReread():
            session.code_generations = payload.code_generations
            return ["code_generations"]
    return []


def wrong_counters() -> list[Session]:
    """Return those of the latest CHECKED_SESSIONS sessions whose counters differ from their events."""
    latest = Session.objects.order_by("-recorded_at").prefetch_related("events")[:CHECKED_SESSIONS]
    return [
        session
        for session in latest
        if counters_of([event.payload for event in session.events.all()])
        != {name: getattr(session, name) for name in COUNTERS}
    ]


def counters_of(payloads: list[AnyPayload]) -> dict[str, int]:
    """Return the counters that a session with these events must have."""
    session = Session()
    for payload in payloads:
        count_payload(session, payload)
    return {name: getattr(session, name) for name in COUNTERS}
