"""Carrying out a run: model calls in flight on one event loop, rows in one thread, programs judged in others."""

import asyncio
import gc
import logging
import sys
from collections import defaultdict
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from django.utils import timezone

from benchmark.methods import METHODS, MethodSettings
from benchmark.model_calls.batches import Batches
from benchmark.model_calls.budget import Budget, Price, Spending
from benchmark.model_calls.commit_queue import CommitQueue
from benchmark.model_calls.heartbeat import HEARTBEAT, beat, leave, present
from benchmark.model_calls.rate_limit import Limits, RateLimitedProvider, RateLimiter
from benchmark.model_calls.stopping import (
    FATAL_KINDS,
    PERMANENT_KINDS,
    USAGE_UNREPORTED,
    Stop,
    StopRequestedError,
)
from benchmark.model_calls.waits import RetryWaits
from benchmark.models import Generation, Judgement, Problem, Run, WorkItem
from benchmark.prompts import Prompt
from benchmark.providers import (
    BatchingProvider,
    ModelReply,
    Provider,
    ProviderError,
    complete,
    open_batching_provider,
    open_provider,
    parse_model_spec,
)
from benchmark.runner import leases
from benchmark.runner.chain import StoredChain
from benchmark.runner.judges import JudgeFaultError, RunJudge, judge_threads
from benchmark.runner.reply_store import ReplyStore
from benchmark.runner.texts import SearchTexts
from judge import Verdict

logger = logging.getLogger(__name__)

T = TypeVar("T")

_LOOK = 1.0
"""Seconds between two looks at what other processes still hold."""

_SWITCH = 0.02
"""Seconds after which a thread that waits for the interpreter gets it; Python's own 5 ms cost a twelfth of a call."""


@dataclass
class Progress:
    """How far the run is; `changed` is called after each change. `spent` is of all processes of the run.

    `batched` is how many questions are with the provider in batches, and `answered` how many of them it has answered.
    `tell` takes lines for the user.
    """

    done: int = 0
    failed: int = 0
    solved: int = 0
    batched: int = 0
    answered: int = 0
    spent: Spending = field(default_factory=Spending)
    changed: Callable[["Progress"], None] = lambda progress: None
    tell: Callable[[str], object] = logger.warning


async def execute(
    run: Run, *, judges: int, progress: Progress, stop: Stop, cancel_batches: bool = False
) -> None:
    """Work on the run's pending items until none is left or a stop is asked for.

    Calls keep to the run's limits and budget; at most `judges` programs are judged at once. It may be cancelled,
    and the process killed, at any point: stored replies stay, and the next `execute` goes on after them. Any number
    of processes may execute one run. With `cancel_batches` nothing new is asked: what the provider has not answered
    yet is cancelled, and the rest is stored. Raises ProviderError when the provider cannot be opened.
    """
    # What the program consists of is no garbage: the collector would look through it again and again. What little
    # is garbage already is kept, for finding it takes a tenth of a second.
    gc.freeze()
    # The thread of the rows waits for the interpreter after every statement; taking it away from the loop so often
    # costs both more than the wait.
    sys.setswitchinterval(_SWITCH)
    spec = parse_model_spec(run.model_spec)
    batching = open_batching_provider(spec) if run.in_batches else None
    provider = batching or open_provider(spec)
    try:
        with CommitQueue() as commits, present() as name, judge_threads(judges) as pool:
            execution = _Execution(run, provider, name, commits, pool, progress, stop)
            if batching:
                execution.ask_in_batches(batching, cancel=cancel_batches)
            try:
                await execution.work()
            finally:
                # Shielded by its thread: it is done even while this task is being cancelled.
                broken_off = execution.calls.pop_broken_off()
                await commits.run(lambda: _conclude(run, name, stop, broken_off))
    finally:
        await provider.aclose()


def _count_broken_off(run: Run, number: int) -> None:
    if number:
        Spending(calls_broken_off=number).add_to(run)


