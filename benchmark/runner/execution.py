"""Execution of a run: model calls on one event loop, rows in one thread, judging in other threads."""

import asyncio
import gc
import logging
import sys
from collections import defaultdict
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from django.db import connection
from django.utils import timezone

from benchmark.judging import fix_factor, scope_of_run
from benchmark.methods import METHODS, MethodSettings, Role
from benchmark.model_calls import ledger
from benchmark.model_calls.batches import Batches, BatchHooks
from benchmark.model_calls.budget import RunBudget, Spending
from benchmark.model_calls.commit_queue import CommitQueue
from benchmark.model_calls.heartbeat import send_heartbeat, unregister
from benchmark.model_calls.rate_limit import RateLimits
from benchmark.model_calls.stopping import (
    FATAL_KINDS,
    PERMANENT_KINDS,
    Stop,
    StopRequestedError,
)
from benchmark.model_calls.waits import RetryWaits
from benchmark.models import Generation, Judgement, Problem, Run, RunTutor, WorkItem
from benchmark.models.faults import fault_kind, judge_fault, provider_fault
from benchmark.models.leases import HEARTBEAT
from benchmark.models.owners import new_owner
from benchmark.providers import (
    BatchingProvider,
    Provider,
    ProviderError,
    open_batching_provider,
    open_provider,
    parse_model_spec,
)
from benchmark.reports.cached_report import store_report
from benchmark.runner import leases
from benchmark.runner.chain import ChainServices, StoredChain
from benchmark.runner.judge_workers import JudgeWorkers, judge_workers_run
from benchmark.runner.judges import JudgeFaultError, RunJudge, judge_threads
from benchmark.runner.paid_calls import PaidCalls, RoleCalls
from benchmark.runner.progress import ExecutionProgress
from benchmark.runner.reply_store import ModelRole, ReplyStore
from benchmark.runner.texts import SearchTexts
from judge import Verdict

logger = logging.getLogger(__name__)

T = TypeVar("T")

_POLL_SECONDS = 1.0
"""Seconds between two polls of the items that other processes hold."""

_SWITCH_INTERVAL = 0.02
"""Seconds after which a waiting thread gets the interpreter; with the default of 5 ms a call takes a twelfth longer."""


async def execute(
    run: Run, *, judges: int, progress: ExecutionProgress, stop: Stop, cancel_batches: bool = False
) -> None:
    """Work on the run's pending items until none is left or a stop is requested.

    Calls keep to the run's limits and budget. Judge workers judge the programs; without them, this process judges at
    most `judges` programs at once. The work may be cancelled
    and the process killed at any time: stored replies remain, and the next `execute` continues after them. Any number
    of processes may execute one run. With `cancel_batches` no new request is sent: requests without an answer are
    cancelled, and the answers are stored. Raises ProviderError when the provider cannot be opened.
    """
    # The program's own objects are never garbage; without the freeze each collection would traverse them. No collection
    # before it: that takes a tenth of a second.
    gc.freeze()
    # The thread of the rows waits for the interpreter after every statement; frequent switches cost more than the wait.
    sys.setswitchinterval(_SWITCH_INTERVAL)
    spec = parse_model_spec(run.model_spec)
    batching = open_batching_provider(spec) if run.in_batches else None
    tutor = await asyncio.to_thread(_tutor_of, run)
    providers: dict[Role, Provider] = {"student": batching or open_provider(spec)}
    try:
        if tutor:
            progress.tutor_spent = Spending.of_run(tutor)
            providers["tutor"] = open_provider(parse_model_spec(tutor.model_spec))
        name = new_owner()
        hands_over = await asyncio.to_thread(_prepare_judging, run)
        with CommitQueue() as commits, judge_threads(judges) as pool:
            workers = JudgeWorkers(commits, stop.check, progress.report) if hands_over else None
            resources = _Resources(name, commits, pool, workers, tutor)
            execution = _RunExecution(run, providers, resources, progress, stop)
            if batching:
                execution.use_batches(batching, cancel=cancel_batches)
            try:
                await execution.work()
            finally:
                # Done by a thread, and therefore completed even while this task is being cancelled.
                broken_off = execution.pop_broken_off()
                await commits.run(lambda: _conclude(run, execution.runners, stop, broken_off))
    finally:
        for provider in providers.values():
            await provider.aclose()
    if run.state != Run.State.OPEN:
        await asyncio.to_thread(_store_report, run)


