"""Carrying out a run: model calls in flight on one event loop, programs judged in threads beside it."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from asgiref.sync import sync_to_async
from django.utils import timezone

from benchmark.methods import METHODS, Method, Sampling
from benchmark.models import Generation, Run, WorkItem
from benchmark.prompts import Prompt
from benchmark.providers import (
    ModelSpec,
    Provider,
    ProviderError,
    Reply,
    complete,
    open_provider,
    parse_model_spec,
)
from benchmark.runner import leases
from benchmark.runner.chain import StoredChain
from benchmark.runner.judges import JudgeFault, Judges, judge_threads
from benchmark.runner.presence import present
from benchmark.runner.texts import Texts
from judge import Verdict

logger = logging.getLogger(__name__)

T = TypeVar("T")

_HOPELESS = frozenset({"authentication", "configuration"})
"""Faults that every further call would meet too: the run stops instead of failing item by item."""


class Stopped(Exception):
    """No new call and no new judging begins: someone asked the run to stop."""


class Stop:
    """A request to stop; `reason` is blank until someone asks, and then the first one's."""

    def __init__(self) -> None:
        self.reason = ""

    def ask(self, reason: str) -> None:
        """No new call begins from now on; calls in flight, which are paid for, are waited for."""
        self.reason = self.reason or reason

    def check(self) -> None:
        """Raises Stopped once someone asked."""
        if self.reason:
            raise Stopped


@dataclass
class Progress:
    """How far the run is; `changed` is called after each change."""

    done: int = 0
    failed: int = 0
    solved: int = 0
    tokens: int = 0
    changed: Callable[["Progress"], None] = lambda progress: None


async def execute(run: Run, *, concurrency: int, progress: Progress, stop: Stop) -> None:
    """Work on the run's pending items until none is left or a stop is asked for.

    At most `concurrency` model calls are in flight, and as many programs are judged at once as there are
    cores. It may be cancelled, and the process killed, at any point: stored replies stay, and the next
    `execute` goes on after them. Raises ProviderError when the provider cannot be opened.
    """
    spec = parse_model_spec(run.model_spec)
    provider = open_provider(spec)
    method = METHODS[run.method]
    settings = method.settings(**run.parameters)
    try:
        with present() as runner, judge_threads() as pool:
            judges = Judges(settings, pool, stop.check)
            try:
                await _Execution(run, spec, provider, runner, method, settings, judges, progress, stop).work(
                    concurrency
                )
            finally:
                await sync_to_async(_conclude)(run, runner)
    finally:
        await provider.aclose()


def _conclude(run: Run, runner: str) -> None:
    """Give back what is unfinished and set the run's state: finished only when every item is done."""
    leases.release_all(runner)
    left = run.items.exclude(state=WorkItem.State.DONE)
    if not left.exists():
        run.state, run.finished_at = Run.State.FINISHED, timezone.now()
    elif not left.filter(state=WorkItem.State.LEASED).exists():
        run.state = Run.State.STOPPED
    run.save(update_fields=["state", "finished_at"])


class _Execution:
    """The part of a run that this process carries out."""

    def __init__(
        self,
        run: Run,
        spec: ModelSpec,
        provider: Provider,
        runner: str,
        method: Method,
        settings: Sampling,
        judges: Judges,
        progress: Progress,
        stop: Stop,
    ) -> None:
        self._run = run
        self._spec = spec
        self._provider = provider
        self._runner = runner
        self._method = method
        self._settings = settings
        self._judges = judges
        self._texts = Texts(run.dataset, settings.language)
        self._progress = progress
        self._stop = stop

    async def work(self, concurrency: int) -> None:
        """Ask and judge until nothing is left to claim."""
        renewal = asyncio.create_task(self._renew_leases())
        try:
            async with asyncio.TaskGroup() as tasks:
                for _ in range(concurrency):
                    tasks.create_task(self._take_items(tasks))
        finally:
            renewal.cancel()

    async def _renew_leases(self) -> None:
        while True:
            await asyncio.sleep(leases.LEASE.total_seconds() / 3)
            await sync_to_async(leases.renew)(self._runner)

    async def _take_items(self, tasks: asyncio.TaskGroup) -> None:
        """Take items one after the other; each is judged while the next is asked about."""
        while not self._stop.reason and (
            item := await sync_to_async(leases.claim)(self._run.pk, self._runner)
        ):
            selected = await self._isolated(item, self._solve(item))
            if selected is not None:
                tasks.create_task(self._isolated(item, self._judge(item, selected)))

    async def _isolated(self, item: WorkItem, work: Coroutine[Any, Any, T]) -> T | None:
        """The result of `work`, or None: what goes wrong in it is this item's fault and touches no other item."""
        try:
            return await work
        except Stopped:
            await sync_to_async(leases.release)(item)
            return None
        except ProviderError as error:
            fault = f"provider fault ({error.kind}): {error.message}"
            if error.kind in _HOPELESS:
                self._stop.ask(fault)
        except JudgeFault as error:
            fault = f"judge fault: {error}"
        except Exception as error:  # stored with the item, like a fault of the provider
            logger.exception("item %s of run %s failed", item.pk, self._run.pk)
            fault = f"{type(error).__name__}: {error}"
        await self._fail(item, fault)
        return None

    async def _fail(self, item: WorkItem, fault: str) -> None:
        await sync_to_async(leases.fail)(item, fault)
        self._progress.failed += 1
        self._progress.changed(self._progress)

    async def _solve(self, item: WorkItem) -> Generation:
        chain = StoredChain(item, self._settings, self._call, self._judges, self._texts)
        return await self._method.solve(chain, self._settings)

    async def _call(self, prompt: Prompt) -> Reply:
        self._stop.check()
        parameters = prompt.parameters(self._settings.parameters)
        reply = await complete(self._provider, self._spec.model, prompt.messages, parameters)
        self._progress.tokens += (reply.usage.input_tokens or 0) + (reply.usage.output_tokens or 0)
        self._progress.changed(self._progress)
        return reply

    async def _judge(self, item: WorkItem, selected: Generation) -> None:
        """The hidden tests, for the selected answer only."""
        solved = False
        if selected.code:
            judgement = await self._judges.on_all_tests(item, selected)
            solved = judgement.verdict == Verdict.AC
        await sync_to_async(leases.finish)(item, selected)
        self._progress.done += 1
        self._progress.solved += solved
        self._progress.changed(self._progress)
