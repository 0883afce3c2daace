"""A run at a terminal: its progress bar, and its execution until Ctrl-C."""

from typing import Any

from tqdm import tqdm

from benchmark.management.interrupts import WAITING_FOR_CALLS, run_interruptibly
from benchmark.management.progress import progress_bar, write_line
from benchmark.methods import scoring_of
from benchmark.model_calls import Price, Spending, Stop
from benchmark.models import Run, WorkItem
from benchmark.runner import ExecutionProgress, cores, execute, monitor
from judge import Verdict

_WAITING_FOR_BATCHES = (
    "No new batch begins. Waiting for those that the provider has, which may take hours. Once more leaves them there: "
    "--resume gets their replies."
)


def run_bar(run: Run) -> "tqdm[Any]":
    """Return a bar over the items of the run, with those done before."""
    done = run.items.filter(state=WorkItem.State.DONE).count()
    return progress_bar(total=run.items.count(), initial=done, unit="item", desc=run.method)


def execute_run(run: Run, bar: "tqdm[Any]", stop: Stop, *, cancel_batches: bool = False) -> None:
    """Execute the run, or monitor it where workers do, and show its progress in the bar."""
    progress = _progress(run, bar)
    if run.distributed:
        work = monitor(run, progress, stop)
    else:
        work = execute(run, judges=cores(), progress=progress, stop=stop, cancel_batches=cancel_batches)
    message = _WAITING_FOR_BATCHES if run.in_batches else WAITING_FOR_CALLS
    run_interruptibly(work, stop, final=False, message=message)


def _progress(run: Run, bar: "tqdm[Any]") -> ExecutionProgress:
    """Return the progress of the run so far, whose changes update the bar."""
    price = Price.of_run(run)

    def show(progress: ExecutionProgress) -> None:
        spent = progress.spent
        postfix = f"failed={progress.failed}, tokens={spent.tokens}"
        if scoring_of(run.method) != "none":
            postfix = f"solved={progress.solved}, {postfix}"
        if price is not None:
            postfix += f", usd={spent.summary(price)}"
        if progress.batched:
            postfix += f", batch={progress.answered}/{progress.batched}"
        bar.set_postfix_str(postfix, refresh=False)
        bar.update(progress.done - bar.n)

    solved = run.items.filter(state=WorkItem.State.DONE, judgement__verdict=Verdict.AC).count()
    return ExecutionProgress(
        int(bar.n), 0, solved, spent=Spending.of_run(run), on_change=show, report=write_line
    )
