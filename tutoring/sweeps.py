"""Tasks that workers perform every few seconds besides their jobs (`settings.WORKER_SWEEPS` lists the functions)."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

import django_rq
import redis
from django.conf import settings
from django.utils import timezone
from rq.job import Job

from benchmark.models import Judgement
from tutoring.actions import record_verdict
from tutoring.checks.checking import check_session
from tutoring.models import Session, Study
from tutoring.review import stored_figures

logger = logging.getLogger(__name__)

QUEUE = "background"
"""The queue of background jobs, which workers serve after that of runs."""

_KEEP_FAILED = 3_600
"""Seconds before a job that failed is enqueued again."""

CHECKED_AT_ONCE = 20
"""The most automatic sessions that one sweep checks. A worker must soon look for executions again."""

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


def enqueue_stale_figures() -> None:
    """Enqueue the computation of figures over reviewed sessions whose rows have changed, each figure once."""
    try:
        for name, version in stored_figures.stale_figures():
            queue = django_rq.get_queue(QUEUE)
            job = f"figures-{name}-{version}".replace(" ", "-")
            if not Job.exists(job, connection=queue.connection):
                queue.enqueue(
                    store_figures, name, version, job_id=job, result_ttl=0, failure_ttl=_KEEP_FAILED
                )
    except redis.RedisError as error:  # the next sweep enqueues them
        logger.warning("figures are not enqueued, because the queue server is unavailable: %s", error)


def store_figures(name: str, version: int) -> None:
    """Compute and store figures, as a job of the queue."""
    stored_figures.store_figures(name, version)


def apply_retention() -> None:
    """Erase sessions whose retention period has ended, once every RETENTION_INTERVAL in this process."""
    now = timezone.now()
    if not settings.RETENTION_DAYS or (_last_retention and now - _last_retention[0] < RETENTION_INTERVAL):
        return
    from tutoring.withdrawal import retain

    _last_retention[:] = [now]
    retain(settings.RETENTION_DAYS)
