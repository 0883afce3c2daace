"""Rejudgings: the workers judge stored programs again and keep the former judgements.

The new judgements do not count (`Judgement.counts`) before the rejudging is applied (`benchmark.judging.switching`).
Equal programs under equal conditions are judged once. The rows decide what is left to do, so a lost or repeated job
costs nothing.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import redis
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models import Count
from django.db.models.fields.json import KeyTextTransform
from django.utils import timezone

import judge
from benchmark.jobs import RowJobs
from benchmark.judging.fair_share import living_workers
from benchmark.judging.performing import perform
from benchmark.judging.problem_versions import JudgedVersion, describe_changes
from benchmark.models import Judgement, Problem, RejudgedProgram, Rejudging
from benchmark.models.parts import parts

logger = logging.getLogger(__name__)

QUEUE = "rejudging"
"""The queue of rejudgings, which workers serve last."""

_JOBS = RowJobs("benchmark.judging.work_on_rejudging", "rejudging")

TIME_SLICE = 5.0
"""Seconds for which a worker judges programs of a rejudging before it looks for other work."""

_SAMPLE = 200
"""Maximum number of former judgements whose times an estimate reads."""

_OVERHEAD = 0.05
"""Seconds of a judgement in addition to its tests: container, storage, and a compilation, mostly from the cache."""

_LOOK_INTERVAL = 0.5
"""Seconds between two checks of the progress of threads."""

_AT_ONCE = 500
"""Maximum number of rows that one statement reads or writes."""


class RejudgingError(Exception):
    """A rejudging that cannot be requested, applied or discarded; the message says why and what to do."""


@dataclass(frozen=True)
class ProgramPlace:
    """The place of a judged program: a reply of a chain, or a generation of a session of a tutor."""

    role: RejudgedProgram.Role
    number: int
    work_item: int | None = None
    session: UUID | None = None


Places = Mapping[int, ProgramPlace]
"""The places of judgements by their primary keys."""


@dataclass(frozen=True)
class RejudgingEstimate:
    """The work of a rejudging. Equal programs under equal conditions count once in `programs`."""

    judgements: int
    programs: int
    seconds: float | None
    """CPU seconds of all programs together. None if no former judgement has times."""


@dataclass(frozen=True)
class Progress:
    """The numbers of programs of a rejudging that are judged, and that the judge could not judge."""

    total: int
    done: int
    failed: int

    @property
    def finished(self) -> bool:
        """Whether no program is left to be judged."""
        return self.done + self.failed == self.total


_CONDITIONS = (
    "submission_id",
    "suite",
    "test_suite_id",
    "policy",
    "stop_at_first_failure",
    "memory_limit",
    "whole_output",
    "purpose",
)
"""The columns that a new judgement copies: the conditions of its verdict besides the problem and the time factor."""

_Conditions = tuple[Any, ...]


def _groups(keys: Sequence[int]) -> dict[_Conditions, list[int]]:
    """Return the judgements by the conditions of their new judgement, in the order of their keys.

    A judgement without a scope keeps the time factor of the day on which it was made.
    """
    groups: dict[_Conditions, list[int]] = defaultdict(list)
    for part in parts(keys, _AT_ONCE):
        rows = Judgement.objects.filter(pk__in=part).order_by("pk")
        for pk, scope, finished, created, *conditions in rows.values_list(
            "pk", "speed_scope", "finished_at", "created_at", *_CONDITIONS
        ):
            day = f"day:{(finished or created).date().isoformat()}"
            groups[*conditions, scope or day].append(pk)
    return dict(groups)


def estimate(places: Places) -> RejudgingEstimate:
    """Return the work of a rejudging of these judgements, estimated from the times of some former ones."""
    keys = sorted(places)
    groups = _groups(keys)
    firsts = [group[0] for group in groups.values()]
    sample = firsts[:: max(1, len(firsts) // _SAMPLE)][:_SAMPLE]
    seconds = []
    for result in Judgement.objects.filter(pk__in=sample).values_list("result", flat=True):
        tests = (result or {}).get("tests") or []
        if times := [test["time"] for test in tests if test.get("time") is not None]:
            seconds.append(sum(times) + _OVERHEAD)
    total = sum(seconds) / len(seconds) * len(groups) if seconds else None
    return RejudgingEstimate(len(keys), len(groups), total)


def changes_of(places: Places) -> list[dict[str, Any]]:
    """Return for each problem, as JSON values, how its former judgements were made and how new ones are made."""
    versions: dict[int, dict[str, dict[str, Any]]] = defaultdict(dict)
    for part in parts(sorted(places), _AT_ONCE):
        rows = (
            Judgement.objects.filter(pk__in=part)
            .order_by()
            .annotate(version=KeyTextTransform("judge_version", "result"))
            .values_list("submission__problem", "problem_hash", "version", "time_factor")
            .annotate(Count("pk"))
        )
        for problem, digest, version, factor, count in rows:
            found = versions[problem].setdefault(
                digest, {"judgements": 0, "judge_versions": [], "time_factors": []}
            )
            found["judgements"] += count
            for name, value in (("judge_versions", version or "unknown"), ("time_factors", factor)):
                found[name] = sorted({*found[name], value})
    problems = Problem.objects.select_related("dataset").in_bulk(list(versions))
    changes = [_change(problems[pk], former) for pk, former in versions.items()]
    return sorted(changes, key=lambda change: str(change["problem"]))


def _change(problem: Problem, former: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    present = JudgedVersion.present(problem)
    before = []
    for digest, judged in sorted(former.items()):
        version = JudgedVersion.of_hash(problem, digest)
        about = version.to_json() if version else {"problem_hash": digest}
        changes = describe_changes(version, present) if version else None
        before.append({**about, **judged, "changes": changes})
    return {
        "problem": str(problem),
        "before": before,
        "after": {
            **present.to_json(),
            "judge_version": judge.JUDGE_VERSION,
            "dataset_time_factor": problem.dataset.time_factor,
        },
    }


def request_rejudging(
    places: Places, *, reason: str, selection: Mapping[str, Any], by: User | None
) -> Rejudging:
    """Store a rejudging of these judgements, with a new judgement for each group of equal programs.

    The caller enqueues it (`enqueue_rejudging`), or performs it (`perform_next`). Raises RejudgingError.
    """
    if not reason.strip():
        raise RejudgingError("Say why the programs are judged again.")
    if not places:
        raise RejudgingError("The selection contains no program that can be judged again.")
    keys = sorted(places)
    # Read before the transaction, which keeps other writers of SQLite waiting.
    changes, groups = changes_of(places), list(_groups(keys).items())
    hashes = _problem_hashes([conditions[0] for conditions, _ in groups])
    with transaction.atomic():
        _refuse_overlap(keys)
        rejudging = Rejudging.objects.create(
            reason=reason.strip(), selection=dict(selection), changes=changes, requested_by=by
        )
        after = [
            Judgement(
                **dict(zip((*_CONDITIONS, "speed_scope"), conditions, strict=True)),
                problem_hash=hashes[conditions[0]],
                rejudging=rejudging,
                counts=False,
            )
            for conditions, _ in groups
        ]
        Judgement.objects.bulk_create(after, batch_size=_AT_ONCE)
        RejudgedProgram.objects.bulk_create(
            (
                RejudgedProgram(
                    rejudging=rejudging,
                    before_id=pk,
                    after=row,
                    role=places[pk].role,
                    number=places[pk].number,
                    work_item_id=places[pk].work_item,
                    session=places[pk].session,
                )
                for row, (_, group) in zip(after, groups, strict=True)
                for pk in group
            ),
            batch_size=_AT_ONCE,
        )
    return rejudging


def _refuse_overlap(keys: Sequence[int]) -> None:
    """Raise RejudgingError if another undecided rejudging contains one of these judgements."""
    for part in parts(keys, _AT_ONCE):
        other = RejudgedProgram.objects.filter(before__in=part, rejudging__state=Rejudging.State.OPEN).first()
        if other is not None:
            raise RejudgingError(
                f"Rejudging {other.rejudging_id} contains some of these programs and is not decided. Apply or "
                "discard it first."
            )


def _problem_hashes(submissions: Sequence[int]) -> dict[int, str]:
    """Return the present content hash of the problem of each submission."""
    found: dict[int, str] = {}
    for part in parts(sorted(set(submissions)), _AT_ONCE):
        problems = Problem.objects.filter(submissions__in=part)
        found |= dict(problems.values_list("submissions", "content_hash"))
    return found


def progress_of(rejudging: Rejudging) -> Progress:
    """Return how many of the programs are judged."""
    states = dict(rejudging.judgements.order_by().values_list("state").annotate(Count("pk")))
    done, failed = states.get(Judgement.State.DONE, 0), states.get(Judgement.State.FAILED, 0)
    return Progress(sum(states.values()), done, failed)


def retry_failed(rejudging: Rejudging) -> int:
    """Reset the programs that the judge could not judge to the waiting state; return their number."""
    failed = rejudging.judgements.filter(state=Judgement.State.FAILED)
    return failed.update(
        state=Judgement.State.QUEUED, attempt=0, verdict="", fault="", result=None, finished_at=None
    )


def perform_next(rejudging_id: int) -> bool:
    """Judge the next program that waits, in this process. Return False if none waits, or the rejudging is decided.

    Programs of processes that ended are taken over.
    """
    if not Rejudging.objects.filter(pk=rejudging_id, state=Rejudging.State.OPEN).exists():
        return False
    rows = Judgement.objects.filter(rejudging=rejudging_id)
    pk = rows.waiting().order_by("pk").values_list("pk", flat=True).first()
    if pk is None:
        pk = rows.lost(timezone.now()).order_by("pk").values_list("pk", flat=True).first()
    if pk is None:
        return False
    perform(pk)
    return True


def perform_all(rejudging: Rejudging, jobs: int, on_change: Callable[[], object]) -> None:
    """Judge all programs that wait in this process, `jobs` at once; `on_change` is called often in this thread.

    After an exception or an interruption, no further program starts, and the function returns when the started ones
    have ended.
    """
    if jobs == 1:
        while perform_next(rejudging.pk):
            on_change()
        return
    stopping = threading.Event()

    def work() -> None:
        try:
            while not stopping.is_set() and perform_next(rejudging.pk):
                pass
        finally:
            connection.close()

    with ThreadPoolExecutor(jobs, "rejudging") as pool:
        futures = [pool.submit(work) for _ in range(jobs)]
        try:
            while wait(futures, _LOOK_INTERVAL).not_done:
                on_change()
        finally:
            stopping.set()
    for future in futures:
        future.result()
    on_change()


def work_on_rejudging(rejudging_id: int) -> None:
    """Judge programs of the rejudging for one time slice, then enqueue a job for the rest."""
    end = time.monotonic() + TIME_SLICE
    while perform_next(rejudging_id):
        if time.monotonic() > end:
            _try_to_enqueue(rejudging_id, 1)
            return


def enqueue_rejudging(rejudging: Rejudging) -> None:
    """Enqueue a job of the rejudging for each worker once the surrounding transaction is committed."""
    transaction.on_commit(lambda: _try_to_enqueue(rejudging.pk, max(1, living_workers())))


def _try_to_enqueue(rejudging_id: int, count: int) -> None:
    """Enqueue jobs until `count` of them wait, unless the queue server is unavailable."""
    try:
        _JOBS.top_up(rejudging_id, QUEUE, count)
    except redis.RedisError as error:  # the sweep of the workers finds the row
        logger.warning(
            "rejudging %s is not enqueued, because the queue server is unavailable: %s", rejudging_id, error
        )


def requeue_rejudgings() -> None:
    """Enqueue a job for each open rejudging with programs that no living process judges. Raises redis.RedisError."""
    now = timezone.now()
    for pk in Rejudging.objects.filter(state=Rejudging.State.OPEN).values_list("pk", flat=True):
        rows = Judgement.objects.filter(rejudging=pk)
        if rows.waiting().exists() or rows.lost(now).exists():
            _JOBS.top_up(pk, QUEUE, max(1, living_workers()))
