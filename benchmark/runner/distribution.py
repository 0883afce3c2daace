"""Distributed runs: workers on one or several machines work on the same rows, each for a time slice at a time.

A job in the queue only points a worker to a run. The rows hold what is left to do, so a lost or repeated job costs
nothing; the command that monitors the run and the sweep of the workers enqueue jobs again.
"""

import asyncio
import logging
from collections import Counter
from functools import partial

import django_rq
import redis
from django.db import connection
from django.db.models import Count
from django.utils import timezone
from rq import Worker

from benchmark.jobs import RowJobs
from benchmark.model_calls.budget import Spending
from benchmark.model_calls.stopping import Stop
from benchmark.models import Run, RunTutor, WorkItem
from benchmark.providers import ProviderError
from benchmark.reports.progress import failures_by_kind
from benchmark.runner import leases
from benchmark.runner.execution import execute
from benchmark.runner.progress import ExecutionProgress
from judge import Verdict

logger = logging.getLogger(__name__)

QUEUE = "models"
"""The queue of the runs' time slices."""

_JOBS = RowJobs("benchmark.runner.distribution.work_on_run", "run")

TIME_SLICE = 30.0
"""Seconds for which a worker works on a run before it looks for other work."""

_LOOK_INTERVAL = 1.0
"""Seconds between two polls of a run that is monitored."""


class QueueUnavailableError(Exception):
    """The queue server cannot be reached, or no worker is connected; the message says what to do."""


def connected_workers() -> int:
    """Return the number of connected workers. Raises QueueUnavailableError if no worker is connected."""
    try:
        workers = Worker.count(queue=django_rq.get_queue(QUEUE))
    except redis.RedisError as error:
        raise _unavailable(error) from None
    if not workers:
        raise QueueUnavailableError(
            "No model worker is connected to the queue server. Start one (manage.py worker --kind model), or leave out "
            "--distribute."
        )
    return workers


def dispatch(run: Run) -> int:
    """Enqueue a job of the run for each worker; return the number of workers. Raises QueueUnavailableError."""
    workers = connected_workers()
    try:
        _JOBS.top_up(str(run.pk), QUEUE, workers)
    except redis.RedisError as error:
        raise _unavailable(error) from None
    return workers


def _unavailable(error: redis.RedisError) -> QueueUnavailableError:
    return QueueUnavailableError(
        f"The queue server cannot be reached ({error}). Start it with ./run, or leave out --distribute."
    )


def requeue_stalled() -> None:
    """Enqueue a job for every distributed run that has pending items and no job. Raises redis.RedisError."""
    for run in Run.objects.filter(distributed=True, state=Run.State.OPEN):
        if _has_pending(run):
            _JOBS.top_up(str(run.pk), QUEUE, 1)


def work_on_run(run_id: str) -> None:
    """Work on the run for one time slice, then enqueue a job for the rest."""
    run = Run.objects.select_related("dataset", "model").filter(pk=run_id, state=Run.State.OPEN).first()
    if run is None or not _has_pending(run):
        return
    try:
        asyncio.run(_time_slice(run))
    except ProviderError as error:
        Run.objects.filter(pk=run_id).update(state=Run.State.STOPPED, stop_reason=error.message)
        return
    if _has_pending(run):
        try:
            _JOBS.top_up(str(run.pk), QUEUE, 1)
        except redis.RedisError as error:  # the next sweep enqueues it
            logger.warning(
                "run %s is not enqueued, because the queue server is unavailable: %s", run_id, error
            )


async def _time_slice(run: Run) -> None:
    stop = Stop()
    # A wait that the provider asked for continues: the next time slice would call too early.
    end = asyncio.get_running_loop().call_later(
        TIME_SLICE, partial(stop.request, "the time slice has ended", final=False, cancels_waits=False)
    )
    try:
        await execute(run, judges=1, progress=ExecutionProgress(spent=Spending.of_run(run)), stop=stop)
    finally:
        end.cancel()


async def monitor(run: Run, progress: ExecutionProgress, stop: Stop) -> None:
    """Report the progress of the workers until no item is left. After a stop, wait until they have ended too."""
    reported: set[str] = set()
    while True:
        waits = await asyncio.to_thread(waits_of, run)
        for line in sorted(waits - reported):
            progress.report(line)
        reported = waits
        unfinished = await asyncio.to_thread(_update, run, progress, stop.reason)
        progress.on_change(progress)
        if not unfinished:
            return
        await asyncio.sleep(_LOOK_INTERVAL)


def waits_of(run: Run) -> set[str]:
    """Return the reasons, in words, why calls of the run are delayed now."""
    return set(run.runners.exclude(waiting="").values_list("waiting", flat=True))


def _update(run: Run, progress: ExecutionProgress, stop_reason: str) -> bool:
    """Read the progress of the run and dispatch what is pending. Return whether the run is unfinished."""
    try:
        pending = _has_pending(run)
        states = dict(run.items.order_by().values_list("state").annotate(Count("pk")))
        progress.done = states.get(WorkItem.State.DONE, 0)
        progress.failures = failures_by_kind(run) if states.get(WorkItem.State.FAILED) else Counter()
        progress.solved = run.items.filter(judgement__verdict=Verdict.AC, state=WorkItem.State.DONE).count()
        run.refresh_from_db()
        progress.spent = Spending.of_run(run)
        if tutor := RunTutor.objects.filter(run=run).first():
            progress.tutor_spent = Spending.of_run(tutor)
        open_run = Run.objects.filter(pk=run.pk, state=Run.State.OPEN)
        if stop_reason:
            open_run.update(state=Run.State.STOPPED, stop_reason=stop_reason)
        if states.get(WorkItem.State.LEASED):
            return True
        if run.state != Run.State.OPEN or stop_reason:
            return False
        if not pending:  # the last worker ended before it stored the state of the run
            settled = leases.is_settled(run)
            ended = Run.State.FINISHED if settled else Run.State.STOPPED
            open_run.update(state=ended, finished_at=timezone.now() if settled else None)
            return False
        dispatch(run)
    except QueueUnavailableError as error:
        logger.warning("%s", error)
    finally:
        connection.close()
    return True


def _has_pending(run: Run) -> bool:
    """Return whether the run has items that no living process holds."""
    leases.release_lost(run.pk)
    return run.items.filter(state=WorkItem.State.PENDING).exists()
