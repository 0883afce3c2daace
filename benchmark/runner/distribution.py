"""Runs that workers carry out: on one machine or on many, each for a while at a time, by the same rows.

A job in the queue only reminds a worker of a run. The rows say what is left, so a lost or doubled reminder costs
nothing, and whoever follows the run reminds again.
"""

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID, uuid4

import django_rq
import redis
from django.db import connection
from django.db.models import Count
from django.utils import timezone
from rq import Worker

from benchmark import judging
from benchmark.model_calls.budget import Spending
from benchmark.model_calls.stopping import Stop
from benchmark.models import Run, WorkItem
from benchmark.providers import ProviderError
from benchmark.runner import leases
from benchmark.runner.execution import Progress, execute
from benchmark.runner.judges import QUEUE
from judge import Verdict

logger = logging.getLogger(__name__)

TURN = 30.0
"""Seconds after which a worker looks for other work before it goes on with a run."""

_LOOK = 1.0
"""Seconds between two looks at the queue of the tutors, and at a run that is followed."""


class QueueAway(Exception):
    """The queue server cannot be reached, or no worker listens; the message says what to do."""


def hand_out(run: Run) -> int:
    """Remind the workers of the run; returns how many there are. Raises QueueAway."""
    try:
        workers = Worker.count(queue=django_rq.get_queue(QUEUE))
        _remind(run.pk, workers)
    except redis.RedisError as error:
        raise QueueAway(
            f"The queue server cannot be reached ({error}). Start it with ./run, or leave out --distribute."
        ) from None
    if not workers:
        raise QueueAway("No worker listens. Start some (manage.py worker), or leave out --distribute.")
    return workers


def carry_on() -> int:
    """Remind a worker of every distributed run that nobody may be at; returns how many there are."""
    runs = [run for run in Run.objects.filter(distributed=True, state=Run.State.OPEN) if _waits(run)]
    for run in runs:
        _remind(run.pk, 1)
    return len(runs)


def _remind(run_id: UUID, count: int) -> None:
    """See to it that so many reminders of the run wait in the queue."""
    queue = django_rq.get_queue(QUEUE)
    prefix = f"run-{run_id}-"
    waiting = sum(name.startswith(prefix) for name in queue.get_job_ids())
    for _ in range(count - waiting):
        queue.enqueue(take_part, str(run_id), job_id=f"{prefix}{uuid4().hex}")


def take_part(run_id: str) -> None:
    """Carry out some of the run in this worker, then let other work have its turn."""
    run = Run.objects.select_related("dataset").filter(pk=run_id, state=Run.State.OPEN).first()
    if run is None or not _waits(run):
        return
    try:
        asyncio.run(_for_a_turn(run))
    except ProviderError as error:
        Run.objects.filter(pk=run_id).update(state=Run.State.STOPPED, stop_reason=error.message)
        return
    if _waits(run):
        try:
            _remind(run.pk, 1)
        except redis.RedisError as error:  # whoever sweeps or follows the run reminds us
            logger.warning("run %s waits for the queue to come back: %s", run_id, error)


async def _for_a_turn(run: Run) -> None:
    stop = Stop()
    with ThreadPoolExecutor(1, "tutoring") as pool:
        watch = asyncio.create_task(_watch(stop, pool))
        try:
            await execute(run, judges=1, progress=Progress(spent=Spending.of_run(run)), stop=stop)
        finally:
            watch.cancel()


async def _watch(stop: Stop, pool: ThreadPoolExecutor) -> None:
    """Judge what tutors wait for meanwhile, and end the turn in time."""
    loop = asyncio.get_running_loop()
    end = loop.time() + TURN
    while True:
        await asyncio.sleep(_LOOK)
        await loop.run_in_executor(pool, _serve_tutors)
        if loop.time() > end:
            # A wait that the provider asked for goes on: the next turn would call too early.
            stop.request("the turn is over", final=False, cancels_waits=False)


def _serve_tutors() -> None:
    """Whoever takes the job from the queue later finds its row done."""
    try:
        for name in django_rq.get_queue("tutoring").get_job_ids():
            _, _, number = name.rpartition("-")
            if number.isdigit():
                judging.perform(int(number))
    except redis.RedisError as error:
        logger.warning("no look for waiting tutors: %s", error)
    finally:
        connection.close()


async def follow(run: Run, progress: Progress, stop: Stop) -> None:
    """Show how far the workers are until nothing is left; a stop is passed on to them and waited for."""
    told: set[str] = set()
    while True:
        waits = await asyncio.to_thread(waits_of, run)
        for line in sorted(waits - told):
            progress.report(line)
        told = waits
        at_work = await asyncio.to_thread(_look, run, progress, stop.reason)
        progress.on_change(progress)
        if not at_work:
            return
        await asyncio.sleep(_LOOK)


def waits_of(run: Run) -> set[str]:
    """Return what calls of the run wait for now, in words."""
    return set(run.runners.exclude(waiting="").values_list("waiting", flat=True))


def _look(run: Run, progress: Progress, stop_reason: str) -> bool:
    """Read how far the run is, and see to it that someone is at it. False when there is nothing to wait for."""
    try:
        waits = _waits(run)
        states = dict(run.items.order_by().values_list("state").annotate(Count("pk")))
        progress.done = states.get(WorkItem.State.DONE, 0)
        progress.failed = states.get(WorkItem.State.FAILED, 0)
        progress.solved = run.items.filter(judgement__verdict=Verdict.AC, state=WorkItem.State.DONE).count()
        run.refresh_from_db()
        progress.spent = Spending.of_run(run)
        open_run = Run.objects.filter(pk=run.pk, state=Run.State.OPEN)
        if stop_reason:
            open_run.update(state=Run.State.STOPPED, stop_reason=stop_reason)
        if states.get(WorkItem.State.LEASED):
            return True
        if run.state != Run.State.OPEN or stop_reason:
            return False
        if not waits:  # the last worker was lost before it could say so
            settled = leases.is_settled(run)
            ended = Run.State.FINISHED if settled else Run.State.STOPPED
            open_run.update(state=ended, finished_at=timezone.now() if settled else None)
            return False
        hand_out(run)
    except QueueAway as error:
        logger.warning("%s", error)
    finally:
        connection.close()
    return True


def _waits(run: Run) -> bool:
    """Whether something of the run is in nobody's hands."""
    leases.free_lost(run.pk)
    return run.items.filter(state=WorkItem.State.PENDING).exists()
