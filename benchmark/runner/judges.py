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
from benchmark.methods import Sampling
from benchmark.models import Generation, Judgement, Problem, Suite, WorkItem
from benchmark.runner.commits import Commits
from judge import Policy

T = TypeVar("T")

QUEUE = "default"
"""Where workers find the work of runs, behind that of tutors."""

_OTHER_HANDS = 0.2
"""Seconds between two looks at a judgement that another worker is at."""


class JudgeFault(Exception):
    """The judge failed, which says nothing about the program."""


class Judges:
    """`check` is called before each judging and raises to prevent it; `shared` asks other workers to help.

    `suites` names by problem the version of the suite whose tests take the place of the imported hidden ones.
    """

    def __init__(
        self,
        settings: Sampling,
        commits: Commits,
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

    async def on_samples(self, answer: Generation, problem: Problem) -> Judgement:
        """What the answer's program does on every sample of the statement. Raises JudgeFault.

        It is judged once: the row of the answer keeps the judgement, so that a chain that goes on later asks
        the same questions.
        """

        def request() -> Judgement:
            judgement = self._request(answer.sample_judgement, problem, answer.code, Judgement.Suite.SAMPLES)
            answer.sample_judgement = judgement
            Generation.objects.filter(pk=answer.pk).update(sample_judgement=judgement)
            return judgement

        return await self._judged(request)

    async def on_hidden(self, answer: Generation, problem: Problem, *, every_test: bool = False) -> Judgement:
        """The answer's program on all tests, for a method that goes by the verdict. Raises JudgeFault.

        It is judged once, as on the samples; with `every_test` it is run on those after a failure too.
        """

        def request() -> Judgement:
            judgement = self._request(
                answer.hidden_judgement, problem, answer.code, Judgement.Suite.ALL, every_test=every_test
            )
            answer.hidden_judgement = judgement
            Generation.objects.filter(pk=answer.pk).update(hidden_judgement=judgement)
            return judgement

        return await self._judged(request)

    async def on_all_tests(self, item: WorkItem, selected: Generation) -> Judgement:
        """The judgement of the attempt, hidden tests included. Raises JudgeFault."""

        def request() -> Judgement:
            before = item.judgement or selected.hidden_judgement
            judgement = self._request(before, item.problem, selected.code, Judgement.Suite.ALL)
            item.judgement = judgement
            WorkItem.objects.filter(pk=item.pk, attempt=item.attempt).update(judgement=judgement)
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
            raise JudgeFault(judgement.fault)
        return judgement

    def _check_begun(self, judgement: Judgement) -> None:
        """Raises when the judging was asked to stop before it began."""
        if judgement.state == Judgement.State.QUEUED:
            self._check()

    def _request(
        self,
        before: Judgement | None,
        problem: Problem,
        code: str,
        suite: Judgement.Suite,
        *,
        every_test: bool = False,
    ) -> Judgement:
        """The judgement asked for before the run was cut off, unless it failed; else a new one."""
        if before and before.state != Judgement.State.FAILED:
            # The item's lease is ours, so whoever was judging for it is gone.
            judging.release(before)
            before.refresh_from_db()
            return before
        judgement = judging.request_judgement(
            judging.store_submission(problem, code, self._settings.language),
            suite=suite,
            test_suite=self._suite_of(problem) if suite is Judgement.Suite.ALL else None,
            policy=Policy(self._settings.policy),
            stop_at_first_failure=not (
                every_test or self._settings.every_test or suite == Judgement.Suite.SAMPLES
            ),
        )
        if self._shared:
            judging.enqueue(judgement, QUEUE)
        return judgement

    def _suite_of(self, problem: Problem) -> Suite | None:
        version = self._suites.get(problem.external_id)
        return None if version is None else problem.suites.get(version=version)


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
