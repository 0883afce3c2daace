"""Judging stored problems: rows ask for a judgement, a worker performs it, the row holds the result.

Queues deliver at least once and may lose an entry, so `perform` may be called any number of times for one
row and `requeue_lost` finds the rows whose entry or worker was lost.
"""

import hashlib
import logging
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta

import django_rq
import redis
from django.conf import settings
from django.db import connection, transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.dispatch import Signal
from django.utils import timezone

import judge
from benchmark.functional import Signature, driven
from benchmark.models import Generation, Judgement, Problem, Submission, Suite, SuiteTest, TestCase, blobs

logger = logging.getLogger(__name__)

LEASE = timedelta(seconds=30)
"""How long a worker may be silent before another may take its judgement over."""

HEARTBEAT = 8.0
"""Seconds between two renewals of the lease while the judge works."""

WHOLE_OUTPUT = 1_000_000
"""Characters of output that count as all of it: no prompt holds more."""

MAXIMUM_ATTEMPTS = 3
"""Claims of one judgement before its fault is final; a fault is never counted against the program."""

judgement_finished = Signal()
"""Sent with `judgement` after a judgement reached DONE or FAILED, in the process that performed it."""


def store_submission(problem: Problem, source: str, language: str) -> Submission:
    """The row for this program, made on first sight."""
    source_hash = hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()
    submission, _ = Submission.objects.get_or_create(
        problem=problem, language=language, source_hash=source_hash, defaults={"source": source}
    )
    return submission


def request_judgement(
    submission: Submission,
    *,
    suite: Judgement.Suite = Judgement.Suite.ALL,
    test_suite: Suite | None = None,
    policy: judge.Policy = judge.Policy.FAIR,
    stop_at_first_failure: bool = True,
    memory_limit: int | None = None,
    whole_output: bool = False,
) -> Judgement:
    """Return a new row in state QUEUED. The caller enqueues it, or performs it in its own process.

    `memory_limit` (bytes) overrides the problem's. With `whole_output` the results of samples keep all of the output.
    With `test_suite` its tests take the place of the imported hidden ones. Raises ValueError for the suite of another
    problem.
    """
    if test_suite is not None and test_suite.problem_id != submission.problem_id:
        raise ValueError(f"{test_suite} cannot judge a program for {submission.problem}")
    return Judgement.objects.create(
        submission=submission,
        suite=suite,
        test_suite=test_suite,
        policy=policy,
        stop_at_first_failure=stop_at_first_failure,
        memory_limit=memory_limit,
        whole_output=whole_output,
        problem_hash=submission.problem.content_hash,
    )


def enqueue(judgement: Judgement, queue: str) -> None:
    """Remind a worker of the judgement once the surrounding transaction is committed."""
    transaction.on_commit(lambda: _remind(judgement.pk, queue))


def _remind(judgement_id: int, queue: str) -> None:
    try:
        django_rq.get_queue(queue).enqueue(perform, judgement_id, job_id=f"judgement-{judgement_id}")
    except redis.RedisError as error:  # the sweep of the workers finds the row
        logger.warning("judgement %s waits for the queue to come back: %s", judgement_id, error)


def lost_judgements() -> QuerySet[Judgement]:
    """Those nobody is working on. Those of runs are left to their runs, which judge what nobody else does."""
    now = timezone.now()
    of_run = Q(sample_judgement=OuterRef("pk")) | Q(hidden_judgement=OuterRef("pk"))
    return Judgement.objects.filter(
        Q(state=Judgement.State.QUEUED, created_at__lt=now - timedelta(seconds=10))
        | Q(state=Judgement.State.RUNNING, lease_until__lt=now),
        ~Exists(Generation.objects.filter(of_run)),
        work_items=None,
    )


def requeue_lost(queue: str) -> int:
    """Remind workers of judgements nobody is working on; returns how many there were."""
    lost = lost_judgements().values_list("pk", flat=True)
    waiting = set(django_rq.get_queue(queue).get_job_ids())
    count = 0
    for pk in lost:
        job_id = f"judgement-{pk}"
        if job_id not in waiting:
            django_rq.get_queue(queue).enqueue(perform, pk, job_id=job_id)
            count += 1
    return count


def perform(judgement_id: int) -> None:
    """Claim the judgement, grade it, store the result. Does nothing when it is finished or in other hands."""
    judgement = _claim(judgement_id)
    if judgement is None:
        return
    attempt = judgement.attempt
    problem = judgement.submission.problem
    try:
        with _lease_kept(judgement):
            result = _grade(judgement, problem)
    except Exception as error:
        logger.exception("judgement %s failed", judgement_id)
        fault = f"{type(error).__name__}: {error}"
        _finish(judgement_id, attempt, state=Judgement.State.FAILED, verdict=judge.Verdict.JE, fault=fault)
        return
    except BaseException:  # this process is asked to end: another may begin at once
        release(judgement)
        raise
    if result.verdict == judge.Verdict.JE:
        fault = next(
            (test.message for test in result.tests if test.verdict == judge.Verdict.JE), "judge error"
        )
        state = Judgement.State.FAILED
    else:
        fault, state = "", Judgement.State.DONE
    _finish(
        judgement_id,
        attempt,
        state=state,
        verdict=result.verdict,
        passed=result.passed,
        total=result.total,
        result=result.to_json(),
        fault=fault,
    )


