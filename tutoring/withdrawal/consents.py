"""The withdrawal of a person's consent."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import structlog
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from benchmark.models import Judgement
from tutoring.models import (
    AuditEntry,
    Consent,
    Deviation,
    PrivateNote,
    Reply,
    Session,
    TrainingResult,
    Withdrawal,
    WithdrawnSession,
)
from tutoring.studies.actions import withdraw_from_studies
from tutoring.withdrawal.erasure import erase_sessions
from tutoring.withdrawal.register import update_registers
from tutoring.withdrawal.reuse import ERASED, running_copies

logger = structlog.get_logger(__name__)

_OF_PERSON: dict[str, type[PrivateNote | Consent | TrainingResult]] = {
    "notes": PrivateNote,
    "consents": Consent,
    "training_results": TrainingResult,
}
"""The tables besides sessions whose rows of the person are erased, by the key of their number."""

REASON = "A person has withdrawn the consent."


class WithdrawalRefusedError(Exception):
    """A withdrawal that is not possible now; the message says why."""


def count_of(person: User) -> dict[str, int]:
    """Return the numbers of rows that a withdrawal of the person's consent would erase, by kind."""
    return {
        "sessions": Session.objects.filter(tutor=person).count(),
        **{name: model._default_manager.filter(person=person).count() for name, model in _OF_PERSON.items()},
    }


def withdraw_consent(person: User, by: User | None) -> Withdrawal:
    """Erase the person's sessions and other texts, and return the withdrawal. `by` is None for an operator.

    Raises WithdrawalRefusedError while a reply or a judgement of a session is in progress.
    """
    with transaction.atomic():
        ids = list(Session.objects.select_for_update().filter(tutor=person).values_list("pk", flat=True))
        refuse_unfinished(ids)
        withdrawal = erase_person(person, ids, by=by, at=timezone.now())
        transaction.on_commit(update_registers)
    logger.info("consent withdrawn", withdrawal=str(withdrawal.pk), sessions=len(ids))
    return withdrawal


def refuse_unfinished(ids: Sequence[UUID]) -> None:
    """Raise WithdrawalRefusedError if a process works on one of the sessions."""
    if Reply.objects.filter(session__in=ids, state=Reply.State.STREAMING).exists():
        raise WithdrawalRefusedError("A model is writing a reply in a session. Try again when it has ended.")
    judged = Judgement.objects.filter(state=Judgement.State.RUNNING)
    if judged.filter(Q(sessions__in=ids) | Q(sample_sessions__in=ids)).exists():
        raise WithdrawalRefusedError("A program of a session is being judged. Try again when that has ended.")
    if runs := running_copies(ids):
        raise WithdrawalRefusedError(
            f"Run {runs[0].pk} sends messages of a session. Try again when it has ended."
        )


def erase_person(
    person: User, ids: Sequence[UUID], *, by: User | None, at: datetime, key: UUID | None = None
) -> Withdrawal:
    """Erase the sessions and the person's other texts, and record it. Call it in a transaction."""
    studies = withdraw_from_studies(person, REASON, by)
    counts = erase_sessions(ids)
    for name, model in _OF_PERSON.items():
        rows = model._default_manager.filter(person=person)
        counts[name] = rows.count()
        rows.delete()
    Deviation.objects.filter(by=person, kind=Deviation.Kind.REPORT).update(reason=ERASED, by=None)
    withdrawal = record(
        Withdrawal.Cause.CONSENT,
        ids,
        counts | {"studies": len(studies)},
        at=at,
        by=by,
        account=person.pk,
        key=key,
    )
    AuditEntry.objects.create(
        command=withdrawal.pk,
        action="WithdrawConsent",
        person=by,
        data={"withdrawal": str(withdrawal.pk), **withdrawal.counts},
    )
    return withdrawal


def record(
    cause: Withdrawal.Cause,
    ids: Sequence[UUID],
    counts: dict[str, int],
    *,
    at: datetime,
    by: User | None = None,
    account: int | None = None,
    key: UUID | None = None,
) -> Withdrawal:
    """Store a withdrawal with a tombstone for each session."""
    withdrawal = Withdrawal.objects.create(
        pk=key or uuid.uuid4(), cause=cause, account=account, at=at, by=by, counts=counts
    )
    WithdrawnSession.objects.bulk_create(WithdrawnSession(session=one, withdrawal=withdrawal) for one in ids)
    return withdrawal
