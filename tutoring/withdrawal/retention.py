"""The retention period: sessions are erased some days after their end."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from tutoring.models import Assignment, Event, PrivateNote, Session, Study, Withdrawal
from tutoring.studies.outcomes import keep_outcomes
from tutoring.withdrawal.consents import record
from tutoring.withdrawal.erasure import erase_sessions
from tutoring.withdrawal.register import update_registers
from tutoring.withdrawal.reuse import sessions_in_use

logger = structlog.get_logger(__name__)


def expired_sessions(days: int) -> QuerySet[Session]:
    """Return the sessions of tutors that ended, or had their last event, more than `days` days ago.

    Sessions of a study stay until it is closed, and sessions whose messages a run in progress reuses until it ends.
    """
    end = timezone.now() - timedelta(days=days)
    recent = Event.objects.filter(session=OuterRef("pk"), at__gte=end)
    unfinished = Assignment.objects.filter(session=OuterRef("pk"), study__state__in=Study.UNFINISHED)
    old = Q(closed_at__lt=end) | (Q(closed_at=None, opened_at__lt=end) & ~Exists(recent))
    held = Session.objects.filter(origin=Session.Origin.TUTORED)
    expired = held.filter(old).exclude(Exists(unfinished)).order_by("opened_at")
    return expired.exclude(pk__in=sessions_in_use(expired))


def expired_notes(days: int) -> QuerySet[PrivateNote]:
    """Return the private notes that were last saved more than `days` days ago."""
    return PrivateNote.objects.filter(saved_at__lt=timezone.now() - timedelta(days=days))


def retain(days: int) -> Withdrawal | None:
    """Erase the sessions and private notes that are older than `days` days; return None if there are none."""
    with transaction.atomic():
        ids = list(expired_sessions(days).select_for_update(of=("self",)).values_list("pk", flat=True))
        notes, _ = expired_notes(days).delete()
        if not ids and not notes:
            return None
        withdrawal = erase_expired(ids, notes, at=timezone.now())
        transaction.on_commit(update_registers)
    logger.info("retention period ended", withdrawal=str(withdrawal.pk), sessions=len(ids))
    return withdrawal


def erase_expired(ids: Sequence[UUID], notes: int, *, at: datetime, key: UUID | None = None) -> Withdrawal:
    """Erase the sessions, keep the outcomes that a closed study counts, and record it. Call it in a transaction."""
    for row in Assignment.objects.filter(session__in=ids).select_related("arm", "session", "study"):
        if row.state in (Assignment.State.OPEN, Assignment.State.DONE):
            keep_outcomes(row, retained=True)
            row.save(update_fields=["outcomes"])
    counts = erase_sessions(ids) | {"notes": notes}
    return record(Withdrawal.Cause.RETENTION, ids, counts, at=at, key=key)
