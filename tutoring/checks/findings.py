"""Findings: reading them, the permission to see them, and their forms in the output of commands."""

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
"""Value of `Finding.clause` for an exceeded budget of generations."""


def latest_check(session: Session) -> RuleCheck | None:
    """Return the newest check by the detectors; None for an unchecked session."""
    return session.rule_checks.by_detectors().first()


def shown_findings(session: Session) -> list[Finding]:
    """Return the findings of the newest check by the detectors and of the newest check by each model.

    Runs two queries, and one more per check.
    """
    checks = [check] if (check := latest_check(session)) else []
    models = {check.model: check for check in reversed(session.rule_checks.by_models())}
    return [finding for check in (*checks, *models.values()) for finding in findings_of(check)]


def findings_of(check: RuleCheck) -> list[Finding]:
    """Return the findings of a check: exceeded budgets first, then the others in the order of the events.

    Older versions assumed a budget for sessions without a known protocol; their budget findings are excluded.
    """
    found = check.findings.select_related("event", "rule_check").order_by("event__seq", "start", "pk")
    if recorded_rules(check.session) is None:
        found = found.exclude(clause=GENERATION_LIMIT)
    return sorted(found, key=lambda finding: finding.end > 0)


def to_finding(event: Event, detection: Detection) -> Finding:
    """Return an unsaved finding, without its check, for a detection in an event's text."""
    return Finding(
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
    """Return whether the person may see the automatic findings of the session.

    Researchers and admins always may. A reviewer may after submitting a review of the session, or if the review shows
    findings from the start. Otherwise the findings would bias the labels.
    """
    if has_role(person, Role.RESEARCHER, Role.ADMIN):
        return True
    own = Review.objects.filter(session=session, reviewer=person)
    return own.filter(Q(state=Review.State.SUBMITTED) | Q(findings_first=True)).exists()


def to_json(finding: Finding) -> dict[str, Any]:
    """Return a finding as commands print it with --json. `event` is the number of the event in its session."""
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
    """Return a finding as one line of text."""
    quote = f" “{finding.quote}”" if finding.quote else ""
    return f"event {finding.event.seq}, {finding.clause}, {finding.severity}:{quote} {finding.explanation}"
