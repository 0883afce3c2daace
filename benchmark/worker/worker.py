"""The worker: takes jobs from the queues one after the other, and performs them in its own process.

Rows in the database hold the state and jobs may run twice, so the worker ends at once when it receives a signal: it
does not wait for the end of a job.
"""

import logging
import os
import signal
import threading
import time
from contextlib import nullcontext, suppress
from types import FrameType

import django_rq
import redis
from django.db import DatabaseError, close_old_connections, connections
from rq import Queue, SimpleWorker
from rq.exceptions import DeserializationError
from rq.job import Job

import judge
from benchmark.judging import EXECUTIONS, performing_executions, refresh_measurement
from benchmark.models.owners import new_owner
from benchmark.processes import exclude_loaded_objects, sending_heartbeats
from benchmark.worker.jobs import JOB_CLASSES, JobRefusedError
from benchmark.worker.kinds import WorkerKind, separate
from benchmark.worker.sweeps import start_sweeping

logger = logging.getLogger(__name__)

PREPARATION_NICENESS = 10
"""The niceness of the thread that prepares the judge."""

_MEASUREMENT_INTERVAL = 60
"""Seconds between two checks of the age of the measurement of this machine."""

_MAINTENANCE_INTERVAL = 10
"""Seconds between two renewals of the worker's entry in the queue server."""


class Worker(SimpleWorker):
    """RQ's worker without a process for each job, which ends at once when it receives a signal."""

    max_connection_wait_time = 2.0  # seconds between two attempts to reach a queue server that was lost

    stopping = False
    present_job = ""
    """Function and arguments of the job in progress; blank without one."""

    def request_stop(self, _signum: int, _frame: FrameType | None) -> None:
        """End now. Another worker takes over the row of an interrupted job."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        self.stopping = self._stop_requested = True
        raise SystemExit(0)

    def execute_job(self, job: Job, queue: Queue) -> None:
        """Run one job with a database connection that has been checked.

        A thread performs the executions that begin to wait during another job.
        """
        close_old_connections()
        Worker.present_job = _description_of(job)
        executes = queue.name == EXECUTIONS or judge.programs_forbidden()
        try:
            with nullcontext() if executes else performing_executions():
                super().execute_job(job, queue)
                if self.stopping:
                    raise SystemExit(0)  # RQ catches the first one
        finally:
            Worker.present_job = ""
            close_old_connections()


def run(kind: WorkerKind) -> None:
    """Work until SIGTERM or SIGINT, through any number of restarts of the queue server.

    Unless the worker is a model worker, one thread prepares the judge and measures the machine, and no job waits for
    it. Another one sweeps, and a third one sends heartbeats.
    """
    separate(kind)
    # A new connection for each job costs 2.4 ms with SQLite, and PostgreSQL starts a process for it.
    connections.settings["default"]["CONN_MAX_AGE"] = None
    if kind != WorkerKind.MODEL:
        threading.Thread(target=_prepare, name="preparation of the judge", daemon=True).start()
    start_sweeping(kind)
    exclude_loaded_objects()
    with sending_heartbeats(kind.process, lambda: Worker.present_job):
        _work(kind)


def _work(kind: WorkerKind) -> None:
    while True:
        try:
            queues = [django_rq.get_queue(name) for name in kind.queues]
            worker = Worker(
                queues,
                name=new_owner(),  # shows other workers that this one was killed
                connection=queues[0].connection,
                job_class=JOB_CLASSES[kind],
                serializer=queues[0].serializer,
                # RQ waits 15 s less than this for a job.
                worker_ttl=_MAINTENANCE_INTERVAL + 15,
                maintenance_interval=_MAINTENANCE_INTERVAL - 1,
                job_monitoring_interval=_MAINTENANCE_INTERVAL,
            )
            worker.work(logging_level="WARNING")
            if worker.stopping:
                return
        except redis.RedisError as error:
            logger.warning("the queue server is unavailable: %s", error)
        time.sleep(1)


def _description_of(job: Job) -> str:
    """Return the name and the arguments of a listed job, which are ids of rows; log another job and return ""."""
    try:
        arguments = ", ".join(map(str, job.args))
        return f"{job.func.__name__}({arguments})"
    except JobRefusedError as refusal:
        logger.error("%s", refusal)  # RQ logs it too, without this text
    except DeserializationError:
        pass
    return ""


def _prepare() -> None:
    """Prepare the judge, and keep the measurement of this machine at most an hour old."""
    # Linux keeps the niceness of each thread, and the processes it starts inherit it.
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), PREPARATION_NICENESS)
    try:
        judge.prepare()
    except judge.SandboxUnavailableError as error:
        logger.warning("%s", error)
        return
    while True:
        close_old_connections()
        with suppress(DatabaseError):  # the next measurement may find the database again
            refresh_measurement()
        close_old_connections()
        time.sleep(_MEASUREMENT_INTERVAL)
