"""Judge workers as the judge of a run: this process stores requests as rows, and judge workers perform them.

A process that calls models has keys, so it leaves programs to judge workers while one runs. Without one, a command runs
them itself; a model worker never does.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, TypeVar

import redis
from django.utils import timezone

import judge
from benchmark import judging
from benchmark.model_calls.commit_queue import CommitQueue
from benchmark.models import Judgement, Process, ProgramOperation
from benchmark.models.leases import SEARCH_INTERVAL
from benchmark.processes import running
from benchmark.runner import program_operations

logger = logging.getLogger(__name__)

C = TypeVar("C", Judgement, ProgramOperation)

QUEUE = "default"
"""The queue of the runs' programs, which judge workers serve after that of the tutors."""

_POLL_SECONDS = 0.1
"""Seconds between two polls of a row that a judge worker performs."""

NO_WORKER = (
    "No judge worker runs, so programs wait. Start one (manage.py worker --kind judge), or stop the run and resume it: "
    "a command without judge workers runs programs itself."
)


def judge_workers_run() -> bool:
    """Return whether judge workers perform the programs of this process.

    They always do if it must not run programs, and otherwise while one of them runs.
    """
    return judge.programs_forbidden() or bool(running(Process.Kind.JUDGE_WORKER))


class JudgeWorkers:
    """The rows that judge workers perform for this process, and the wait for their ends."""

    def __init__(
        self, commits: CommitQueue, check: Callable[[], None], report: Callable[[str], object]
    ) -> None:
        """`check` is called before a row has begun and raises to give it up; `report` gets messages for the user."""
        self._commits = commits
        self._check = check
        self._report = report
        self._awaited: dict[type[Judgement] | type[ProgramOperation], set[int]] = {
            Judgement: set(),
            ProgramOperation: set(),
        }
        self._outage_reported = False

    async def finished(self, row: C) -> C:
        """Return the row in its last state. Raises what `check` raises before a worker has begun."""
        awaited = self._awaited[type(row)]
        awaited.add(row.pk)
        try:
            while row.state in (row.WAITING, row.HELD):
                if row.state == row.WAITING:
                    self._check()
                await asyncio.sleep(_POLL_SECONDS)
                row = await self._commits.submit(_reread, row)
        finally:
            awaited.discard(row.pk)
        return row

    async def keep_queued(self) -> None:
        """Enqueue lost rows again and report missing judge workers, every few seconds, until cancelled."""
        while True:
            await asyncio.sleep(SEARCH_INTERVAL)
            if any(self._awaited.values()):
                worker_runs = await self._commits.run(self._requeue)
                if not worker_runs and not self._outage_reported:
                    self._report(NO_WORKER)
                self._outage_reported = not worker_runs

    def _requeue(self) -> bool:
        """Put a job into the queue for each lost row without one. Return whether a judge worker runs."""
        now = timezone.now()
        judgements = Judgement.objects.filter(pk__in=list(self._awaited[Judgement])).claimable(now)
        operations = ProgramOperation.objects.filter(pk__in=list(self._awaited[ProgramOperation]))
        try:
            judging.enqueue_missing(list(judgements.values_list("pk", flat=True)), QUEUE)
            program_operations.enqueue_missing(operations.claimable(now))
        except redis.RedisError as error:
            logger.warning("programs are not enqueued, because the queue server is unavailable: %s", error)
        return bool(running(Process.Kind.JUDGE_WORKER) or running(Process.Kind.WORKER))


def _reread(rows: list[Any]) -> list[Any]:
    found: dict[tuple[type, int], Any] = {}
    for model in {type(row) for row in rows}:
        fresh = model.objects.in_bulk([row.pk for row in rows if type(row) is model])
        found |= {(model, pk): row for pk, row in fresh.items()}
    return [found[type(row), row.pk] for row in rows]
