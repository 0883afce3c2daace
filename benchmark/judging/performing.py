"""The worker's side of judgements: claim a row, grade its program, store the result."""

import platform
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import django_rq
import redis
import structlog
from django.conf import settings
from django.db import DatabaseError, close_old_connections, connection, transaction
from django.dispatch import Signal
from django.utils import timezone

import judge
from benchmark.blob_stores import BlobStoreUnavailableError
from benchmark.judging.fair_share import EXECUTIONS, in_progress, lock_person, share_of_a_person
from benchmark.judging.machine_speed import factor_for
from benchmark.judging.problem_tests import WHOLE_OUTPUT, checker_for, judge_tests, program_files
from benchmark.judging.requests import enqueue_next
from benchmark.models import Judgement
from benchmark.models.leases import renewing
from benchmark.models.owners import new_owner

logger = structlog.get_logger(__name__)

MAXIMUM_ATTEMPTS = 3
"""Maximum claims of one judgement; then its fault is final. A fault is never counted against the program."""

RELAXED_TIME = 4
"""Factor of the time limit under which a program with a score is correct but slow."""

_LOOK_INTERVAL = 0.2
"""Seconds between two checks for waiting executions while a worker does other work."""

_executing = threading.RLock()
"""Held while `performing_executions` looks for executions and performs them."""

BLOB_PATIENCE = 60.0
"""Seconds for which a worker waits for an unavailable store of blobs before the attempt fails."""

_BLOB_INTERVAL = 2.0
"""Seconds between two attempts to reach a store of blobs."""

judgement_finished = Signal()
"""Sent with `judgement` after a judgement reached DONE or FAILED, in the process that performed it."""


def perform(judgement_id: int) -> None:
    """Claim the judgement, grade its program, and store the result.

    Does nothing if the judgement is finished, another process holds it, or its person has a fair share of the workers,
    or in a process that must not run programs.
    """
    if judge.programs_forbidden():
        return
    judgement = _claim(judgement_id)
    if judgement is None:
        return
    try:
        with renewing(judgement.claimed()):
            result, columns = _measure_with_blobs(judgement)
    except Exception as error:
        logger.exception("judgement failed", **_ids(judgement))
        _fail(judgement, f"{type(error).__name__}: {error}")
        return
    except BaseException:  # this process must end: another one may start at once
        judgement.claimed().release()
        raise
    columns |= {
        "passed": result.passed,
        "total": result.total,
        "result": result.to_json(),
        "near_limit": result.near_limit,
    }
    if result.verdict == judge.Verdict.JE:
        messages = (test.message for test in result.tests if test.verdict == judge.Verdict.JE)
        _fail(judgement, next(messages, "judge error"), **columns)
    else:
        _finish(judgement, Judgement.State.DONE, verdict=result.verdict, **columns)


@contextmanager
def performing_executions() -> Iterator[None]:
    """Perform waiting executions in a thread until the block ends, so that no long job delays a verdict."""
    ended = threading.Event()

    def serve() -> None:
        while not ended.wait(_LOOK_INTERVAL):
            close_old_connections()
            with suppress(redis.RedisError, DatabaseError), _executing:  # the next check may find the server
                _perform_waiting()
        connection.close()

    server = threading.Thread(target=serve, name="waiting executions", daemon=True)
    server.start()
    try:
        yield
    finally:
        ended.set()
    server.join()  # an interrupted process ends at once; another worker takes over its execution


def pause_for_executions(*_: object) -> None:
    """Block while a thread of this process performs an execution.

    Long work calls it between two programs, so that both share the processor during at most one program.
    """
    with _executing:
        pass


def _perform_waiting() -> None:
    """Perform the executions that wait in the queue; their jobs then do nothing. Raises redis.RedisError."""
    for job_id in django_rq.get_queue(EXECUTIONS).get_job_ids():
        _, _, number = job_id.rpartition("-")
        if number.isdigit():
            perform(int(number))


def _claim(judgement_id: int) -> Judgement | None:
    now = timezone.now()
    person = Judgement.objects.filter(pk=judgement_id).values_list("requested_by", flat=True).first()
    share = share_of_a_person() if person is not None else 0
    with transaction.atomic():
        if person is not None:
            lock_person(person)
            if in_progress(person, now) >= share:
                return None
        if Judgement.claim_one(judgement_id, new_owner(), now) is None:
            return None
        judgement = Judgement.objects.select_related("submission__problem__dataset", "test_suite").get(
            pk=judgement_id
        )
    if judgement.attempt > MAXIMUM_ATTEMPTS:
        _fail(judgement, f"given up after {MAXIMUM_ATTEMPTS} workers were lost while judging it")
        return None
    return judgement


