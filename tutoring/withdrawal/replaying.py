"""Withdrawals in a restored backup: those that are later than the backup are carried out again."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction

from tutoring.models import Session, Withdrawal
from tutoring.withdrawal.consents import erase_person, record
from tutoring.withdrawal.retention import erase_expired


def apply_register(register: Iterable[dict[str, Any]]) -> int:
    """Carry out the withdrawals that this database, restored from a backup, does not have; return their number."""
    applied = 0
    for entry in sorted(register, key=lambda entry: str(entry["at"])):
        with transaction.atomic():
            if not Withdrawal.objects.filter(pk=entry["id"]).exists():
                _apply(entry)
                applied += 1
    return applied


def _apply(entry: dict[str, Any]) -> None:
    key, at = UUID(entry["id"]), datetime.fromisoformat(entry["at"])
    named = [UUID(one) for one in entry["sessions"]]
    found = list(Session.objects.filter(pk__in=named).values_list("pk", flat=True))
    person = User.objects.filter(pk=entry["account"]).first() if entry["account"] is not None else None
    if person is not None:
        # Sessions that the backup has and the withdrawal does not: none, unless the clock went back.
        own = Session.objects.filter(tutor=person, opened_at__lte=at).values_list("pk", flat=True)
        erase_person(person, sorted({*found, *own}), by=None, at=at, key=key)
    elif entry["cause"] == Withdrawal.Cause.RETENTION:
        erase_expired(found, 0, at=at, key=key)
    else:  # the account was made after the backup
        record(Withdrawal.Cause.CONSENT, found, entry["counts"], at=at, account=entry["account"], key=key)
