"""Export and import of checks and their findings as part of a trajectory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Annotated, Any, Self

from pydantic import Field, ValidationError, model_validator

from tutoring.models import Event, Finding, RuleCheck, Session
from tutoring.models.payloads import Count, Record, RuleSetReference, ZonedMoment, describe_faults


class FindingRecord(Record):
    """A finding: characters `start` to `end` (excluded) of an event; 0 to 0 is the whole event."""

    event: Annotated[Count, Field(ge=1)]
    clause: Annotated[str, Field(max_length=20)]
    detector: Annotated[str, Field(max_length=40)]
    version: Count
    start: Count
    end: Count
    quote: str
    explanation: Annotated[str, Field(max_length=300)]
    weight: Annotated[float, Field(ge=0, le=1)]
    counts: dict[str, Count]

    @model_validator(mode="after")
    def _check_passage(self) -> Self:
        if self.end < self.start:
            raise ValueError("must not end before its start")
        return self


class CheckRecord(Record):
    """A check of a session under a rule set. `detectors` holds the version of each detector by its name."""

    rule_set: RuleSetReference
    detectors: dict[str, Count]
    basis: Annotated[str, Field(max_length=64)]
    model: Annotated[str, Field(max_length=200)]
    prompt_hash: Annotated[str, Field(max_length=64)]
    checked_at: ZonedMoment
    findings: list[FindingRecord]


_OF_FINDING = tuple(name for name in FindingRecord.model_fields if name != "event")


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
                    **{key: getattr(finding, key) for key in _OF_FINDING},
                }
                for finding in sorted(check.findings.all(), key=lambda finding: finding.pk)
            ],
        }
        for check in checks
    ]


def check_records(records: Iterable[Mapping[str, Any]], events: int) -> None:
    """Raise ValueError for a malformed check. `events` is the number of the session's events."""
    for number, record in enumerate(records, start=1):
        try:
            valid = CheckRecord.model_validate(record)
        except ValidationError as error:
            raise ValueError(f"rule check {number}: {describe_faults(error, CheckRecord)}") from None
        for finding in valid.findings:
            if finding.event > events:
                raise ValueError(
                    f"rule check {number}: a finding names event {finding.event}, but the session has {events} events"
                )


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
