"""The worker: takes jobs from the queues one after the other, in its own process.

Rows in the database are the truth and jobs may run twice, so it never waits for a job to end when it is
asked to stop, and it looks every few seconds for rows whose job was lost with a queue or a worker.
"""

import logging
import os
import signal
import threading
import time
from types import FrameType

import django_rq
import redis
from django.db import DatabaseError, close_old_connections
from rq import Queue, SimpleWorker
from rq.job import Job

import judge
from benchmark.judging import requeue_lost
from benchmark.runner import carry_on
from benchmark.worker.jobs import ListedJob
from benchmark.worker.reports import enqueue_missing_reports

logger = logging.getLogger(__name__)

QUEUES = ("tutoring", "default", "background")
"""In this order: a waiting tutor goes before a benchmark run, and that before what nobody waits for."""

PREPARING_NICENESS = 10
"""How far preparations stand back behind everything else that wants the processor."""

SWEEP_INTERVAL = 10
"""Seconds between two looks for lost work of an idle worker."""


class Worker(SimpleWorker):
    """RQ's worker without a process per job, which sweeps when idle and stops at once."""

    max_connection_wait_time = 2.0  # seconds between attempts to reach a lost queue server

    stopping = False

    def request_stop(self, signum: int, frame: FrameType | None) -> None:
        """End now. The row of an interrupted job is given to another worker."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        self.stopping = self._stop_requested = True
        raise SystemExit(0)

    def run_maintenance_tasks(self) -> None:
        """RQ's own tidying, then the search for lost work."""
        super().run_maintenance_tasks()  # type: ignore[no-untyped-call]
        close_old_connections()
        try:
            if count := requeue_lost("tutoring"):
                logger.info("%s judgements were lost and wait again", count)
            carry_on()
            enqueue_missing_reports()
        except DatabaseError as error:
            logger.warning("no look for lost work: %s", error)

    def execute_job(self, job: Job, queue: Queue) -> None:
        """Run one job with database connections that are known to be alive."""
        close_old_connections()
        try:
            super().execute_job(job, queue)
        finally:
            close_old_connections()


def run() -> None:
    """Work until SIGTERM or SIGINT, through any number of restarts of the queue server.

    Meanwhile a thread prepares the judge; no job waits for it.
    """
    threading.Thread(target=_prepare, name="preparing the judge", daemon=True).start()
    while True:
        try:
            queues = [django_rq.get_queue(name) for name in QUEUES]
            worker = Worker(
                queues,
                connection=queues[0].connection,
                job_class=ListedJob,
                serializer=queues[0].serializer,
                # RQ waits for a job 15 s less than this and then comes by `run_maintenance_tasks`.
                worker_ttl=SWEEP_INTERVAL + 15,
                maintenance_interval=SWEEP_INTERVAL - 1,
                job_monitoring_interval=SWEEP_INTERVAL,
            )
            worker.work(logging_level="WARNING")
            if worker.stopping:
                return
        except redis.RedisError as error:
            logger.warning("the queue server is away: %s", error)
        time.sleep(1)


def _prepare() -> None:
    # Linux keeps the niceness of each thread, and the processes it starts inherit it.
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), PREPARING_NICENESS)
    try:
        judge.prepare()
    except judge.SandboxUnavailable as error:
        logger.warning("%s", error)
