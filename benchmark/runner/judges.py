"""The judges of a run: programs judged in threads beside the event loop, by rows that survive it."""

import asyncio
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from asgiref.sync import sync_to_async
from django.db import connection, transaction

from benchmark import judging
from benchmark.methods import Sampling
from benchmark.models import Generation, Judgement, Problem, WorkItem
from judge import Policy


class JudgeFault(Exception):
    """The judge failed, which says nothing about the program."""


class Judges:
    """As many judges as there are cores. `check` is called before each judging and raises to prevent it."""

    def __init__(self, settings: Sampling, pool: ThreadPoolExecutor, check: Callable[[], None]) -> None:
        self._settings = settings
        self._pool = pool
        self._check = check
        self._free = asyncio.Semaphore(_cores())

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

    async def on_hidden(self, answer: Generation, problem: Problem) -> Judgement:
        """The answer's program on all tests, for a method that goes by the verdict. Raises JudgeFault.

        It is judged once, as on the samples.
        """

        def request() -> Judgement:
            judgement = self._request(answer.hidden_judgement, problem, answer.code, Judgement.Suite.ALL)
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

    async def _judged(self, request: Callable[[], Judgement]) -> Judgement:
        async with self._free:
            self._check()
            judgement = await sync_to_async(transaction.atomic(request))()
            if judgement.state != Judgement.State.DONE:
                await asyncio.get_running_loop().run_in_executor(self._pool, _perform, judgement.pk)
                judgement = await sync_to_async(Judgement.objects.get)(pk=judgement.pk)
        if judgement.state != Judgement.State.DONE:
            raise JudgeFault(judgement.fault or "another worker is judging it")
        return judgement

    def _request(
        self, before: Judgement | None, problem: Problem, code: str, suite: Judgement.Suite
    ) -> Judgement:
        """The judgement asked for before the run was cut off, unless it failed; else a new one."""
        if before and before.state != Judgement.State.FAILED:
            # The item's lease is ours, so whoever was judging for it is gone.
            judging.release(before)
            return before
        return judging.request_judgement(
            judging.store_submission(problem, code, self._settings.language),
            suite=suite,
            policy=Policy(self._settings.policy),
            stop_at_first_failure=suite is Judgement.Suite.ALL,
        )


@contextmanager
def judge_threads() -> Iterator[ThreadPoolExecutor]:
    """Threads for the judges of one run."""
    with ThreadPoolExecutor(_cores(), "judge") as pool:
        yield pool


def _cores() -> int:
    return os.cpu_count() or 1


def _perform(judgement_id: int) -> None:
    """Judge in a thread of the pool, which has a database connection of its own."""
    try:
        judging.perform(judgement_id)
    finally:
        connection.close()
