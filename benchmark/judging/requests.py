"""Requests for judgements: rows in the state QUEUED, and jobs that point workers to them.

Queues deliver at least once and may lose a job, so the worker may perform a row any number of times, and
`requeue_lost` finds the rows whose job or worker was lost.
"""

import hashlib
import logging
from typing import TypedDict, Unpack

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

import judge
from benchmark.jobs import RowJobs, late_or_lost
from benchmark.judging.fair_share import EXECUTIONS, in_progress, share_of_a_person
from benchmark.judging.machine_speed import factor_for, factors_of_scope
from benchmark.models import Generation, Judgement, Problem, Submission, Suite

logger = logging.getLogger(__name__)

SCORES = "background"
"""The queue of program scores, which workers serve after runs and before rejudgings."""

_JOBS = RowJobs("benchmark.judging.perform", "judgement")


def store_submission(problem: Problem, source: str, language: str) -> Submission:
    """Return the row of this program; create it if the program is new."""
    submission, _ = Submission.objects.get_or_create(
        problem=problem, language=language, source_hash=source_hash(source), defaults={"source": source}
    )
    return submission


def source_hash(source: str) -> str:
    """Return the sha256 of the source's UTF-8 bytes, which identifies a program for a problem."""
    return hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()


class JudgementOptions(TypedDict, total=False):
    """The options of a judgement. The defaults are all tests, fair limits, and a stop at the first failed test."""

    purpose: Judgement.Purpose
    suite: Judgement.TestScope
    test_suite: Suite | None
    """The suite whose tests replace the imported hidden tests."""
    policy: judge.Policy
    stop_at_first_failure: bool
    memory_limit: int | None
    """Bytes, instead of the problem's limit."""
    whole_output: bool
    """Whether the results of samples keep the whole output."""
    speed_scope: str
    """The scope in which the time factor is fixed (`benchmark.judging.machine_speed`)."""
    requested_by: User
    """The person who waits for the verdict, whose judgements get a fair share of the workers."""


def request_judgement(submission: Submission, **options: Unpack[JudgementOptions]) -> Judgement:
    """Return a new row in the state QUEUED. The caller enqueues it, or performs it in its own process.

    Raises ValueError for the suite of another problem.
    """
    suite = options.get("test_suite")
    if suite is not None and suite.problem_id != submission.problem_id:
        raise ValueError(f"{suite} cannot judge a program for {submission.problem}")
    defaults: JudgementOptions = {"suite": Judgement.TestScope.ALL, "policy": judge.Policy.FAIR}
    return Judgement.objects.create(
        submission=submission, problem_hash=submission.problem.content_hash, **{**defaults, **options}
    )


_CONDITIONS = (
    "submission",
    "suite",
    "test_suite",
    "policy",
    "stop_at_first_failure",
    "memory_limit",
    "whole_output",
    "problem_hash",
)
"""The columns of a request that its verdict depends on, besides the time factor and the version of the judge."""


_OF_ANSWER = Q(sample_judgement=OuterRef("pk")) | Q(hidden_judgement=OuterRef("pk"))
"""The condition for replies of runs that refer to the judgement."""

_VERDICT = (
    "verdict",
    "passed",
    "total",
    "result",
    "near_limit",
    "host",
    "measured_factor",
    "time_factor",
)
"""The columns of a verdict, with the machine that gave it."""


def copy_of(done: Judgement) -> Judgement:
    """Return an unsaved finished judgement of an equal request, with the verdict of this one."""
    columns = {field.attname: getattr(done, field.attname) for field in Judgement._meta.concrete_fields}
    for name in ("id", "created_at"):
        del columns[name]
    return Judgement(**columns | {"finished_at": timezone.now(), "attempt": 0, "owner": ""})


def _applied_limits(
    judgement: Judgement, problem: Problem, language: str, time_factor: float
) -> judge.Limits:
    """Return the limits with which the program is judged now: the problem's, as policy and settings apply them."""
    limits = judge.Limits(time=problem.time_limit, memory=judgement.memory_limit or problem.memory_limit)
    policy = judge.Policy(judgement.policy)
    return judge.limits_for(limits, language, policy, settings.JUDGE_TIME_MULTIPLIERS, time_factor)


