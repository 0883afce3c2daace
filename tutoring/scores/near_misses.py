"""How near each program of a closed session was to being right: asked for here, measured by a worker.

Researchers alone see it. It is measured after the session's end, in the queue that comes last, and gives way to an
execution, so that neither its result nor its time tells a tutor anything.
"""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from itertools import takewhile
from types import FrameType
from typing import Any

import django_rq
import redis
from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.utils import timezone

import judge
from benchmark.judging import checker_for, judge_tests, program_files, store_submission
from benchmark.models import Judgement, Problem
from tutoring.models import Event, NearMiss, Session
from tutoring.models.payloads import ReplyFinished
from tutoring.sessions.programs import distance, program_tokens

logger = logging.getLogger(__name__)

QUEUE = "background"
"""The queue that workers look at last."""

SLOW = 4
"""How many times the time limit a right program may take to be called correct but slow."""

MAXIMUM_ATTEMPTS = 3
"""Measurements of one program that may be lost with their workers before it is given up."""

_LOOK = 0.2
"""Seconds between looks whether an execution waits."""


class ExecutionWaits(BaseException):
    """A measurement must give way. Not an Exception: the judge takes those for its own faults."""


def record_near_misses(session: Session) -> None:
    """Make a row for each program of a session that has just been closed, in its transaction."""
    replies = session.events.filter(kind=Event.Kind.REPLY)
    payloads = [(event, event.payload_as(ReplyFinished)) for event in replies]
    programs = [
        (event, reply.code or "", generation)
        for event, reply in payloads
        if (generation := reply.generation) is not None
    ]
    if session.problem is None or not programs:
        return
    tokens = [program_tokens(code, session.language) for _, code, _ in programs]
    rows = NearMiss.objects.bulk_create(
        NearMiss(
            session=session,
            event=event,
            generation=generation,
            distance_to_previous=distance(tokens[number - 1], tokens[number]) if number else None,
            distance_to_final=distance(tokens[number], tokens[-1]),
        )
        for number, (event, _, generation) in enumerate(programs)
    )
    transaction.on_commit(lambda: _remind([row.pk for row in rows]))


def remind_of_near_misses() -> None:
    """Remind workers of programs that wait although no job speaks of them: it was lost with its queue."""
    late = timezone.now() - timedelta(seconds=30)
    _remind(
        NearMiss.objects.filter(measured_at=None, recorded_at__lt=late).values_list("pk", flat=True)[:200]
    )


def _remind(rows: Any) -> None:
    try:
        queue = django_rq.get_queue(QUEUE)
        waiting = set(queue.get_job_ids()) | set(queue.started_job_registry.get_job_ids()) if rows else set()
        for pk in rows:
            if (job := f"near-miss-{pk}") not in waiting:
                queue.enqueue(measure, pk, job_id=job)
    except redis.RedisError as error:  # the streamer reminds again
        logger.warning("near misses wait for the queue to come back: %s", error)


def measure(near_miss_id: int) -> None:
    """Judge the program on all tests and store how far it came. Does nothing when that is done.

    Two workers with the same row find the same, and one result is kept. When an execution waits, the row is left for
    later: that is no attempt.
    """
    row = NearMiss.objects.filter(pk=near_miss_id, measured_at=None)
    row.update(attempts=F("attempts") + 1)
    near_miss = row.select_related("event", "session__problem__dataset").first()
    if near_miss is None:
        return
    problem = near_miss.session.problem
    assert problem is not None
    try:
        if near_miss.attempts > MAXIMUM_ATTEMPTS:
            raise LookupError(f"{MAXIMUM_ATTEMPTS} workers were lost while measuring it")
        with _giving_way():
            measures = _measures(near_miss, problem)
    except ExecutionWaits:
        row.update(attempts=F("attempts") - 1)
        return  # the streamer reminds of it
    except Exception as error:
        logger.exception("near miss %s cannot be measured", near_miss_id)
        measures = {"fault": f"{type(error).__name__}: {error}"}
    if "fault" in measures and near_miss.attempts < MAXIMUM_ATTEMPTS:
        return  # the streamer reminds of it
    row.update(measured_at=timezone.now(), problem_hash=problem.content_hash, **measures)


def _measures(near_miss: NearMiss, problem: Problem) -> dict[str, Any]:
    """The columns of a measurement, or the judge's fault."""
    code = near_miss.event.payload_as(ReplyFinished).code
    if not code:
        return {"verdict": "NO_CODE", "passed": 0, "passed_prefix": 0}
    language = near_miss.session.language
    source = program_files(problem, store_submission(problem, code, language).source, language)
    tests = judge_tests(problem, Judgement.Suite.ALL)
    limits = judge.Limits(time=problem.time_limit, memory=problem.memory_limit)

    def grade(limits: judge.Limits, stop_at_first_failure: bool) -> judge.Judgement:
        return judge.grade(
            source,
            language,
            tests,
            limits,
            checker_for(problem, judge.Policy.FAIR),
            time_multipliers=settings.JUDGE_TIME_MULTIPLIERS,
            stop_at_first_failure=stop_at_first_failure,
        )

    plain = grade(limits, stop_at_first_failure=False)
    if plain.verdict == judge.Verdict.JE:
        return {"fault": next((test.message for test in plain.tests if test.message), "judge error")}
    verdicts = [test.verdict for test in plain.tests]
    only_slow = set(verdicts) <= {judge.Verdict.AC, judge.Verdict.TLE} and plain.verdict == judge.Verdict.TLE
    patient = replace(limits, time=limits.time * SLOW)
    failing = (test.name for test in plain.tests if test.verdict != judge.Verdict.AC)
    return {
        "verdict": plain.verdict,
        "passed": verdicts.count(judge.Verdict.AC),
        "total": plain.total,
        "passed_prefix": len(list(takewhile(lambda verdict: verdict == judge.Verdict.AC, verdicts))),
        "first_failing": next(failing, ""),
        "correct_but_slow": only_slow
        and grade(patient, stop_at_first_failure=True).verdict == judge.Verdict.AC,
        "policy": plain.policy,
        "judge_version": plain.judge_version,
    }


@contextmanager
def _giving_way() -> Iterator[None]:
    """Raise ExecutionWaits in this, the main thread, as soon as an execution waits for a worker."""
    main, ended = threading.main_thread().ident, threading.Event()
    assert main == threading.get_ident()

    def watch() -> None:
        queue = django_rq.get_queue("tutoring")
        while not ended.wait(_LOOK):
            try:
                if queue.count:
                    signal.pthread_kill(main, signal.SIGUSR2)
                    return
            except redis.RedisError:
                continue

    def give_way(signum: int, frame: FrameType | None) -> None:
        if not ended.is_set():
            raise ExecutionWaits

    before = signal.signal(signal.SIGUSR2, give_way)
    watcher = threading.Thread(target=watch, name="looking for executions", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()
        signal.signal(signal.SIGUSR2, before)
