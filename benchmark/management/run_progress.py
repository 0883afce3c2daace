"""A run at a terminal: its bar, and what Ctrl-C does."""

import asyncio
import signal
import sys
from typing import Any

from tqdm import tqdm

from benchmark.management.progress import progress_bar, write_line
from benchmark.methods import scoring_of
from benchmark.model_calls import Price, Spending, Stop
from benchmark.models import Run, WorkItem
from benchmark.runner import Progress, cores, execute, follow
from judge import Verdict

_WAITING = "Waiting for the calls in flight, which are paid for. Once more drops them."
_WAITING_FOR_BATCHES = (
    "No new batch begins. Waiting for those that the provider has, which may take hours. Once more leaves them there: "
    "--resume gets their replies."
)


def run_bar(run: Run) -> "tqdm[Any]":
    """A bar from where the run stands to its end."""
    done = run.items.filter(state=WorkItem.State.DONE).count()
    return progress_bar(total=run.items.count(), initial=done, unit="item", desc=run.method)


def progress_of(run: Run, bar: "tqdm[Any]") -> Progress:
    """Progress that goes on from what was done before and is shown in the bar."""
    price = Price.of_run(run)

    def show(progress: Progress) -> None:
        spent = progress.spent
        shown = f"failed={progress.failed}, tokens={spent.tokens}"
        if scoring_of(run.method) != "none":
            shown = f"solved={progress.solved}, {shown}"
        if price is not None:
            shown += f", usd={spent.shown(price)}"
        if progress.batched:
            shown += f", batch={progress.answered}/{progress.batched}"
        bar.set_postfix_str(shown, refresh=False)
        bar.update(progress.done - bar.n)

    solved = run.items.filter(state=WorkItem.State.DONE, judgement__verdict=Verdict.AC).count()
    return Progress(int(bar.n), 0, solved, spent=Spending.of_run(run), changed=show, tell=write_line)


async def run_interruptibly(
    run: Run, progress: Progress, stop: Stop, *, cancel_batches: bool = False
) -> None:
    """Execute or follow the run; the first Ctrl-C or SIGTERM asks it to stop, the second cancels it."""
    working = asyncio.current_task()
    assert working is not None

    def interrupt() -> None:
        if stop.reason:
            working.cancel()
            return
        stop.ask("interrupted", final=False)
        tqdm.write(_WAITING_FOR_BATCHES if run.in_batches else _WAITING, file=sys.stderr)

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, interrupt)
    if run.distributed:
        await follow(run, progress, stop)
    else:
        await execute(run, judges=cores(), progress=progress, stop=stop, cancel_batches=cancel_batches)