def _tutor_of(run: Run) -> RunTutor | None:
    try:
        return RunTutor.objects.select_related("run").filter(run=run).first()
    finally:
        connection.close()


def _prepare_judging(run: Run) -> bool:
    """Return whether judge workers perform the programs.

    If not, measure this machine before the run's transactions, which would wait for the measurement.
    """
    try:
        if judge_workers_run():
            return True
        fix_factor(scope_of_run(run))
        return False
    finally:
        connection.close()


def _store_report(run: Run) -> None:
    """Store the figures of the run from a thread of its own, outside any transaction of the rows."""
    try:
        store_report(run)
    finally:
        connection.close()


_BrokenOff = Sequence[tuple[ModelRole, int]]
"""The number of calls that broke off, by role."""


def _count_broken_off(calls: _BrokenOff) -> None:
    for part, number in calls:
        if number:
            broken_off = Spending(calls_broken_off=number)
            broken_off.add_to(part.metered)
            ledger.record(part.account, [broken_off])


def _conclude(run: Run, runners: Mapping[Role, str], stop: Stop, broken_off: _BrokenOff) -> None:
    """Release unfinished items and set the run's state: finished only when every item is settled."""
    _count_broken_off(broken_off)
    leases.release_all(run.pk, runners["student"])
    if "tutor" in runners:
        unregister(None, runners["tutor"])
    attended = unregister(run, runners["student"])
    left = run.items.exclude(state=WorkItem.State.DONE)
    if leases.is_settled(run):
        run.state, run.finished_at, run.stop_reason = Run.State.FINISHED, timezone.now(), ""
    elif stop.reason and stop.final:
        run.state, run.stop_reason = Run.State.STOPPED, stop.reason
    elif attended or (run.distributed and left.filter(state=WorkItem.State.PENDING).exists()):
        return  # other processes continue it
    else:
        run.state, run.stop_reason = Run.State.STOPPED, stop.reason
    run.save(update_fields=["state", "finished_at", "stop_reason"])


@dataclass(frozen=True)
class _Resources:
    """The name of this runner, its queue of database work, its threads and workers for judging, and the run's tutor."""

    runner: str
    commits: CommitQueue
    pool: ThreadPoolExecutor
    workers: JudgeWorkers | None
    tutor: RunTutor | None


