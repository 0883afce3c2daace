"""The jobs of the rows of a table."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import TypeVar
from uuid import uuid4

import django_rq
import redis
from django.utils import timezone

from benchmark.models.leases import Claimable, ClaimableQuerySet

logger = logging.getLogger(__name__)

LATE = timedelta(seconds=10)
"""Age after which a request that waits without a job counts as lost."""

C = TypeVar("C", bound=Claimable)


@cache
def _log_outage(error: str) -> None:
    """Log that jobs are not enqueued. The cache prevents a line for each row of the same outage."""
    logger.warning("jobs are not enqueued until the queue server is available again: %s", error)


@dataclass(frozen=True)
class RowJobs:
    """The jobs of the rows of a table, which call `function` with the id of a row.

    `settings.WORKER_JOBS` lists the function. The ids of the jobs begin with `prefix`.
    """

    function: str
    prefix: str

    def enqueue(self, pk: int, queue: str) -> None:
        """Put a job for the row into the queue. If the queue server is unavailable, log a warning for the first row."""
        try:
            django_rq.get_queue(queue).enqueue(self.function, pk, job_id=self._job_id(pk))
        except redis.RedisError as error:  # a sweep finds the row
            _log_outage(str(error))
        else:
            _log_outage.cache_clear()

    def enqueue_missing(self, pks: Iterable[int], queue: str) -> int:
        """Put a job into the queue for each row without one; return their number. Raises redis.RedisError."""
        rows = list(pks)
        target = django_rq.get_queue(queue)
        waiting = set(target.get_job_ids()) if rows else set()
        missing = [pk for pk in rows if self._job_id(pk) not in waiting]
        for pk in missing:
            target.enqueue(self.function, pk, job_id=self._job_id(pk))
        return len(missing)

    def top_up(self, pk: int | str, queue: str, count: int) -> None:
        """Put jobs for the row into the queue until it contains `count` of them. Raises redis.RedisError."""
        target = django_rq.get_queue(queue)
        prefix = f"{self._job_id(pk)}-"
        waiting = sum(job_id.startswith(prefix) for job_id in target.get_job_ids())
        for _ in range(count - waiting):
            target.enqueue(self.function, pk, job_id=f"{prefix}{uuid4().hex}")

    def _job_id(self, pk: int | str) -> str:
        return f"{self.prefix}-{pk}"


def late_or_lost(rows: ClaimableQuerySet[C], requested_at: str = "created_at") -> ClaimableQuerySet[C]:
    """Return the rows that have waited longer than LATE since `requested_at`, and those of dead or silent owners."""
    now = timezone.now()
    return rows.waiting().filter(**{f"{requested_at}__lt": now - LATE}) | rows.lost(now)
