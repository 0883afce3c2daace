"""Recording of checks: a `RuleCheck` with its findings for each change of the inputs of a session's check."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone

from tutoring.models import Finding, RuleCheck, Session
from tutoring.rules import RuleSet


def basis_of(*inputs: Any) -> str:
    """Return the sha256 of the inputs of a check. Equal inputs give equal findings, so no check is repeated."""
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()


def record_check(
    session: Session, basis: str, rules: RuleSet, findings: Sequence[Finding], **columns: Any
) -> RuleCheck:
    """Store a check of the session under the rule set with these unsaved findings, and return it.

    If another process has stored a check with the same basis meanwhile, return that one and store nothing.
    """
    columns |= {"rule_set": rules.version, "rule_set_hash": rules.content_hash}
    return _store_as_latest(RuleCheck(session=session, basis=basis, **columns), findings)


def repeat_check(session: Session, basis: str) -> RuleCheck | None:
    """Return a check of the session with this basis as the latest by its detectors or model; None without one.

    If a check with another basis has replaced its findings, a copy of it is stored.
    """
    earlier = session.rule_checks.filter(basis=basis).first()
    if earlier is None or _latest_like(earlier) == earlier:
        return earlier
    findings = list(earlier.findings.all())
    for row in (earlier, *findings):
        row.pk, row._state.adding = None, True
    earlier.checked_at = timezone.now()
    return _store_as_latest(earlier, findings)


def _latest_like(check: RuleCheck) -> RuleCheck | None:
    """Return the latest stored check of the session by the detectors or model of this check."""
    alike = RuleCheck.objects.filter(session=check.session, model=check.model)
    return alike.order_by("-checked_at", "-pk").first()


def _store_as_latest(check: RuleCheck, findings: Sequence[Finding]) -> RuleCheck:
    """Store an unsaved check with its unsaved findings unless the latest one has its basis; return the latest."""
    with transaction.atomic():
        Session.objects.lock(check.session_id)
        latest = _latest_like(check)
        if latest is not None and latest.basis == check.basis:
            return latest
        check.save()
        for finding in findings:
            finding.rule_check = check
        Finding.objects.bulk_create(findings)
    return check
