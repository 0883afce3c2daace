"""The judges of a run: programs judged in threads beside the event loop, by rows that survive it.

In a distributed run every worker that has nothing else to do is reminded of them too; the row decides who judges.
"""

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from django.db import connection

from benchmark import judging
from benchmark.methods import MethodSettings
from benchmark.model_calls.commit_queue import CommitQueue
from benchmark.models import Generation, Judgement, Problem
from judge import Policy

T = TypeVar("T")

QUEUE = "default"
"""Where workers find the work of runs, behind that of tutors."""

_OTHER_HANDS = 0.2
"""Seconds between two looks at a judgement that another worker is at."""


class JudgeFaultError(Exception):
    """The judge failed, which says nothing about the program."""


class RunJudge:
    """`check` is called before each judging and raises to prevent it; `shared` asks other workers to help.

    `suites` names by problem the version of the suite whose tests take the place of the imported hidden ones.
    """

    def __init__(
        self,
        settings: MethodSettings,
        commits: CommitQueue,
        pool: ThreadPoolExecutor,
        check: Callable[[], None],
        *,
        suites: Mapping[str, int],
        shared: bool,
    ) -> None:
        self._settings = settings
        self._commits = commits
        self._pool = pool
        self._check = check
        self._suites = suites
        self._shared = shared

    async def judge(
        self, answer: Generation, problem: Problem, suite: Judgement.Suite, *, every_test: bool = False
    ) -> Judgement:
        """What the answer's program does on the samples of the statement, or on all tests. Raises JudgeFault.

        It is judged once: the row of the answer keeps the judgement, so that a chain that goes on later asks
        the same questions. With `every_test` it is run on the tests after a failure too.
        """

        def request() -> Judgement:
            # The item's lease is ours, so whoever was judging for it is gone.
            if before := judgement_of(answer, suite):
                judging.release(before)
            judgement, made = ensure_judgement(
                answer, problem, suite, self._settings, self._suites, every_test=every_test
            )
            if made and self._shared:
                judging.enqueue(judgement, QUEUE)
            return judgement

        return await self._judged(request)

    async def work(self, work: Callable[[], T]) -> T:
        """What a piece of work in the sandbox comes to, done in a judge's thread."""

        def done() -> T:
            try:
                return work()
            finally:
                connection.close()

        self._check()
        return await asyncio.get_running_loop().run_in_executor(self._pool, done)

    async def _judged(self, request: Callable[[], Judgement]) -> Judgement:
        self._check()
        judgement = await self._commits.run(request)
        while judgement.state in (Judgement.State.QUEUED, Judgement.State.RUNNING):
            await asyncio.get_running_loop().run_in_executor(self._pool, _perform, judgement.pk, self._check)
            self._check_begun(judgement := await self._commits.run(judgement_now(judgement)))
            if judgement.state == Judgement.State.RUNNING:
                await asyncio.sleep(_OTHER_HANDS)
        if judgement.state == Judgement.State.FAILED:
            raise JudgeFaultError(judgement.fault)
        return judgement

    def _check_begun(self, judgement: Judgement) -> None:
        """Raises when the judging was asked to stop before it began."""
        if judgement.state == Judgement.State.QUEUED:
            self._check()


_COLUMNS = {Judgement.Suite.SAMPLES: "sample_judgement", Judgement.Suite.ALL: "hidden_judgement"}
"""Where the row of an answer keeps its judgement."""


def judgement_of(answer: Generation, suite: Judgement.Suite) -> Judgement | None:
    """The answer's judgement on the samples or on all tests, whatever its state."""
    judgement: Judgement | None = getattr(answer, _COLUMNS[suite])
    return judgement


def ensure_judgement(
    answer: Generation,
    problem: Problem,
    suite: Judgement.Suite,
    settings: MethodSettings,
    suites: Mapping[str, int],
    *,
    every_test: bool = False,
) -> tuple[Judgement, bool]:
    """The judgement that was asked for before, unless it failed, else a new one; and whether it is new.

    To be called in a transaction.
    """
    before = judgement_of(answer, suite)
    if before is not None:
        before.refresh_from_db()
        if before.state != Judgement.State.FAILED:
            return before, False
    version = suites.get(problem.external_id) if suite is Judgement.Suite.ALL else None
    judgement = judging.request_judgement(
        judging.store_submission(problem, answer.code, settings.language),
        suite=suite,
        test_suite=None if version is None else problem.suites.get(version=version),
        policy=Policy(settings.policy),
        stop_at_first_failure=not (every_test or settings.every_test or suite is Judgement.Suite.SAMPLES),
        memory_limit=settings.memory_limit_of(problem),
        whole_output=suite is Judgement.Suite.SAMPLES and settings.shows_whole_output,
    )
    setattr(answer, _COLUMNS[suite], judgement)
    Generation.objects.filter(pk=answer.pk).update(**{_COLUMNS[suite]: judgement})
    return judgement, True


def judgement_now(judgement: Judgement) -> Callable[[], Judgement]:
    """Reads the row again."""
    return lambda: Judgement.objects.get(pk=judgement.pk)


@contextmanager
def judge_threads(count: int) -> Iterator[ThreadPoolExecutor]:
    """Threads for the judges of one run."""
    with ThreadPoolExecutor(count, "judge") as pool:
        yield pool


def cores() -> int:
    """How many programs can be judged at once on this machine."""
    return os.cpu_count() or 1


def _perform(judgement_id: int, check: Callable[[], None]) -> None:
    """Judge in a thread of the pool, which has a database connection of its own."""
    try:
        check()
        judging.perform(judgement_id)
    finally:
        connection.close()