def _conclude(run: Run, runner: str, stop: Stop, broken_off: int) -> None:
    """Give back what is unfinished and set the run's state: finished only when every item is settled."""
    _count_broken_off(run, broken_off)
    leases.release_all(run.pk, runner)
    attended = leave(run, runner)
    left = run.items.exclude(state=WorkItem.State.DONE)
    if leases.is_settled(run):
        run.state, run.finished_at, run.stop_reason = Run.State.FINISHED, timezone.now(), ""
    elif stop.reason and stop.final:
        run.state, run.stop_reason = Run.State.STOPPED, stop.reason
    elif attended or (run.distributed and left.filter(state=WorkItem.State.PENDING).exists()):
        return  # others go on with it
    else:
        run.state, run.stop_reason = Run.State.STOPPED, stop.reason
    run.save(update_fields=["state", "finished_at", "stop_reason"])


class _Execution:
    """The part of a run that this process carries out."""

    def __init__(
        self,
        run: Run,
        provider: Provider,
        name: str,
        commits: CommitQueue,
        pool: ThreadPoolExecutor,
        progress: Progress,
        stop: Stop,
    ) -> None:
        spec = parse_model_spec(run.model_spec)
        limits = Limits(**run.limits)
        self._run = run
        self._name = name
        self._method = METHODS[run.method]
        self._settings: MethodSettings = self._method.settings(**run.parameters)
        self._commits = commits
        self._progress = progress
        self._stop = stop
        self._model = spec.model
        self._slots = limits.concurrency
        self._pace = RateLimiter(limits)
        self.calls = RateLimitedProvider(provider, self._pace, limits)
        self._waits = RetryWaits(progress.tell)
        self._retry = self._waits.retry(stop)
        self._budget = Budget(**run.budget)
        self._price = Price.of_run(run)
        self._asking = 0
        self._under_way = 0
        self._batches: Batches | None = None
        self._judges = RunJudge(
            self._settings,
            commits,
            pool,
            stop.check,
            suites=run.manifest.get("suites") or {},
            shared=run.distributed,
        )
        self._replies = ReplyStore(run, spec, self._settings, commits, self._call, self._counted)
        self._texts = SearchTexts(run.dataset, self._settings.language, run.model_spec)
        self._problems: dict[int, Problem] = {}
        self._stored: dict[int, dict[int, Generation]] = defaultdict(dict)

    def ask_in_batches(self, provider: BatchingProvider, *, cancel: bool) -> None:
        """From now on; with `cancel` only what was handed in before is waited for."""

        def told(batched: int, answered: int) -> None:
            self._progress.batched, self._progress.answered = batched, answered
            self._progress.changed(self._progress)

        self._batches = Batches(
            self._run,
            provider,
            self._model,
            self._commits,
            self._stop,
            spent=lambda: self._progress.spent,
            under_way=lambda: self._under_way - self._replies.held_up,
            told=told,
            retry=self._retry,
            cancel=cancel,
        )

    async def work(self) -> None:
        """Ask and judge until nothing is left to claim."""
        await self._pace.set_peers(await self._commits.run(self._beat))
        heart = asyncio.create_task(self._keep_alive())
        try:
            self._under_way = min(self._slots, await self._commits.run(self._run.items.count))
            async with (
                self._batches.at_work() if self._batches else nullcontext(),
                asyncio.TaskGroup() as slots,
            ):
                for _ in range(self._under_way):
                    slots.create_task(self._take_items())
        finally:
            heart.cancel()

    async def _keep_alive(self) -> None:
        """Prolong the leases, see who else is there, and stop when the run was stopped elsewhere."""
        while True:
            await asyncio.sleep(HEARTBEAT)
            broken_off = self.calls.pop_broken_off()
            peers, state = await self._commits.run(partial(self._heartbeat, broken_off))
            await self._pace.set_peers(peers)
            if state == Run.State.STOPPED:
                self._stop.ask("the run was stopped", final=False)

    def _beat(self) -> int:
        return beat(self._name, self._run.model_spec, self._run, self._waits.line)

    def _heartbeat(self, broken_off: int) -> tuple[int, str]:
        leases.renew(self._run.pk, self._name)
        _count_broken_off(self._run, broken_off)
        return self._beat(), Run.objects.values_list("state", flat=True).get(pk=self._run.pk)

    async def _take_items(self) -> None:
        """Take items one after the other; each is judged while the next is asked about."""
        judging: asyncio.Task[None] | None = None
        while not self._stop.reason and (item := await self._next()):
            selected = await self._isolated(item, self._solve(item))
            if judging:
                await judging
            if selected is not None:
                judging = asyncio.create_task(self._isolated(item, self._judge(item, selected)))
        self._under_way -= 1
        if judging:
            await judging

    async def _next(self) -> WorkItem | None:
        """The next item, None when nothing is left. What a process holds that may die is waited for.

        Workers wait for nothing: they are reminded of what is left.
        """
        while (item := await self._commits.do(self._claim, None)) is None:
            if self._run.distributed or self._stop.reason or not await self._commits.run(self._others_hold):
                return None
            self._under_way -= 1  # no batch waits for a slot that waits
            await asyncio.sleep(_LOOK)
            self._under_way += 1
        return item

    def _others_hold(self) -> bool:
        return leases.others_hold(self._run.pk, self._name)

    def _claim(self, wanted: list[None]) -> list[WorkItem | None]:
        items = leases.claim(self._run.pk, self._name, len(wanted))
        unknown = {item.problem_id for item in items} - self._problems.keys()
        if unknown:
            self._problems |= Problem.objects.select_related("dataset").in_bulk(list(unknown))
        # An item that nobody had before has no replies.
        begun = [item.pk for item in items if item.attempt > 1]
        rows = Generation.objects.select_related("sample_judgement", "hidden_judgement")
        for row in rows.filter(work_item__in=begun) if begun else ():
            self._stored[row.work_item_id][row.step] = row
        for item in items:
            item.problem = self._problems[item.problem_id]
        return [*items, *[None] * (len(wanted) - len(items))]

    async def _isolated(self, item: WorkItem, work: Coroutine[Any, Any, T]) -> T | None:
        """The result of `work`, or None: what goes wrong in it is this item's fault and touches no other item."""
        permanent = False
        try:
            return await work
        except StopRequestedError:
            await self._commits.run(lambda: leases.release(item))
            return None
        except ProviderError as error:
            fault = f"provider fault ({error.kind}): {error.message}"
            permanent = error.kind in PERMANENT_KINDS
            if error.kind in FATAL_KINDS:
                self._stop.ask(fault)
        except JudgeFaultError as error:
            fault = f"judge fault: {error}"
        except Exception as error:  # stored with the item, like a fault of the provider
            logger.exception("item %s of run %s failed", item.pk, self._run.pk)
            fault = f"{type(error).__name__}: {error}"
        await self._commits.run(lambda: leases.fail(item, fault, permanent=permanent))
        self._progress.failed += 1
        self._progress.changed(self._progress)
        return None

    async def _solve(self, item: WorkItem) -> Generation:
        stored = self._stored.pop(item.pk, {})
        chain = StoredChain(
            item, stored, self._replies, self._judges, self._texts, self._settings.language, self._commits
        )
        return await self._method.solve(chain, self._settings)

    async def _call(self, prompt: Prompt, key: str) -> ModelReply:
        parameters = prompt.parameters(self._settings.parameters)
        if self._batches:
            self._stop.check()
            return await self._batches.reply(key, prompt.messages, parameters)
        if reason := self._budget.used_up(self._progress.spent, self._price, in_flight=self._asking):
            self._stop.ask(reason)
        self._stop.check()
        self._asking += 1
        try:
            return await complete(self.calls, self._model, prompt.messages, parameters, retry=self._retry)
        finally:
            self._asking -= 1

    def _counted(self, reply: Generation, spent: Spending) -> None:
        if None in (reply.input_tokens, reply.output_tokens) and self._budget.needs_tokens:
            self._stop.ask(USAGE_UNREPORTED)
        self._progress.spent = spent
        self._progress.changed(self._progress)

    async def _judge(self, item: WorkItem, selected: Generation) -> None:
        """The hidden tests, for the selected answer only; a verifier's program is no attempt."""
        solved = False
        if selected.code and selected.purpose != Generation.Purpose.VERIFIER:
            judgement = await self._judges.judge(selected, item.problem, Judgement.Suite.ALL)
            solved = judgement.verdict == Verdict.AC
        await self._commits.do(leases.finish, (item, selected))
        self._progress.done += 1
        self._progress.solved += solved
        self._progress.changed(self._progress)