class _RunExecution:
    """The share of this process in a run."""

    def __init__(
        self,
        run: Run,
        providers: Mapping[Role, Provider],
        resources: _Resources,
        progress: ExecutionProgress,
        stop: Stop,
    ) -> None:
        self._run = run
        self._runner = resources.runner
        self._method = METHODS[run.method]
        self._settings: MethodSettings = self._method.settings(**run.parameters)
        student = ModelRole.student(run, self._settings)
        self._calls: dict[Role, RoleCalls] = {
            "student": RoleCalls(student, providers["student"], resources.runner, stop)
        }
        if resources.tutor:
            tutor = ModelRole.tutor(resources.tutor)
            self._calls["tutor"] = RoleCalls(tutor, providers["tutor"], new_owner(), stop)
        self._commits = resources.commits
        self._progress = progress
        self._stop = stop
        self._slots = RateLimits(**run.limits).concurrency
        self._waits = RetryWaits(progress.report)
        self._retry = self._waits.policy(stop)
        self._paid = PaidCalls(self._calls, RunBudget(**run.budget), self._retry, stop, progress)
        self._open_chains = 0
        self._workers = resources.workers
        self._judge = RunJudge(
            run, self._settings, resources.commits, resources.pool, stop.check, workers=resources.workers
        )
        roles = {role: calls.part for role, calls in self._calls.items()}
        self._replies = ReplyStore(
            run,
            self._settings,
            roles,
            commits=resources.commits,
            call=self._paid.send,
            on_stored=self._paid.record,
        )
        self._services = ChainServices(
            self._replies,
            self._judge,
            SearchTexts(run.dataset, self._settings.language, run.model_spec),
            resources.commits,
            self._settings.language,
            run.manifest.get("prepared", {}),
        )
        self._problems: dict[int, Problem] = {}
        self._stored: dict[int, dict[int, Generation]] = defaultdict(dict)

    def use_batches(self, provider: BatchingProvider, *, cancel: bool) -> None:
        """Send all further requests in batches; with `cancel` only wait for those that were submitted before."""

        def on_progress(batched: int, answered: int) -> None:
            self._progress.batched, self._progress.answered = batched, answered
            self._progress.on_change(self._progress)

        hooks = BatchHooks(
            stop=self._stop,
            retry=self._retry,
            spending=lambda: self._progress.spent,
            open_chains=lambda: self._open_chains - self._replies.blocked,
            on_progress=on_progress,
        )
        self._paid.batches = Batches(self._run, provider, self._commits, hooks, cancel=cancel)

    async def work(self) -> None:
        """Call and judge until no item is left to claim."""
        await self._set_peers(await self._commits.run(self._beat))
        regular = [asyncio.create_task(self._keep_alive())]
        if self._workers:
            regular.append(asyncio.create_task(self._workers.keep_queued()))
        try:
            self._open_chains = await self._commits.run(self._run.items.all()[: self._slots].count)
            async with (
                self._paid.batches.running() if self._paid.batches else nullcontext(),
                asyncio.TaskGroup() as slots,
            ):
                for _ in range(self._open_chains):
                    slots.create_task(self._take_items())
        finally:
            for task in regular:
                task.cancel()

    async def _keep_alive(self) -> None:
        """Renew the leases, update the number of peers, and stop after the run was stopped elsewhere."""
        while True:
            await asyncio.sleep(HEARTBEAT)
            broken_off = self.pop_broken_off()
            peers, state = await self._commits.run(partial(self._heartbeat, broken_off))
            await self._set_peers(peers)
            if state == Run.State.STOPPED:
                self._stop.request("the run was stopped", final=False)

    @property
    def runners(self) -> dict[Role, str]:
        """The names of this process's heartbeats, one for each model."""
        return {role: calls.runner for role, calls in self._calls.items()}

    def pop_broken_off(self) -> _BrokenOff:
        """Return the number of calls that broke off since the previous call of this method, by role."""
        return [(calls.part, calls.provider.pop_broken_off()) for calls in self._calls.values()]

    async def _set_peers(self, peers: Mapping[Role, int]) -> None:
        for role, number in peers.items():
            await self._calls[role].limiter.set_peers(number)

    def _beat(self) -> dict[Role, int]:
        peers: dict[Role, int] = {
            "student": send_heartbeat(self._runner, self._run.model_spec, self._run, self._waits.line)
        }
        if tutor := self._calls.get("tutor"):
            # No run: the row counts as a caller of the tutor's model, and not as a further runner of this run.
            peers["tutor"] = send_heartbeat(tutor.runner, tutor.part.metered.model_spec)
        return peers

    def _heartbeat(self, broken_off: _BrokenOff) -> tuple[dict[Role, int], str]:
        leases.renew(self._run.pk, self._runner)
        _count_broken_off(broken_off)
        return self._beat(), Run.objects.values_list("state", flat=True).get(pk=self._run.pk)

    async def _take_items(self) -> None:
        """Solve items one after another; each is judged while the next is solved."""
        judging: asyncio.Task[None] | None = None
        while not self._stop.reason and (item := await self._next()):
            solved = await self._isolated(item, self._solve(item))
            if judging:
                await judging
            if solved is not None:
                judging = asyncio.create_task(self._isolated(item, self._judge_and_finish(item, *solved)))
        self._open_chains -= 1
        if judging:
            await judging

    async def _next(self) -> WorkItem | None:
        """Return the next item, or None when nothing is left.

        While other processes hold items, wait for these, because a process may die. A distributed run does not wait:
        its workers get another job for what is left.
        """
        while (item := await self._commits.submit(self._claim, None)) is None:
            if self._run.distributed or self._stop.reason or not await self._commits.run(self._others_hold):
                return None
            self._open_chains -= 1  # a slot that waits for an item must not delay a batch
            await asyncio.sleep(_POLL_SECONDS)
            self._open_chains += 1
        return item

    def _others_hold(self) -> bool:
        return leases.others_hold(self._run.pk, self._runner)

    def _claim(self, wanted: list[None]) -> list[WorkItem | None]:
        items = leases.claim(self._run.pk, self._runner, len(wanted))
        unknown = {item.problem_id for item in items} - self._problems.keys()
        if unknown:
            self._problems |= Problem.objects.select_related("dataset").in_bulk(list(unknown))
        # An item in its first attempt has no replies.
        begun = [item.pk for item in items if item.attempt > 1]
        rows = Generation.objects.select_related("sample_judgement", "hidden_judgement")
        for row in rows.filter(work_item__in=begun) if begun else ():
            self._stored[row.work_item_id][row.step] = row
        for item in items:
            item.problem = self._problems[item.problem_id]
            item.run = self._run
        return [*items, *[None] * (len(wanted) - len(items))]

    async def _isolated(self, item: WorkItem, work: Coroutine[Any, Any, T]) -> T | None:
        """Return the result of `work`, or None after a fault, which is stored with this item and affects no other."""
        permanent = False
        try:
            return await work
        except StopRequestedError:
            await self._commits.run(lambda: leases.release(item))
            return None
        except ProviderError as error:
            fault = provider_fault(error.kind, error.message)
            permanent = error.kind in PERMANENT_KINDS
            if error.kind in FATAL_KINDS:
                self._stop.request(fault)
        except JudgeFaultError as error:
            fault = judge_fault(str(error))
        except Exception as error:  # stored with the item, like a fault of the provider
            logger.exception("item %s of run %s failed", item.pk, self._run.pk)
            fault = f"{type(error).__name__}: {error}"
        await self._commits.run(lambda: leases.fail(item, fault, permanent=permanent))
        self._progress.failures[fault_kind(fault)] += 1
        self._progress.on_change(self._progress)
        return None

    async def _solve(self, item: WorkItem) -> tuple[Generation, list[Generation]]:
        """Return the answer that counts, and the answers to judge."""
        chain = StoredChain(item, self._stored.pop(item.pk, {}), self._services)
        selected = await self._method.solve(chain, self._settings)
        return selected, chain.answers if self._method.judges_every_program else [selected]

    async def _judge_and_finish(
        self, item: WorkItem, selected: Generation, answers: list[Generation]
    ) -> None:
        """Judge the answers on all tests, except a verifier's programs, and finish the item."""
        if self._method.judges_every_program:
            await self._judge.judge_programs([answer for answer in answers if answer.code], item.problem)
        elif selected.code and selected.purpose != Generation.Purpose.VERIFIER:
            await self._judge.judge(selected, item.problem, Judgement.TestScope.ALL)
        judgement = selected.hidden_judgement
        solved = judgement is not None and judgement.verdict == Verdict.AC
        await self._commits.submit(leases.finish, (item, selected))
        self._progress.done += 1
        self._progress.solved += solved
        self._progress.on_change(self._progress)
