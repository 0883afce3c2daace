"""Recording of checks: one `RuleCheck` with its findings for each session and basis."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from django.db import transaction

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
    with transaction.atomic():
        check, created = RuleCheck.objects.get_or_create(session=session, basis=basis, defaults=columns)
        if created:
            for finding in findings:
                finding.rule_check = check
            Finding.objects.bulk_create(findings)
    return check