def has_applied_limits(judgement: Judgement, problem: Problem, language: str) -> bool:
    """Return whether a finished judgement was made with the limits that apply now, under its own time factor.

    It uses no database.
    """
    stored = (judgement.result or {}).get("limits")
    now = _applied_limits(judgement, problem, language, judgement.time_factor)
    return stored is not None and judge.Limits(**stored) == now


def copy_stored_verdict(judgement: Judgement, *, for_workers: bool = False) -> bool:
    """Finish a new request with the verdict of an equal one, if this version of the judge has performed one here.

    Verdicts with other limits (after a change of JUDGE_TIME_MULTIPLIERS), with another time factor than this machine
    would apply, those of imported runs, and those of a compiler that was stopped at JUDGE_COMPILE_TIME, which may have
    changed, are not copied. Return whether there was one. The program is not run again,
    and no signal is sent.

    `for_workers` is whether workers would perform the request: a factor that any of their machines has applied in the
    scope of the request replaces this machine's.
    """
    factors = factors_of_scope(judgement) if for_workers else [factor_for(judgement).factor]
    before = next(filter(None, (_equal_verdict(judgement, factor) for factor in factors)), None)
    if before is None:
        return False
    for name in _VERDICT:
        setattr(judgement, name, getattr(before, name))
    judgement.state, judgement.finished_at = Judgement.State.DONE, timezone.now()
    judgement.save(update_fields=[*_VERDICT, "state", "finished_at"])
    return True


def _equal_verdict(judgement: Judgement, time_factor: float) -> Judgement | None:
    """Return the first finished judgement of an equal request under this factor whose verdict may be copied."""
    equal = {name: getattr(judgement, name) for name in _CONDITIONS}
    submission = judgement.submission
    limits = _applied_limits(judgement, submission.problem, submission.language, time_factor)
    answers = Generation.objects.filter(_OF_ANSWER, work_item__run__source__isnull=False)
    done = Judgement.objects.filter(
        ~Exists(answers),
        **equal,
        time_factor=time_factor,
        counts=True,
        state=Judgement.State.DONE,
        result__judge_version=judge.JUDGE_VERSION,
        result__limits__time=limits.time,
        result__limits__memory=limits.memory,
    )
    stopped = Q(result__compiler_output__startswith=judge.COMPILER_STOPPED)
    return done.exclude(stopped, verdict=judge.Verdict.CE).order_by("pk").first()


def enqueue(judgement: Judgement, queue: str) -> None:
    """Put a job for the judgement into the queue once the surrounding transaction is committed."""
    transaction.on_commit(lambda: _JOBS.enqueue(judgement.pk, queue))


def enqueue_next(person_id: int) -> None:
    """Enqueue the person's oldest waiting judgement without a job. Raises redis.RedisError."""
    waiting = Judgement.objects.filter(requested_by=person_id).waiting().order_by("pk")
    pk = waiting.values_list("pk", flat=True).first()
    if pk is not None:
        _JOBS.enqueue_missing([pk], EXECUTIONS)


def lost_judgements() -> QuerySet[Judgement]:
    """Return the unfinished judgements without a living worker.

    Those of runs and of rejudgings are left out: runs judge theirs themselves, and `requeue_rejudgings` finds the
    others.
    """
    lost = late_or_lost(Judgement.objects.all())
    return lost.filter(rejudging=None).filter(~Exists(Generation.objects.filter(_OF_ANSWER)), work_items=None)


def requeue_lost() -> None:
    """Put a job into the queue for each lost judgement that has none. Raises redis.RedisError."""
    found = list(lost_judgements().order_by("pk").values_list("pk", "purpose", "requested_by"))
    people = {person for _, _, person in found if person is not None}
    share, now = share_of_a_person() if people else 0, timezone.now()
    full = {person for person in people if in_progress(person, now) >= share}
    lost = [(pk, purpose) for pk, purpose, person in found if person not in full]
    for name, purpose in ((EXECUTIONS, Judgement.Purpose.VERDICT), (SCORES, Judgement.Purpose.SCORE)):
        rows = [pk for pk, purpose_of_row in lost if purpose_of_row == purpose]
        enqueue_missing(rows, name)


def enqueue_missing(rows: list[int], name: str) -> None:
    """Put a job into the named queue for each of these judgements that has none. Raises redis.RedisError."""
    if missing := _JOBS.enqueue_missing(rows, name):
        logger.info("%s lost judgements are enqueued again in %s", missing, name)