def _grade(judgement: Judgement, problem: Problem) -> judge.Judgement:
    policy = judge.Policy(judgement.policy)
    language = judgement.submission.language
    limits = judge.Limits(time=problem.time_limit, memory=judgement.memory_limit or problem.memory_limit)
    tests = judge_tests(problem, judgement.suite, judgement.test_suite)
    if judgement.whole_output:
        tests = [replace(test, shown=WHOLE_OUTPUT) if test.sample else test for test in tests]
    if not tests and judgement.suite == Judgement.Suite.SAMPLES:
        # Every program passes all of none (docs/spec.md 7.2). Interactive problems show dialogues instead of samples.
        applied = judge.limits_for(limits, language, policy, settings.JUDGE_TIME_MULTIPLIERS)
        return judge.Judgement(judge.Verdict.AC, (), 0, "", policy, applied, judge.JUDGE_VERSION, "", "")
    return grade_program(
        problem,
        judgement.submission.source,
        language,
        tests,
        limits,
        policy=policy,
        stop_at_first_failure=judgement.stop_at_first_failure,
    )


def _claim(judgement_id: int) -> Judgement | None:
    now = timezone.now()
    free = Q(state=Judgement.State.QUEUED) | Q(state=Judgement.State.RUNNING, lease_until__lt=now)
    with transaction.atomic():
        claimed = Judgement.objects.filter(free, pk=judgement_id).update(
            state=Judgement.State.RUNNING, attempt=F("attempt") + 1, lease_until=now + LEASE
        )
        if not claimed:
            return None
        judgement = Judgement.objects.select_related("submission__problem__dataset", "test_suite").get(
            pk=judgement_id
        )
    if judgement.attempt > MAXIMUM_ATTEMPTS:
        fault = f"given up after {MAXIMUM_ATTEMPTS} workers were lost while judging it"
        _finish(
            judgement.pk,
            judgement.attempt,
            state=Judgement.State.FAILED,
            verdict=judge.Verdict.JE,
            fault=fault,
        )
        return None
    return judgement


def release(judgement: Judgement) -> None:
    """Give up a claim without a result, so that the judgement need not wait for the end of its lease."""
    Judgement.objects.filter(
        pk=judgement.pk, attempt=judgement.attempt, state=Judgement.State.RUNNING
    ).update(state=Judgement.State.QUEUED, lease_until=None)


@contextmanager
def _lease_kept(judgement: Judgement) -> Iterator[None]:
    """Renew the lease from a thread of its own, however long a single test takes."""
    ended = threading.Event()

    def renew() -> None:
        while not ended.wait(HEARTBEAT):
            mine = Judgement.objects.filter(pk=judgement.pk, attempt=judgement.attempt)
            mine.update(lease_until=timezone.now() + LEASE)
        connection.close()

    heartbeat = threading.Thread(target=renew, name=f"lease of judgement {judgement.pk}", daemon=True)
    heartbeat.start()
    try:
        yield
    finally:
        ended.set()
        heartbeat.join()


def _finish(judgement_id: int, attempt: int, **fields: object) -> None:
    """Store the outcome unless a later claim has taken over meanwhile, and tell who waits for it."""
    stored = Judgement.objects.filter(pk=judgement_id, attempt=attempt, state=Judgement.State.RUNNING).update(
        lease_until=None, finished_at=timezone.now(), **fields
    )
    if stored:
        judgement_finished.send(Judgement, judgement=Judgement.objects.get(pk=judgement_id))


def grade_program(
    problem: Problem,
    source: str | dict[str, str],
    language: str,
    tests: Sequence[judge.Test],
    limits: judge.Limits,
    *,
    policy: judge.Policy = judge.Policy.FAIR,
    stop_at_first_failure: bool = True,
    files: judge.FileNames | None = None,
) -> judge.Judgement:
    """Judge a program, or the files of one, with the driver and the checker of the problem.

    Raises NotFunctional for a language that has no driver, and SandboxUnavailable.
    """
    return judge.grade(
        program_files(problem, source, language) if isinstance(source, str) else source,
        language,
        tests,
        limits,
        checker_for(problem, policy),
        policy=policy,
        time_multipliers=settings.JUDGE_TIME_MULTIPLIERS,
        stop_at_first_failure=stop_at_first_failure,
        files=files,
    )


def program_files(problem: Problem, source: str, language: str) -> str | dict[str, str]:
    """What is judged: the program itself, or for a functional problem the driver with it (`benchmark.functional`).

    Raises NotFunctional for a language that has no driver.
    """
    if problem.signature is None:
        return source
    return driven(source, Signature.from_json(problem.signature), language)


def checker_for(problem: Problem, policy: judge.Policy) -> judge.Checker:
    """How output is compared: the problem's own checker; under `compat` a USACO problem's whole texts, as the
    published benchmark did it (docs/spec.md 14)."""
    if policy == judge.Policy.COMPAT and problem.dataset.format == "usaco":
        return judge.Checker(kind="exact")
    return judge.Checker.from_json(problem.checker)


def judge_tests(problem: Problem, suite: str, test_suite: Suite | None = None) -> list[judge.Test]:
    """The problem's tests as the judge takes them: the samples, then (suite "all") the hidden ones.

    The hidden ones are those of `test_suite` where it is given, else the imported ones.
    """
    cases: Iterable[TestCase] = problem.tests.all()
    if suite == Judgement.Suite.SAMPLES or test_suite is not None:
        cases = problem.tests.filter(origin=TestCase.Origin.SAMPLE)
    tests = [_judge_test(case, sample=case.origin == TestCase.Origin.SAMPLE) for case in cases]
    if test_suite is not None:
        tests += [_judge_test(case, sample=False) for case in test_suite.tests.all()]
    return tests


def _judge_test(case: TestCase | SuiteTest, *, sample: bool) -> judge.Test:
    return judge.Test(
        case.name, input=blobs.path(case.input_hash), answer=blobs.path(case.answer_hash), sample=sample
    )
