"""The progress of a run, for its page and for the progress bar: items, failures by kind, spending, time left."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from statistics import median_low
from typing import NamedTuple

from benchmark.model_calls import Price, Spending, caps
from benchmark.model_calls.budget import RunBudget
from benchmark.model_calls.caps import CapState
from benchmark.model_calls.ledger import Account
from benchmark.models import Generation, Run, RunTutor, WorkItem
from benchmark.models.faults import count_by_kind
from benchmark.reports.cached_report import item_counts
from benchmark.reports.formatting import format_spent_money

_LATEST = 50
"""The number of latest items from which the rate is estimated."""

_PAUSE = 600.0
"""The fewest seconds without a finished item that count as a pause of the run."""

_PAUSE_FACTOR = 10
"""A pause is also this many times the median time between two items."""


class SpentOf(NamedTuple):
    """One kind of spending of a run, and its bound in the budget, as texts; `bound` is blank without one."""

    kind: str
    spent: str
    bound: str


@dataclass(frozen=True)
class RunProgress:
    """The progress of a run. `failures` counts failed items by kind; `caps` are the spending caps of its calls.

    `seconds_left` is estimated from the items done since the last pause; None with fewer than two of them, during a
    pause, and for a run that is not open.
    """

    total: int
    done: int
    failures: Counter[str]
    paid: Spending
    price: Price | None
    budget: RunBudget
    caps: list[CapState]
    seconds_left: float | None
    tutor: tuple[str, list[SpentOf]] | None
    """The model in the role of the tutor and what it has spent; None: no such role. The budget bounds both roles."""

    @property
    def failed(self) -> int:
        """The number of failed items."""
        return self.failures.total()

    @property
    def share(self) -> int:
        """The percentage of items that are done, rounded down."""
        return 100 * self.done // self.total if self.total else 0

    @property
    def spending(self) -> list[SpentOf]:
        """What the run has spent, with its budget."""
        return spending_of(self.paid, self.price, self.budget)


def run_progress(run: Run, now: datetime) -> RunProgress:
    """Return the progress of the run. `now` is the present time. Writes nothing."""
    counts = item_counts([run])[run.pk]
    failed = counts.get(WorkItem.State.FAILED, 0)
    total, done = sum(counts.values()), counts.get(WorkItem.State.DONE, 0)
    price = Price.of_run(run)
    account = Account.of_run(run)
    tutor = RunTutor.objects.filter(run=run).first()
    accounts = [account, *([Account.of_run(tutor)] if tutor else [])]
    applicable = [
        state for one in accounts if not (one.price and one.price.is_free) for state in caps.states(one)
    ]
    return RunProgress(
        total=total,
        done=done,
        failures=failures_by_kind(run) if failed else Counter(),
        paid=Spending.of_run(run),
        price=price,
        budget=RunBudget(**run.budget),
        caps=list({state.cap.pk: state for state in applicable}.values()),
        seconds_left=_seconds_left(run, total - done - failed, now) if run.state == Run.State.OPEN else None,
        tutor=(tutor.model_spec, spending_of(Spending.of_run(tutor), Price.of_run(tutor), RunBudget()))
        if tutor
        else None,
    )


def failures_by_kind(run: Run) -> Counter[str]:
    """Return the number of failed items of each kind of fault."""
    failed = run.items.filter(state=WorkItem.State.FAILED).order_by()
    return count_by_kind(failed.values_list("fault", flat=True))


def spending_of(paid: Spending, price: Price | None, budget: RunBudget) -> list[SpentOf]:
    """Return the cost, and the tokens and calls if the budget bounds them."""
    cost = paid.cost(price)
    found = [
        SpentOf(
            "cost",
            "unknown" if cost is None else format_spent_money(paid.to_json(price)),
            "" if budget.cost is None else f"{budget.cost:,.2f} US dollars",
        )
    ]
    for kind, spent, bound in (("tokens", paid.tokens, budget.tokens), ("calls", paid.calls, budget.calls)):
        if bound is not None:
            found.append(SpentOf(kind, f"{spent:,}", f"{bound:,}"))
    return found


def _seconds_left(run: Run, left: int, now: datetime) -> float | None:
    """Return the estimated seconds until no item is left.

    Items are claimed in the order of their ids, so that the done items with the highest ids are the latest ones. The
    rate is that of the items since the last pause, such as the time in which the run was stopped.
    """
    latest = run.items.filter(state=WorkItem.State.DONE).order_by("-pk").values_list("selected", flat=True)
    replies = [pk for pk in latest[:_LATEST] if pk is not None]
    times = sorted(Generation.objects.filter(pk__in=replies).values_list("created_at", flat=True))
    gaps = [(second - first).total_seconds() for first, second in pairwise(times)]
    if not gaps:
        return None
    pause = max(_PAUSE, _PAUSE_FACTOR * median_low(gaps))
    begun = max((number for number, gap in enumerate(gaps, 1) if gap > pause), default=0)
    since = times[begun:]
    if len(since) < 2 or (now - since[-1]).total_seconds() > pause:
        return None
    return left * (now - since[0]).total_seconds() / (len(since) - 1)
