"""A run at a terminal: its progress bar, and its execution until Ctrl-C."""

from typing import Any

from tqdm import tqdm

from benchmark.management.interrupts import WAITING_FOR_CALLS, run_interruptibly
from benchmark.management.progress import progress_bar, write_line
from benchmark.methods import scoring_of
from benchmark.model_calls import Price, RunBudget, Spending, Stop
from benchmark.models import Run, RunTutor, WorkItem
from benchmark.models.faults import describe_kinds
from benchmark.runner import ExecutionProgress, cores, execute, monitor
from judge import Verdict

_WAITING_FOR_BATCHES = (
    "No new batch begins. Waiting for those that the provider has, which may take hours. Once more leaves them there: "
    "--resume gets their replies."
)


def run_bar(run: Run) -> "tqdm[Any]":
    """Return a bar over the items of the run that starts at the number already done."""
    done = run.items.filter(state=WorkItem.State.DONE).count()
    return progress_bar(total=run.items.count(), initial=done, unit="item", desc=run.method)


def execute_run(run: Run, bar: "tqdm[Any]", stop: Stop, *, cancel_batches: bool = False) -> None:
    """Execute the run, or monitor it if workers execute it, and show its progress in the bar."""
    progress = _progress(run, bar)
    if run.distributed:
        work = monitor(run, progress, stop)
    else:
        work = execute(run, judges=cores(), progress=progress, stop=stop, cancel_batches=cancel_batches)
    message = _WAITING_FOR_BATCHES if run.in_batches else WAITING_FOR_CALLS
    run_interruptibly(work, stop, final=False, message=message)


def _progress(run: Run, bar: "tqdm[Any]") -> ExecutionProgress:
    """Return the progress of the run so far, whose changes update the bar."""
    price, budget = Price.of_run(run), RunBudget(**run.budget)
    tutor = RunTutor.objects.filter(run=run).first()
    tutor_price = Price.of_run(tutor) if tutor else None

    def show(progress: ExecutionProgress) -> None:
        postfix = f"failed={progress.failures.total()}"
        if progress.failures:
            postfix += f" ({describe_kinds(progress.failures)})"
        if scoring_of(run.method) != "none":
            postfix = f"solved={progress.solved}, {postfix}"
        postfix += f", {_spent(progress.spent, price, budget)}"
        if tutor:
            postfix += f", tutor: {_spent(progress.tutor_spent, tutor_price, RunBudget())}"
        if progress.batched:
            postfix += f", batch={progress.answered}/{progress.batched}"
        bar.set_postfix_str(postfix, refresh=False)
        bar.update(progress.done - bar.n)

    solved = run.items.filter(state=WorkItem.State.DONE, judgement__verdict=Verdict.AC).count()
    return ExecutionProgress(
        int(bar.n), solved, spent=Spending.of_run(run), on_change=show, report=write_line
    )


def _spent(spent: Spending, price: Price | None, budget: RunBudget) -> str:
    """Return what was spent with the bounds of the budget: "tokens=1200, usd=1.25/40.00"."""
    found = [f"tokens={spent.tokens}" + ("" if budget.tokens is None else f"/{budget.tokens}")]
    if price is not None:
        found.append(f"usd={spent.summary(price)}" + ("" if budget.cost is None else f"/{budget.cost:.2f}"))
    if budget.calls is not None:
        found.append(f"calls={spent.calls}/{budget.calls}")
    return ", ".join(found)
