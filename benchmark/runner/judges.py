"""The judge of a run: programs are judged by rows that survive the process.

Judge workers perform the rows where there are any. Without them, threads beside the event loop do; in a distributed run
idle workers judge too, and the rows decide which process judges.
"""

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from django.db import connection, transaction

from benchmark import judging
from benchmark.judging import copy_of
from benchmark.methods import METHODS, MethodSettings
from benchmark.model_calls.commit_queue import CommitQueue
from benchmark.model_calls.inserts import insert_rows
from benchmark.models import Generation, Judgement, Problem, ProgramOperation, Run, WorkItem
from benchmark.runner import program_operations
from benchmark.runner.judge_workers import QUEUE, JudgeWorkers
from judge import Policy, SandboxFaultError, SandboxUnavailableError

T = TypeVar("T")

_POLL_SECONDS = 0.2
"""Seconds between two polls of a judgement that another worker performs."""


class JudgeFaultError(Exception):
    """A fault of the judge, which says nothing about the program."""


class RunJudge:
    """The judge of one run in this process."""

    def __init__(
        self,
        run: Run,
        settings: MethodSettings,
        commits: CommitQueue,
        pool: ThreadPoolExecutor,
        check: Callable[[], None],
        *,
        workers: JudgeWorkers | None,
    ) -> None:
        """`check` is called before each judging and raises to prevent it. `workers` judge; None: this process does."""
        self._requests = JudgementRequests(run, settings, for_workers=workers is not None)
        self._workers = workers
        self._shared = run.distributed
        self._commits = commits
        self._pool = pool
        self._check = check
        self._locks: WeakValueDictionary[tuple[int, str], asyncio.Lock] = WeakValueDictionary()

    async def judge(
        self, answer: Generation, problem: Problem, suite: Judgement.TestScope, *, every_test: bool = False
    ) -> Judgement:
        """Return the judgement of the answer's program on the samples or on all tests. Raises JudgeFaultError.

        A program is judged once: the answer's row keeps the judgement, and a resumed chain sends the same prompts. With
        `every_test` the tests after a failure are run too.
        """

        def request() -> Judgement:
            # This process has the item's lease, so no other process but a judge worker judges its programs.
            if self._workers is None and (before := judgement_of(answer, suite)):
                before.claimed().release()
            judgement, new = self._requests.ensure(answer, problem, suite, every_test=every_test)
            waits = judgement.state == Judgement.State.QUEUED
            if waits and (self._workers or (self._shared and new)):
                judging.enqueue(judgement, QUEUE)
            return judgement

        judgement = await self._wait_for(request)
        setattr(answer, _COLUMNS[suite], judgement)
        return judgement

    async def judge_programs(self, answers: Sequence[Generation], problem: Problem) -> None:
        """Judge the programs of the answers on the samples and on all tests. Raises JudgeFaultError.

        A program that was judged before in this process is not run again.
        """
        await self._commits.submit(self._requests.copy_known, (answers, problem))
        for answer in answers:
            # Chains that wait for the same program copy its verdict.
            async with self._locks.setdefault((problem.pk, answer.code), asyncio.Lock()):
                await self._judge_program(answer, problem)

    async def _judge_program(self, answer: Generation, problem: Problem) -> None:
        if answer.hidden_judgement is None:
            alone: Sequence[Generation] = (answer,)
            await self._commits.submit(self._requests.copy_known, (alone, problem))
        for suite in _COLUMNS:
            judgement = judgement_of(answer, suite)
            if judgement is None or judgement.state != Judgement.State.DONE:
                judgement = await self.judge(answer, problem, suite)
            self._requests.remember(answer, problem, suite, judgement)

    async def read(self, read: Callable[[], T]) -> T:
        """Return the result of a query."""
        return await self._commits.run(read)

    async def operate(self, item: WorkItem, language: str, name: str, arguments: dict[str, Any]) -> Any:
        """Return the result of an operation of `benchmark.runner.program_operations`. Raises JudgeFaultError."""
        self._check()
        if self._workers is None:
            return await self._operate_here(item, language, name, arguments)

        def request() -> ProgramOperation:
            row = ProgramOperation.objects.create(
                item=item, language=language, name=name, arguments=arguments
            )
            transaction.on_commit(lambda: program_operations.enqueue(row))
            return row

        row = await self._commits.run(request)
        try:
            row = await self._workers.finished(row)
        finally:
            pk = row.pk
            await self._commits.run(lambda: ProgramOperation.objects.filter(pk=pk).delete())
        if row.state == ProgramOperation.State.FAILED:
            raise JudgeFaultError(row.fault)
        return row.result

    async def _operate_here(self, item: WorkItem, language: str, name: str, arguments: dict[str, Any]) -> Any:
        """Return the result of an operation in a judge's thread, which has its own database connection."""

        def run() -> Any:
            try:
                return program_operations.OPERATIONS[name](item, language, **arguments)
            finally:
                connection.close()

        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, run)
        except (SandboxFaultError, SandboxUnavailableError) as error:
            raise JudgeFaultError(str(error)) from error

    async def _wait_for(self, request: Callable[[], Judgement]) -> Judgement:
        self._check()
        judgement = await self._commits.run(request)
        if self._workers is not None:
            judgement = await self._workers.finished(judgement)
        while judgement.state in (Judgement.State.QUEUED, Judgement.State.RUNNING):
            await asyncio.get_running_loop().run_in_executor(self._pool, _perform, judgement.pk, self._check)
            self._check_begun(judgement := await self._commits.run(_reread(judgement)))
            if judgement.state == Judgement.State.RUNNING:
                await asyncio.sleep(_POLL_SECONDS)
        if judgement.state == Judgement.State.FAILED:
            raise JudgeFaultError(judgement.fault)
        return judgement

    def _check_begun(self, judgement: Judgement) -> None:
        """Raise when a stop was requested before the judging began."""
        if judgement.state == Judgement.State.QUEUED:
            self._check()


