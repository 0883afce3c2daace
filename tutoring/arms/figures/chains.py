"""The finished chains of arms, counted by problem and program outcomes.

Workers store the counts of finished runs, so that a page need not read a row for each chain. A stored count is read
only if it fits the present state of the run; otherwise the request counts the sessions.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import NamedTuple
from uuid import UUID

from django.db.models import Count, F
from django.utils import timezone

from benchmark.models import Rejudging, Run, WorkItem
from benchmark.providers.worlds import StoppingRule
from tutoring.arms.methods import POLICIES
from tutoring.arms.recorded_starts import STARTS
from tutoring.arms.stopping import STOPPING_RULES, is_solved
from tutoring.models import ArmChains, Session
from tutoring.review.solve_rates import ProblemTally

VERSION = 1
"""The version of the stored document. A new version makes all stored counts stale."""

AT_ONCE = 4
"""The most runs that one sweep counts. A worker must soon look for executions again."""

Chains = Mapping[int, Mapping[str, int]]
"""By problem: the number of chains with each value of `Session.program_outcomes`."""

Counts = Mapping[int, Sequence[int]]
"""By problem: the number of chains, and the numbers of solved ones under each of STOPPING_RULES."""


@dataclass(eq=False)
class CountedChains:
    """The finished chains of a run. Most figures need the counts alone, so the chains are loaded when they are used."""

    counts: Counts
    load: Callable[[], Chains]
    yoked: Mapping[UUID, tuple[int, str]]
    """Of a yoked run: problem and outcomes of the chain that begins with a session of a person."""
    _tallies: dict[StoppingRule, Mapping[int, ProblemTally]] = field(default_factory=dict)

    @classmethod
    def of(cls, chains: Chains, yoked: Mapping[UUID, tuple[int, str]]) -> CountedChains:
        """Count the chains."""
        return cls(_counts(chains), lambda: chains, yoked)

    @cached_property
    def chains(self) -> Chains:
        """By problem: the number of chains with each value of `Session.program_outcomes`."""
        return self.load()

    def solved_and_all(self, rule: StoppingRule) -> tuple[list[int], list[int]]:
        """Return the numbers of solved and of all chains under the rule at each problem."""
        place = _place(rule)
        rows = self.counts.values()
        return [numbers[place] for numbers in rows], [numbers[0] for numbers in rows]

    def tallies(self, rule: StoppingRule) -> Mapping[int, ProblemTally]:
        """Return the numbers of solved and of all chains under the rule, by problem."""
        if rule not in self._tallies:
            place = _place(rule)
            self._tallies[rule] = {
                problem: ProblemTally(numbers[place], numbers[0]) for problem, numbers in self.counts.items()
            }
        return self._tallies[rule]


def _place(rule: StoppingRule) -> int:
    return 1 + STOPPING_RULES.index(rule)


def _counts(chains: Chains) -> Counts:
    found = {}
    for problem, outcomes in chains.items():
        numbers = [sum(outcomes.values()), *(0 for _ in STOPPING_RULES)]
        for text, count in outcomes.items():
            for rule in STOPPING_RULES:
                if is_solved(rule, text):
                    numbers[_place(rule)] += count
        found[problem] = numbers
    return found


class ChainsState(NamedTuple):
    """Numbers that change with the counted chains of a run, and only grow."""

    chains: int
    """The finished chains, each of which has a session."""
    invalidated: int
    rejudgings: int
    """The applied rejudgings of the site, which replace verdicts."""


def states_of_items(runs: Iterable[Run]) -> dict[UUID, Counter[str]]:
    """Return the number of work items of each run in each state. An index alone answers the query."""
    found: dict[UUID, Counter[str]] = {run.pk: Counter() for run in runs}
    items = WorkItem.objects.filter(run__in=found).order_by("run", "state")
    for run, state, count in items.values_list("run", "state").annotate(Count("pk")):
        found[run][state] = count
    return found


def states_of_chains(items: Mapping[UUID, Counter[str]]) -> dict[UUID, ChainsState]:
    """Return the state of the chains of runs with these work items. Runs two queries, which read no counted session."""
    return _states(items, _invalidated(), _rejudgings())


def _states(
    items: Mapping[UUID, Counter[str]], invalidated: Mapping[UUID, int], rejudgings: int
) -> dict[UUID, ChainsState]:
    return {
        run: ChainsState(states[WorkItem.State.DONE], invalidated.get(run, 0), rejudgings)
        for run, states in items.items()
    }


def _invalidated() -> dict[UUID, int]:
    """Return the numbers of invalidated chains by run. A partial index has the few invalidated sessions."""
    left_out = Session.objects.filter(invalidated=True).order_by().values("work_item")
    return dict(WorkItem.objects.filter(pk__in=left_out).order_by().values_list("run").annotate(Count("pk")))


def _rejudgings() -> int:
    return Rejudging.objects.filter(state=Rejudging.State.APPLIED).count()


def read_chains(states: Mapping[UUID, ChainsState]) -> dict[UUID, CountedChains]:
    """Return the stored chains of each run if they have this state, or count its sessions."""
    stored = ArmChains.objects.filter(run__in=states, version=VERSION)
    found = {
        run: CountedChains(
            {int(problem): numbers for problem, numbers in counts.items()},
            partial(_load_chains, run, states[run]),
            {},
        )
        for run, counts, *state in stored.values_list("run", "counts", *ChainsState._fields)
        if tuple(state) == states[run]
    }
    return {run: found.get(run) or CountedChains.of(count_chains(run), {}) for run in states}


def _load_chains(run: UUID, state: ChainsState) -> Chains:
    stored = ArmChains.objects.filter(run=run, version=VERSION, **state._asdict())
    for outcomes in stored.values_list("outcomes", flat=True):
        return {int(problem): of_problem for problem, of_problem in outcomes.items()}
    return count_chains(run)


def count_chains(run: UUID) -> Chains:
    """Return the chains of the run whose sessions are not invalidated."""
    chains: dict[int, dict[str, int]] = defaultdict(dict)
    sessions = Session.objects.filter(work_item__run=run, invalidated=False).order_by()
    for problem, outcomes in sessions.values_list("problem", "program_outcomes"):
        of_problem = chains[problem]
        of_problem[outcomes] = of_problem.get(outcomes, 0) + 1
    return chains


def store_chains() -> None:
    """Store the counts of some finished runs that have none for their present state. Workers call it.

    Chains of yoked runs are read one by one, because each is paired with a session.
    """
    invalidated, rejudgings = _invalidated(), _rejudgings()
    stale = _stale_runs(invalidated, rejudgings)[:AT_ONCE]
    for run, state in _states(states_of_items(stale), invalidated, rejudgings).items():
        chains = count_chains(run)
        ArmChains.objects.update_or_create(
            run_id=run,
            defaults={
                "version": VERSION, "counts": _counts(chains), "outcomes": chains, "counted_at": timezone.now(),
                **state._asdict(),
            },
        )  # fmt: skip


def _stale_runs(invalidated: Mapping[UUID, int], rejudgings: int) -> list[Run]:
    finished = Run.objects.filter(method__in=list(POLICIES), state=Run.State.FINISHED)
    present = finished.filter(
        arm_chains__version=VERSION,
        arm_chains__rejudgings=rejudgings,
        arm_chains__counted_at__gt=F("finished_at"),
    )
    counted = dict(present.values_list("pk", "arm_chains__invalidated"))
    stale = [
        run for run in finished.values_list("pk", flat=True) if counted.get(run) != invalidated.get(run, 0)
    ]
    return list(Run.objects.filter(pk__in=stale).exclude(manifest__prepared__has_key=STARTS).only("pk"))
