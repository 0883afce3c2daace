"""Checks and their findings as part of an exported trajectory, and back."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from tutoring.models import Event, Finding, RuleCheck, Session

_CHECK = {"rule_set", "detectors", "basis", "model", "prompt_hash", "checked_at", "findings"}
_TEXTS: dict[str, int | None] = {"clause": 20, "detector": 40, "explanation": 300, "quote": None}
_NUMBERS = ("event", "version", "start", "end")


def recorded_checks(session: Session) -> list[RuleCheck]:
    """All checks of the session, the oldest first. Prefetch `rule_checks__findings` where there are many sessions."""
    return sorted(session.rule_checks.all(), key=lambda check: (check.checked_at, check.pk))


def to_records(checks: Iterable[RuleCheck], events: Iterable[Event]) -> list[dict[str, Any]]:
    """The checks of one session with these events as plain JSON values."""
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
    """Raises KeyError, TypeError or ValueError for a check that could not be stored; `events` is their number."""
    if missing := _CHECK - record.keys():
        raise ValueError(f"a check has no {', '.join(sorted(missing))}")
    if type(record["rule_set"]["version"]) is not int or not isinstance(record["detectors"], dict):
        raise TypeError("a check must name the version of its rule set and its detectors")
    for key, most in (("basis", 64), ("model", 200), ("prompt_hash", 64)):
        _check_text(record[key], most, f"{key} of a check")
    _check_text(record["rule_set"]["content_hash"], 64, "the hash of a check's rule set")
    if datetime.fromisoformat(record["checked_at"]).tzinfo is None:
        raise ValueError("the time of a check needs its time zone")
    for finding in record["findings"]:
        for key, longest in _TEXTS.items():
            _check_text(finding[key], longest, f"{key} of a finding")
        if not all(type(finding[key]) is int and finding[key] >= 0 for key in _NUMBERS):
            raise ValueError(f"{', '.join(_NUMBERS)} of a finding must be whole numbers")
        if not 1 <= finding["event"] <= events:
            raise ValueError(f"a finding is about event {finding['event']}, which there is not")
        if type(finding["weight"]) not in (int, float) or not isinstance(finding["counts"], dict):
            raise TypeError("a finding needs a weight and counts")


def _check_text(value: object, longest: int | None, what: str) -> None:
    if not isinstance(value, str) or (longest is not None and len(value) > longest):
        raise ValueError(f"{what} must be a text" + (f" of at most {longest} characters" if longest else ""))


def store_records(session: Session, records: list[dict[str, Any]]) -> int:
    """Store those checked records that are not here yet; returns how many."""
    here = set(session.rule_checks.values_list("basis", flat=True))
    events = {event.seq: event for event in session.events.all()}
    new = [record for record in records if record["basis"] not in here]
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
                **{k: v for k, v in finding.items() if k != "event"},
            )
            for finding in record["findings"]
        )
    return len(new)