def _measure_with_blobs(judgement: Judgement) -> tuple[judge.Judgement, dict[str, Any]]:
    """Return the result of `_measure`; retry for BLOB_PATIENCE seconds while the store of blobs is unavailable.

    Raises BlobStoreError.
    """
    end = time.monotonic() + BLOB_PATIENCE
    while True:
        try:
            return _measure(judgement)
        except BlobStoreUnavailableError as error:
            if time.monotonic() > end:
                raise
            logger.warning("blobs are not available, to be retried", **_ids(judgement), reason=str(error))
            time.sleep(_BLOB_INTERVAL)


def _measure(judgement: Judgement) -> tuple[judge.Judgement, dict[str, Any]]:
    """Return the judge's result, and the columns stored with it: the machine, and more for a score."""
    applied = factor_for(judgement)
    columns: dict[str, Any] = {
        "host": applied.host,
        "measured_factor": applied.measured,
        "time_factor": applied.factor,
    }
    result = _grade(judgement, applied.factor)
    only_slow = {test.verdict for test in result.tests} <= {judge.Verdict.AC, judge.Verdict.TLE}
    is_score = judgement.purpose == Judgement.Purpose.SCORE
    if result.verdict != judge.Verdict.TLE or not only_slow or not is_score:
        return result, columns
    relaxed = _grade(judgement, applied.factor, relaxation=RELAXED_TIME, stop_at_first_failure=True)
    return result, columns | {"relaxed_verdict": relaxed.verdict}


def _is_background(judgement: Judgement) -> bool:
    """Return whether nobody waits for the verdict: that of a score, or of a rejudging."""
    return judgement.purpose == Judgement.Purpose.SCORE or judgement.rejudging_id is not None


def _grade(
    judgement: Judgement,
    time_factor: float,
    *,
    relaxation: float = 1.0,
    stop_at_first_failure: bool | None = None,
) -> judge.Judgement:
    problem, language = judgement.submission.problem, judgement.submission.language
    policy, multipliers = judge.Policy(judgement.policy), settings.JUDGE_TIME_MULTIPLIERS
    limits = judge.Limits(
        time=problem.time_limit * relaxation, memory=judgement.memory_limit or problem.memory_limit
    )
    tests = judge_tests(problem, judgement.suite, judgement.test_suite)
    if judgement.whole_output:
        tests = [replace(test, shown=WHOLE_OUTPUT) if test.sample else test for test in tests]
    if not tests and judgement.suite == Judgement.TestScope.SAMPLES:
        # Every program passes an empty set of samples (docs/spec.md 7.2). Interactive problems have no samples.
        applied = judge.limits_for(limits, language, policy, multipliers, time_factor)
        return judge.Judgement(judge.Verdict.AC, (), 0, "", policy, applied, judge.JUDGE_VERSION, "", "")
    if stop_at_first_failure is None:
        stop_at_first_failure = judgement.stop_at_first_failure
    return judge.grade(
        judge.Submission(program_files(problem, judgement.submission.source, language), language),
        judge.Problem(tests, limits, checker_for(problem, policy)),
        judge.GradingOptions(
            policy=policy,
            time_multipliers=multipliers,
            time_factor=time_factor,
            stop_at_first_failure=stop_at_first_failure,
            compile_time=settings.JUDGE_COMPILE_TIME,
        ),
        on_test=pause_for_executions,
    )


def _fail(judgement: Judgement, fault: str, **columns: Any) -> None:
    """Store a fault of the judge. A judgement for which nobody waits is first retried."""
    if _is_background(judgement) and judgement.attempt < MAXIMUM_ATTEMPTS:
        logger.warning("judge fault, to be retried", **_ids(judgement))
        judgement.claimed().release()
        return
    _finish(judgement, Judgement.State.FAILED, verdict=judge.Verdict.JE, fault=fault, **columns)


def _ids(judgement: Judgement) -> dict[str, Any]:
    """Return the fields that identify a judgement in the log; its result is in the row."""
    return {
        "judgement": judgement.pk,
        "submission": judgement.submission_id,
        "attempt": judgement.attempt,
        "host": platform.node(),
    }


def _finish(judgement: Judgement, state: Judgement.State, **columns: Any) -> None:
    """Store the outcome and send the signal, unless another process has claimed the judgement."""
    if judgement.end(state, finished_at=timezone.now(), **columns):
        if state == Judgement.State.FAILED:
            logger.error("judge fault", **_ids(judgement))
        else:
            logger.info("judgement", **_ids(judgement), verdict=str(columns["verdict"]))
        judgement_finished.send(Judgement, judgement=Judgement.objects.get(pk=judgement.pk))
        if judgement.requested_by_id is not None:
            with suppress(redis.RedisError):  # the next sweep enqueues it
                enqueue_next(judgement.requested_by_id)
