"""A session as reviewers, researchers and admins read it: every event, with tokens, times and the verdict."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.shortcuts import get_object_or_404

import judge
from accounts.roles import Person, Role, has_role
from benchmark.models import Judgement
from benchmark.rendering import render_markdown
from tutoring.models import Event, Finding, Session
from tutoring.models.sessions import SessionQuerySet
from tutoring.protocols import recorded_rules


@dataclass(frozen=True)
class Entry:
    """One event: what happened, who did it, when; `fields` are ready for the template."""

    seq: int
    kind: str
    label: str
    by: str
    at: datetime | None
    fields: dict[str, Any]
    findings: list[Finding]
    """What the detectors found in it, for those who may see that."""


@dataclass(frozen=True)
class Trajectory:
    """The whole record. None and empty text mean: unknown."""

    session: Session
    facts: dict[str, Any]
    entries: list[Entry]
    code_generations_limit: int | None
    input_tokens: int | None
    output_tokens: int | None
    tests: list[dict[str, Any]]
    scheduled_replies: int
    """Replies, failed ones too, that the protocol shows at a fixed time: those that could be late."""


def readable_sessions(person: Person) -> SessionQuerySet:
    """The sessions a reviewer, researcher or admin may read whole.

    A reviewer who tutors not their own: it names the model, and a blind session must not.
    """
    if has_role(person, Role.RESEARCHER, Role.ADMIN):
        return Session.objects.all()
    return Session.objects.exclude(tutor=person.pk)


def readable_session(person: Person, session_id: UUID) -> Session:
    """That one of them, with its problem, protocol and judgement. Raises Http404."""
    related = readable_sessions(person).select_related("problem__dataset", "protocol", "judgement")
    return get_object_or_404(related, pk=session_id)


def read_trajectory(session: Session, findings: Iterable[Finding] = ()) -> Trajectory:
    """Everything recorded about a session held here or imported, with those findings at their events."""
    head = session.source.get("head") or {}
    rules = recorded_rules(session)
    events = list(session.events.all())
    found: defaultdict[int, list[Finding]] = defaultdict(list)
    for finding in findings:
        found[finding.event_id].append(finding)
    replies = [event for event in events if event.kind == Event.Kind.REPLY and not event.out_of_protocol]
    usages = [event.data.get("usage") for event in replies]
    return Trajectory(
        session=session,
        facts={
            "model": session.model_spec,
            "tutor": events[0].by if events else "",
            "protocol": str(session.protocol) if session.protocol else _protocol_name(head),
            "language": session.language,
            "number": session.number or head.get("number"),
            "source": (head.get("source") or session.source).get("file", ""),
            "outcome_claimed_by": (head.get("source") or {}).get("outcome_claimed_by"),
        },
        entries=[_entry(session, event, found[event.pk]) for event in events],
        code_generations_limit=rules["code_generations"] if rules else None,
        input_tokens=_total(usages, "input_tokens"),
        output_tokens=_total(usages, "output_tokens"),
        tests=_tests(session.judgement, head),
        scheduled_replies=sum(event.data.get("late_by") is not None for event in events),
    )


def _protocol_name(head: dict[str, Any]) -> str:
    protocol = head.get("protocol")
    return f"{protocol['name']} v{protocol['version']}" if protocol else ""


def _total(usages: list[dict[str, Any] | None], key: str) -> int | None:
    """The sum over all replies of the session proper; unknown as soon as one of them is unknown."""
    amounts = [usage[key] if usage else None for usage in usages]
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if amounts and len(known) == len(amounts) else None


def _tests(judgement: Judgement | None, head: dict[str, Any]) -> list[dict[str, Any]]:
    """Verdict, time and memory by test. Neither hidden data nor the program's output is among them."""
    if judgement is not None and judgement.result is not None:
        tests = judgement.result["tests"]
    else:
        tests = (head.get("judgement") or {}).get("tests", [])
    return [{key: test.get(key) for key in ("name", "verdict", "time", "memory", "sample")} for test in tests]


def _entry(session: Session, event: Event, findings: list[Finding]) -> Entry:
    data = event.data
    fields: dict[str, Any] = dict(data)
    match event.kind:
        case Event.Kind.MESSAGE:
            fields["html"] = render_markdown(data["text"])
        case Event.Kind.REPLY:
            fields["html"] = render_markdown(data["text"])
            fields["waited"] = _seconds(data["started_at"], data["first_text_at"])
            ended = data.get("received_at") or (event.at.isoformat() if event.at else None)
            fields["took"] = _seconds(data["started_at"], ended)
            fields["uninvited"] = data["generation"] is not None and data["code_requested"] is False
        case Event.Kind.VERDICT:
            fields["meaning"] = judge.VERDICT_MEANING[judge.Verdict(data["verdict"])]
        case Event.Kind.CLOSED:
            fields["outcome_name"] = session.outcome_name
    return Entry(
        seq=event.seq,
        kind=event.kind,
        label=Event.Kind(event.kind).label,
        by=event.by,
        at=event.at,
        fields=fields,
        findings=findings,
    )


def _seconds(start: str | None, end: str | None) -> float | None:
    if start is None or end is None:
        return None
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
