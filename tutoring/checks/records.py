"""Export and import of checks and their findings as part of a trajectory."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from tutoring.models import Event, Finding, RuleCheck, Session

_CHECK = {"rule_set", "detectors", "basis", "model", "prompt_hash", "checked_at", "findings"}
_TEXTS: dict[str, int | None] = {"clause": 20, "detector": 40, "explanation": 300, "quote": None}
_NUMBERS = ("event", "version", "start", "end")


def recorded_checks(session: Session) -> list[RuleCheck]:
    """Return all checks of the session, oldest first. Prefetch `rule_checks__findings` for many sessions."""
    return sorted(session.rule_checks.all(), key=lambda check: (check.checked_at, check.pk))


def to_records(checks: Iterable[RuleCheck], events: Iterable[Event]) -> list[dict[str, Any]]:
    """Return the checks of one session as JSON values. `events` are the events of that session."""
    seqs = {event.pk: event.seq for event in events}
    return [
        {
            "rule_set": {"version": check.rule_set, "content_hash": check.rule_set_hash},
            "detectors": check.detectors,
            "basis": check.basis,
            "model": check.model,
            "prompt_hash": check.prompt_hash,
            "checked_at": check.checked_at.isoformat(),
            "findings": [
                {
                    "event": seqs[finding.event_id],
                    **{
                        key: getattr(finding, key)
                        for key in (*_TEXTS, "version", "start", "end", "weight", "counts")
                    },
                }
                for finding in sorted(check.findings.all(), key=lambda finding: finding.pk)
            ],
        }
        for check in checks
    ]


def check_record(record: dict[str, Any], events: int) -> None:
    """Raise KeyError, TypeError or ValueError for a malformed check. `events` is the number of the session's events."""
    if missing := _CHECK - record.keys():
        raise ValueError(f"a check lacks {', '.join(sorted(missing))}")
    if type(record["rule_set"]["version"]) is not int or not isinstance(record["detectors"], dict):
        raise TypeError("a check must name the version of its rule set and its detectors")
    for key, most in (("basis", 64), ("model", 200), ("prompt_hash", 64)):
        _check_text(record[key], most, f"{key} of a check")
    _check_text(record["rule_set"]["content_hash"], 64, "the hash of a check's rule set")
    if datetime.fromisoformat(record["checked_at"]).tzinfo is None:
        raise ValueError("the time of a check needs a time zone")
    for finding in record["findings"]:
        for key, longest in _TEXTS.items():
            _check_text(finding[key], longest, f"{key} of a finding")
        if not all(type(finding[key]) is int and finding[key] >= 0 for key in _NUMBERS):
            raise ValueError(f"{', '.join(_NUMBERS)} of a finding must be whole numbers, 0 or greater")
        if not 1 <= finding["event"] <= events:
            raise ValueError(f"a finding names event {finding['event']}, but the session has {events} events")
        if type(finding["weight"]) not in (int, float) or not isinstance(finding["counts"], dict):
            raise TypeError("a finding needs a number as weight and an object as counts")


def _check_text(value: object, longest: int | None, name: str) -> None:
    if not isinstance(value, str) or (longest is not None and len(value) > longest):
        raise ValueError(f"{name} must be a text" + (f" of at most {longest} characters" if longest else ""))


def store_records(session: Session, records: list[dict[str, Any]]) -> int:
    """Store the validated records that are new to this database. Return their number."""
    known = set(session.rule_checks.values_list("basis", "checked_at"))
    events = {event.seq: event for event in session.events.all()}
    new = [
        record
        for record in records
        if (record["basis"], datetime.fromisoformat(record["checked_at"])) not in known
    ]
    for record in new:
        check = RuleCheck.objects.create(
            session=session,
            rule_set=record["rule_set"]["version"],
            rule_set_hash=record["rule_set"]["content_hash"],
            checked_at=datetime.fromisoformat(record["checked_at"]),
            **{key: record[key] for key in ("detectors", "basis", "model", "prompt_hash")},
        )
        Finding.objects.bulk_create(
            Finding(
                rule_check=check,
                event=events[finding["event"]],
                **{key: value for key, value in finding.items() if key != "event"},
            )
            for finding in record["findings"]
        )
    return len(new)
