"""Program scores in exported trajectories, under the key `near_misses`. Only researchers' exports contain them."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Any

from tutoring.models import Event, ProgramScore, Session

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
"""The longest text of each column, in characters."""

_FIGURES = ("measured_at", "passed", "total", "passed_prefix", *_TEXTS, "correct_but_slow")


def to_records(session: Session) -> list[dict[str, Any]]:
    """Return the measured programs of the session by generation, as plain JSON values; `event` is the reply's number.

    Prefetch `program_scores__judgement` for many sessions.
    """
    measured = [(row, figures) for row in session.program_scores.all() if (figures := row.figures)]
    seqs = {event.pk: event.seq for event in session.events.all()} if measured else {}
    return [
        {
            "event": seqs[row.event_id],
            "generation": row.generation,
            "distance_to_previous": row.distance_to_previous,
            "distance_to_final": row.distance_to_final,
            **asdict(figures),
            "measured_at": figures.measured_at.isoformat(),
        }
        for row, figures in sorted(measured, key=lambda entry: entry[0].generation)
    ]


def check_record(record: dict[str, Any], events: list[dict[str, Any]]) -> None:
    """Raise KeyError, TypeError or ValueError for a record that cannot be stored."""
    _check_types(record)
    seq = record["event"]
    if not 1 <= seq <= len(events) or events[seq - 1]["kind"] != Event.Kind.REPLY:
        raise ValueError("a program score must name the reply that it measures")
    if record["generation"] is None or record["distance_to_final"] is None:
        raise ValueError("a program score must have a generation and its distance to the final program")
    if record["correct_but_slow"] not in (True, False, None):
        raise ValueError("correct_but_slow of a program score must be true, false or null")
    if record.get("near_limit", False) not in (True, False):
        raise ValueError("near_limit of a program score must be true or false")
    if datetime.fromisoformat(record["measured_at"]).tzinfo is None:
        raise ValueError("the time of a program score needs its time zone")


def _check_types(record: dict[str, Any]) -> None:
    if type(record["event"]) is not int:
        raise ValueError("a program score must name the reply that it measures")
    for column in _NUMBERS:
        if record[column] is not None and not (type(record[column]) is int and 0 <= record[column] < 2**31):
            raise ValueError(f"{column} of a program score must be a whole number")
    for column in _SHARES:
        if not isinstance(record[column], float | int | None):
            raise ValueError(f"{column} of a program score must be a number")
    for column, longest in _TEXTS.items():
        if not isinstance(record[column], str) or len(record[column]) > longest:
            raise ValueError(f"{column} of a program score must be a text of at most {longest} characters")


def store_records(session: Session, records: list[dict[str, Any]]) -> int:
    """Store the records of generations that have no score here; return their number."""
    here = set(session.program_scores.values_list("generation", flat=True))
    new = [record for record in records if record["generation"] not in here]
    events = {event.seq: event for event in session.events.all()} if new else {}
    ProgramScore.objects.bulk_create(
        ProgramScore(
            session=session,
            event=events[record["event"]],
            generation=record["generation"],
            distance_to_previous=record["distance_to_previous"],
            distance_to_final=record["distance_to_final"],
            figures_record={name: record[name] for name in _FIGURES}
            | {"near_limit": record.get("near_limit", False)},
        )
        for record in new
    )
    return len(new)
