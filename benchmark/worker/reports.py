"""Background jobs that store missing figures of ended runs: after an upgrade, or when a process was lost."""

import logging
from collections.abc import Callable, Iterable
from typing import Any

import django_rq
import redis
from rq.job import Job

from benchmark.models import Run, SimilarityRun
from benchmark.reports.cached_report import runs_without_report, store_report
from benchmark.similarity.figures import runs_without_figures, store_figures

logger = logging.getLogger(__name__)

QUEUE = "background"
"""The queue that workers serve after runs."""

_AT_ONCE = 20
"""Runs that one search enqueues at most."""

_KEEP_FAILED = 86_400
"""Seconds before a job that failed is enqueued again."""


def enqueue_missing_reports() -> int:
    """Enqueue a job for each ended run without stored figures; return how many runs these are."""
    runs = runs_without_report().values_list("pk", flat=True)[:_AT_ONCE]
    similarity_runs = runs_without_figures().values_list("pk", flat=True)[:_AT_ONCE]
    try:
        return _enqueue(store_run_report, runs) + _enqueue(store_similarity_figures, similarity_runs)
    except redis.RedisError as error:  # the next search enqueues them
        logger.warning("reports are not enqueued, because the queue server is unavailable: %s", error)
        return 0


def _enqueue(job: Callable[[str], None], runs: Iterable[Any]) -> int:
    """Enqueue the job for each run that has no waiting, running or recently failed job."""
    count = 0
    for pk in runs:
        queue = django_rq.get_queue(QUEUE)
        name = f"{job.__name__}-{pk}"
        if not Job.exists(name, connection=queue.connection):
            queue.enqueue(job, str(pk), job_id=name, result_ttl=0, failure_ttl=_KEEP_FAILED)
        count += 1
    return count


def store_run_report(run_id: str) -> None:
    """Store the figures of a run. Does nothing for a run that was deleted."""
    if run := Run.objects.select_related("dataset").filter(pk=run_id).first():
        store_report(run)


def store_similarity_figures(run_id: str) -> None:
    """Store the figures of a run over questions. Does nothing for a run that was deleted."""
    if run := SimilarityRun.objects.select_related("question_set").filter(pk=run_id).first():
        store_figures(run)
