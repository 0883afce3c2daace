"""A session as reviewers, researchers and admins read it: every event, with tokens, times and the verdict."""

from __future__ import annotations

import copy
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
from tutoring.models import Event, Finding, Review, Session
from tutoring.models.payloads import (
    MessageSent,
    ReplyFailed,
    ReplyFinished,
    SessionClosed,
    VerdictRecorded,
    VerdictReplaced,
)
from tutoring.models.sessions import SessionQuerySet
from tutoring.protocols import recorded_rules
from tutoring.sessions.assignments import concealed_sessions

_ABOUT_DRAFTS = (Event.Kind.DRAFT_REQUESTED, Event.Kind.MODEL_DRAFT, Event.Kind.DRAFT_INSERTED)

_AFTER_REVIEW = ("turn", "check", "intended_level", "model_drafts")
"""Fields of events that pages show to reviewers only after their review, or never."""

_OF_ONE_ORIGIN = ("fresh", "masked", "calls_broken_off")
"""Optional fields that only events of automatic sessions have, or only those of people's sessions."""

_REVEALING = (
    "consent", "reply", "model", "request_id", "usage", "attempts", "extraction_rule", "started_at", "first_text_at",
    "received_at", "shown_from", "late_by",
)  # fmt: skip
"""Fields whose values differ between automatic sessions and those of people."""


@dataclass(frozen=True)
class TrajectoryEntry:
    """One event as the template shows it. `fields` holds the fields of its payload, and others derived from them."""

    seq: int
    kind: str
    label: str
    by: str
    at: datetime | None
    fields: dict[str, Any]
    findings: list[Finding]
    """The automatic findings in the event; empty for a person who may not see them."""

    @property
    def about_drafts(self) -> bool:
        """Whether the event is about model drafts, which reviewers see only after their review."""
        return self.kind in _ABOUT_DRAFTS


@dataclass(frozen=True)
class Trajectory:
    """The whole record of a session. None and empty text mean unknown."""

    session: Session
    facts: dict[str, Any]
    entries: list[TrajectoryEntry]
    code_generations_limit: int | None
    input_tokens: int | None
    output_tokens: int | None
    tests: list[dict[str, Any]]
    scheduled_replies: int
    """Number of replies, failed ones included, that the protocol shows at a scheduled time."""


def readable_sessions(person: Person) -> SessionQuerySet:
    """Return the sessions of which a reviewer, researcher or admin may read the whole record.

    Reviewers may not read their own sessions: the record names the model, which is hidden from tutors. The tutors of a
    study may not read its sessions before it is closed, whatever their roles: the records name the arms.
    """
    sessions = Session.objects.exclude(pk__in=concealed_sessions(person))
    if has_role(person, Role.RESEARCHER, Role.ADMIN):
        return sessions
    return sessions.exclude(tutor=person.pk)


def sees_origins(person: Person) -> bool:
    """Return whether the person may learn who held a session. Reviewers label without knowing it."""
    return has_role(person, Role.RESEARCHER, Role.ADMIN)


def may_see_growth(person: Person, session: Session) -> bool:
    """Return whether a reader of trajectories may see the growth of the session's programs.

    Only programs of sessions that people held here are measured, so a reviewer may after submitting a review of it.
    """
    own = Review.objects.filter(session=session, reviewer=person.pk, state=Review.State.SUBMITTED)
    return sees_origins(person) or own.exists()


def readable_session(person: Person, session_id: UUID) -> Session:
    """Return a readable session with its problem, protocol and judgement. Raises Http404."""
    related = readable_sessions(person).select_related("problem__dataset", "protocol", "model", "judgement")
    return get_object_or_404(related, pk=session_id)


def blinded_events(session: Session) -> list[Event]:
    """Return copies of the events as exported by people who may still have to review the session.

    Those about model drafts are left out, and so are the drafts of an automatic tutor, the warnings about drafts of the
    tutor, and intended levels. Pseudonyms, times and all that reveals who held the session are unknown.
    """
    shown = [copy.copy(event) for event in session.events.all() if event.kind not in _ABOUT_DRAFTS]
    for event in shown:
        event.by, event.at = "", None
        event.data = {
            name: None if name in _REVEALING else value
            for name, value in event.data.items()
            if name not in _AFTER_REVIEW + _OF_ONE_ORIGIN
        }
    return shown


def read_trajectory(session: Session, findings: Iterable[Finding] = ()) -> Trajectory:
    """Return everything recorded about a session, held here or imported, with each finding at its event."""
    head = session.source.get("head") or {}
    rules = recorded_rules(session)
    events = list(session.events.all())
    found: defaultdict[int, list[Finding]] = defaultdict(list)
    for finding in findings:
        found[finding.event_id].append(finding)
    payloads = [event.payload for event in events]
    usages = [one.usage for one in payloads if isinstance(one, ReplyFinished) and one.phase is None]
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
        code_generations_limit=rules.code_generations if rules else None,
        input_tokens=_total([usage.input_tokens if usage else None for usage in usages]),
        output_tokens=_total([usage.output_tokens if usage else None for usage in usages]),
        tests=_tests(session.judgement, head),
        scheduled_replies=sum(
            isinstance(one, ReplyFinished | ReplyFailed) and one.late_by is not None for one in payloads
        ),
    )


def _protocol_name(head: dict[str, Any]) -> str:
    protocol = head.get("protocol")
    return f"{protocol['name']} v{protocol['version']}" if protocol else ""


def _total(amounts: list[int | None]) -> int | None:
    """Return the sum, or None if there are no amounts or one of them is unknown."""
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if amounts and len(known) == len(amounts) else None


def _tests(judgement: Judgement | None, head: dict[str, Any]) -> list[dict[str, Any]]:
    """Return verdict, time (CPU seconds) and memory (bytes) of each test, without hidden data or program output."""
    if judgement is not None and judgement.result is not None:
        tests = judgement.result["tests"]
    else:
        tests = (head.get("judgement") or {}).get("tests", [])
    return [{key: test.get(key) for key in ("name", "verdict", "time", "memory", "sample")} for test in tests]


def _entry(session: Session, event: Event, findings: list[Finding]) -> TrajectoryEntry:
    return TrajectoryEntry(
        seq=event.seq,
        kind=event.kind,
        label=Event.Kind(event.kind).label,
        by=event.by,
        at=event.at,
        fields={**dict(event.payload), **_derived_fields(session, event)},
        findings=findings,
    )


def _derived_fields(session: Session, event: Event) -> dict[str, Any]:
    match event.payload:
        case MessageSent(text=text):
            return {"html": render_markdown(text, number=event.seq)}
        case ReplyFinished() as reply:
            return {
                "html": render_markdown(reply.text, number=event.seq),
                "waited": _seconds(reply.started_at, reply.first_text_at),
                "took": _seconds(reply.started_at, reply.received_at or event.at),
                "unsolicited": reply.generation is not None and reply.code_requested is False,
            }
        case VerdictRecorded(verdict=verdict):
            return {"meaning": judge.VERDICT_MEANING[verdict]}
        case SessionClosed(outcome=outcome):
            name = outcome.label if session.former_outcome else session.outcome_name
            return {"outcome_name": name}
        case VerdictReplaced() as replaced:
            return {"outcome_name": replaced.outcome.label}
    return {}


def _seconds(start: datetime | None, end: datetime | None) -> float | None:
    """Return the seconds from start to end; None if one of them is unknown."""
    return None if start is None or end is None else (end - start).total_seconds()
