"""Near misses as part of an exported trajectory, and back. Only researchers' exports hold them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from tutoring.models import Event, NearMiss, Session

_NUMBERS = ("generation", "passed", "total", "passed_prefix")
_SHARES = ("distance_to_previous", "distance_to_final")
_TEXTS = {
    "verdict": 10,
    "first_failing": 200,
    "fault": 10_000,
    "policy": 10,
    "judge_version": 40,
    "problem_hash": 64,
}
_COLUMNS = (*_NUMBERS, *_SHARES, *_TEXTS, "correct_but_slow")


def measured(session: Session) -> list[NearMiss]:
    """The session's programs that were measured, in their order. Prefetch `near_misses` for many sessions."""
    rows = (row for row in session.near_misses.all() if row.measured_at is not None)
    return sorted(rows, key=lambda row: row.generation)


def to_records(session: Session) -> list[dict[str, Any]]:
    """What was measured, as plain JSON values; `event` is the number of the reply."""
    rows = measured(session)
    seqs = {event.pk: event.seq for event in session.events.all()} if rows else {}
    return [
        {
            "event": seqs[row.event_id],
            "measured_at": row.measured_at and row.measured_at.isoformat(),
            **{column: getattr(row, column) for column in _COLUMNS},
        }
        for row in rows
    ]


def check_record(record: dict[str, Any], events: list[dict[str, Any]]) -> None:
    """Raises KeyError, TypeError or ValueError for what could not be stored."""
    seq = record["event"]
    if type(seq) is not int or not 1 <= seq <= len(events) or events[seq - 1]["kind"] != Event.Kind.REPLY:
        raise ValueError("a near miss must name the reply that it measures")
    for column in _NUMBERS:
        if record[column] is not None and not (type(record[column]) is int and 0 <= record[column] < 2**31):
            raise ValueError(f"{column} of a near miss must be a whole number")
    for column in _SHARES:
        if not isinstance(record[column], float | int | None):
            raise ValueError(f"{column} of a near miss must be a number")
    for column, longest in _TEXTS.items():
        if not isinstance(record[column], str) or len(record[column]) > longest:
            raise ValueError(f"{column} of a near miss must be a text of at most {longest} characters")
    if record["generation"] is None or record["distance_to_final"] is None:
        raise ValueError("a near miss must have a generation and its distance to the final program")
    if record["correct_but_slow"] not in (True, False, None):
        raise ValueError("correct_but_slow of a near miss must be true, false or null")
    if datetime.fromisoformat(record["measured_at"]).tzinfo is None:
        raise ValueError("the time of a near miss needs its time zone")


def store_records(session: Session, records: list[dict[str, Any]]) -> int:
    """Store those that are not here yet; returns how many."""
    here = set(session.near_misses.values_list("generation", flat=True))
    new = [record for record in records if record["generation"] not in here]
    events = {event.seq: event for event in session.events.all()} if new else {}
    NearMiss.objects.bulk_create(
        NearMiss(
            session=session,
            event=events[record["event"]],
            measured_at=datetime.fromisoformat(record["measured_at"]),
            **{column: record[column] for column in _COLUMNS},
        )
        for record in new
    )
    return len(new)