_COLUMNS = {Judgement.TestScope.SAMPLES: "sample_judgement", Judgement.TestScope.ALL: "hidden_judgement"}
"""The columns of an answer's row for its judgements."""


def judgement_of(answer: Generation, suite: Judgement.TestScope) -> Judgement | None:
    """Return the answer's judgement on the samples or on all tests, in any state."""
    judgement: Judgement | None = getattr(answer, _COLUMNS[suite])
    return judgement


class JudgementRequests:
    """Requests for the judgements of a run, by its policy, its settings and its suites."""

    def __init__(self, run: Run, settings: MethodSettings, *, for_workers: bool = False) -> None:
        """`for_workers` is whether workers perform the requests, under the time factors of their machines."""
        self._settings = settings
        self._scope = judging.scope_of_run(run)
        self._known: dict[tuple[int, str, str], Judgement] = {}
        """The finished judgements of this process by problem, program and suite."""
        self._copies_verdicts = run.method in METHODS and METHODS[run.method].judges_every_program
        self._for_workers = for_workers
        self._suites: dict[str, int] = run.manifest.get("suites") or {}
        """By problem the version of the suite that replaces the imported hidden tests."""

    def ensure(
        self, answer: Generation, problem: Problem, suite: Judgement.TestScope, *, every_test: bool = False
    ) -> tuple[Judgement, bool]:
        """Return the answer's judgement and whether it is new; one that failed is replaced.

        Must be called in a transaction.
        """
        before = judgement_of(answer, suite)
        if before is not None:
            before.refresh_from_db()
            if before.state != Judgement.State.FAILED:
                return before, False
        settings, samples = self._settings, suite is Judgement.TestScope.SAMPLES
        version = None if samples else self._suites.get(problem.external_id)
        judgement = judging.request_judgement(
            judging.store_submission(problem, answer.code, settings.language),
            suite=suite,
            test_suite=None if version is None else problem.suites.get(version=version),
            policy=Policy(settings.policy),
            stop_at_first_failure=not (every_test or settings.every_test or samples),
            memory_limit=settings.memory_limit_of(problem),
            whole_output=samples and settings.shows_whole_output,
            speed_scope=self._scope,
        )
        if self._copies_verdicts:
            judging.copy_stored_verdict(judgement, for_workers=self._for_workers)
        setattr(answer, _COLUMNS[suite], judgement)
        Generation.objects.filter(pk=answer.pk).update(**{_COLUMNS[suite]: judgement})
        return judgement, True

    def remember(
        self, answer: Generation, problem: Problem, suite: Judgement.TestScope, judgement: Judgement
    ) -> None:
        """Keep the judgement for equal programs of other answers, unless the limits have changed since."""
        if judging.has_applied_limits(judgement, problem, self._settings.language):
            self._known[problem.pk, answer.code, suite] = judgement

    def copy_known(self, entries: list[tuple[Sequence[Generation], Problem]]) -> list[None]:
        """Give answers without a judgement copies of the judgements of equal programs. Call it in a transaction."""
        copies: list[tuple[Generation, str, Judgement]] = []
        for answers, problem in entries:
            for answer in answers:
                for suite, column in _COLUMNS.items():
                    known = self._known.get((problem.pk, answer.code, suite))
                    if known is not None and judgement_of(answer, suite) is None:
                        copies.append((answer, column, copy_of(known)))
        insert_rows([judgement for _, _, judgement in copies])
        changed = {}
        for answer, column, judgement in copies:
            setattr(answer, column, judgement)
            changed[answer.pk] = answer
        with connection.cursor() as cursor:
            cursor.executemany(
                "UPDATE benchmark_generation SET sample_judgement_id = %s, hidden_judgement_id = %s WHERE id = %s",
                [
                    (one.sample_judgement_id, one.hidden_judgement_id, pk)
                    for pk, one in sorted(changed.items())
                ],
            )
        return [None] * len(entries)


def _reread(judgement: Judgement) -> Callable[[], Judgement]:
    return lambda: Judgement.objects.get(pk=judgement.pk)


@contextmanager
def judge_threads(count: int) -> Iterator[ThreadPoolExecutor]:
    """Provide threads for the judge of one run."""
    with ThreadPoolExecutor(count, "judge") as pool:
        yield pool


def cores() -> int:
    """Return how many programs can be judged at once on this machine."""
    return os.cpu_count() or 1


def _perform(judgement_id: int, check: Callable[[], None]) -> None:
    """Judge in a thread of the pool, which has its own database connection."""
    try:
        check()
        judging.perform(judgement_id)
    finally:
        connection.close()
