"""Reading what the detectors found, and who may see it."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.db.models import Q

from accounts.roles import Role, has_role
from tutoring.models import Event, Finding, Review, RuleCheck, Session
from tutoring.models.payloads import MessageSent
from tutoring.protocols import recorded_rules
from tutoring.rules import Detection

GENERATION_LIMIT = "code_generations"
"""Stands in the place of a clause where the budget of generations was exceeded."""


def latest_check(session: Session) -> RuleCheck | None:
    """The detectors' newest check of the session; None when it was never checked."""
    return session.rule_checks.by_detectors().first()


def shown_findings(session: Session) -> list[Finding]:
    """What the detectors' newest check found, and the newest of each model that was asked. Up to four queries."""
    checks = [check] if (check := latest_check(session)) else []
    models = {check.model: check for check in reversed(session.rule_checks.by_models())}
    return [finding for check in (*checks, *models.values()) for finding in findings_of(check)]


def findings_of(check: RuleCheck) -> list[Finding]:
    """Return what a check found: exceeded budgets first, then in the order of the events.

    Older versions assumed a budget where no protocol is known; what they say of it is left out.
    """
    found = check.findings.select_related("event", "rule_check").order_by("event__seq", "start", "pk")
    if recorded_rules(check.session) is None:
        found = found.exclude(clause=GENERATION_LIMIT)
    return sorted(found, key=lambda finding: finding.end > 0)


def to_finding(check: RuleCheck, event: Event, detection: Detection) -> Finding:
    """A detection in an event's text as a row that is not stored yet."""
    return Finding(
        rule_check=check,
        event=event,
        clause=detection.clause,
        detector=detection.detector,
        version=detection.version,
        start=detection.start,
        end=detection.end,
        quote=event.payload_as(MessageSent).text[detection.start : detection.end],
        explanation=detection.explanation,
        weight=detection.weight,
    )


def may_see_findings(person: User, session: Session) -> bool:
    """Researchers and admins always; a reviewer once their own review is in, or when it was to begin with them.

    Findings seen before would draw the labels towards them.
    """
    if has_role(person, Role.RESEARCHER, Role.ADMIN):
        return True
    own = Review.objects.filter(session=session, reviewer=person)
    return own.filter(Q(state=Review.State.SUBMITTED) | Q(findings_first=True)).exists()


def to_json(finding: Finding) -> dict[str, Any]:
    """A finding as commands print it. `event` is the number of the message in its session."""
    return {
        "rule": finding.clause,
        "message": finding.explanation,
        "event": finding.event.seq,
        "start": finding.start,
        "end": finding.end,
        "quote": finding.quote,
        "weight": finding.weight,
        "severity": finding.severity,
        "detector": finding.detector,
        **({"model": finding.rule_check.model} if finding.rule_check.model else {}),
        "version": finding.version,
        **finding.counts,
    }


def one_line(finding: Finding) -> str:
    """A finding as commands print it for people."""
    quote = f" “{finding.quote}”" if finding.quote else ""
    return f"event {finding.event.seq}, {finding.clause}, {finding.severity}:{quote} {finding.explanation}"
