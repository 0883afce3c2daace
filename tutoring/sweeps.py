"""What workers do every few seconds beside their jobs (`settings.WORKER_SWEEPS` lists the functions)."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone

from benchmark.models import Judgement
from tutoring.actions import record_verdict
from tutoring.checks.checking import check_session
from tutoring.models import Session, Study

CHECKED_AT_ONCE = 20
"""Automatic sessions that one sweep checks. A worker must soon look for executions again."""

RETENTION_INTERVAL = timedelta(hours=1)
"""Time between two searches for sessions whose retention period has ended."""

_last_retention: list[datetime] = []


def record_missed_verdicts() -> None:
    """Record the results of executions and sample runs whose worker ended between the judgement and its signal."""
    ended = Judgement.objects.filter(state__in=(Judgement.State.DONE, Judgement.State.FAILED))
    executed = Session.objects.filter(state=Session.State.JUDGING, judgement__in=ended).values("judgement")
    samples = Session.objects.filter(sample_judgement__in=ended).values("sample_judgement")
    for judgement in [*ended.filter(pk__in=executed), *ended.filter(pk__in=samples)]:
        record_verdict(judgement)


def advance_studies() -> None:
    """Expire, replace, stop and close what is due in studies. The import is deferred: most sites have no study."""
    if Study.objects.filter(state__in=Study.UNFINISHED).exists():
        from tutoring.studies.upkeep import advance_studies

        advance_studies()


def check_automatic_sessions() -> None:
    """Check messages of automatic sessions, which their runs do not check."""
    unchecked = Session.objects.filter(origin=Session.Origin.AUTOMATIC, rule_checks=None)
    for session in unchecked.select_related("problem", "protocol").order_by("recorded_at")[:CHECKED_AT_ONCE]:
        check_session(session)


def apply_retention() -> None:
    """Erase sessions whose retention period has ended, once every RETENTION_INTERVAL in this process."""
    now = timezone.now()
    if not settings.RETENTION_DAYS or (_last_retention and now - _last_retention[0] < RETENTION_INTERVAL):
        return
    from tutoring.withdrawal import retain

    _last_retention[:] = [now]
    retain(settings.RETENTION_DAYS)
