"""The outcomes of a run's chains as a comparison reads them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

from django.db.models import Q

from benchmark.methods import scoring_of
from benchmark.models import Problem, Run, WorkItem
from benchmark.reports.refinement.curves import share_within
from benchmark.reports.refinement.runs import attempts_allowed, chains_of
from judge import Verdict

NO_REPLY = "NO_REPLY"
"""The verdict of an attempt that failed permanently, if such attempts count as wrong."""


class ProblemName(NamedTuple):
    """The id of a problem, and its contest or the contest's date; blank if neither is known."""

    external_id: str
    contest: str


@dataclass(frozen=True)
class RunOutcomes:
    """The verdicts of a run's finished chains by problem and number of the chain.

    `accepted_at` holds, for a refine run, the accepted attempt of each chain by problem. `rejected` counts chains that
    failed permanently.
    """

    run: Run
    verdicts: Mapping[int, Mapping[int, str]]
    accepted_at: Mapping[int, Sequence[int | None]]
    rejected: int

    @property
    def k(self) -> int:
        """Return the number of attempts in a chain that the headline counts; 0 for independent attempts."""
        return attempts_allowed(self.run) if scoring_of(self.run.method) == "refine" else 0

    @property
    def figure(self) -> str:
        """Return the name of the headline."""
        return f"Refine@{self.k}" if self.k else "pass@1"

    def value(self, problem: int) -> float:
        """Return the share of the problem's chains that solve it."""
        if self.k:
            return share_within(self.accepted_at[problem], self.k)
        attempts = self.verdicts[problem].values()
        return sum(verdict == Verdict.AC for verdict in attempts) / len(attempts)

    def curve(self, problems: Sequence[int]) -> tuple[float, ...]:
        """Return Refine@1 … Refine@K over the problems; nothing without problems or for independent attempts."""
        if not problems:
            return ()
        return tuple(
            fmean(share_within(self.accepted_at[problem], limit) for problem in problems)
            for limit in range(1, self.k + 1)
        )

    def first_verdict(self, problem: int) -> str | None:
        """Return the verdict of chain 0; None if it has not ended."""
        return self.verdicts[problem].get(0)


SameProblems = Mapping[int, int]
"""The keys of problems of other datasets, with the keys of the same problems in the dataset of the first run."""


def same_problems(runs: Sequence[Run]) -> SameProblems:
    """Return the problems of other datasets that are the same as a problem of the first run's dataset.

    The same problems have the same identifier and content hash; problems without a hash are never the same. Runs of two
    sites may be on copies of one dataset.
    """
    first = runs[0].dataset_id
    others = {run.dataset_id for run in runs} - {first}
    if not others:
        return {}
    rows = Problem.objects.exclude(content_hash="").order_by()
    columns = ("external_id", "content_hash", "pk")
    here = {(name, content): pk for name, content, pk in rows.filter(dataset=first).values_list(*columns)}
    found = rows.filter(dataset__in=others).values_list(*columns)
    return {pk: here[name, content] for name, content, pk in found if (name, content) in here}


def read_outcomes(run: Run, failures: str, same: SameProblems) -> RunOutcomes:
    """Read the outcomes of a run. With `failures="excluded"`, chains that failed permanently are left out."""
    verdicts: dict[int, dict[int, str]] = defaultdict(dict)
    accepted_at: dict[int, list[int | None]] = defaultdict(list)
    refined = chains_of(run) if scoring_of(run.method) == "refine" else {}
    rejected = 0
    rows = run.items.filter(Q(state=WorkItem.State.DONE) | Q(permanent=True)).order_by("chain")
    for item, stored_problem, chain, permanent, verdict in rows.values_list(
        "pk", "problem_id", "chain", "permanent", "judgement__verdict"
    ):
        rejected += permanent
        if permanent and failures == "excluded":
            continue
        problem = same.get(stored_problem, stored_problem)
        verdicts[problem][chain] = NO_REPLY if permanent else verdict or Verdict.NO_CODE.value
        if item in refined:
            accepted_at[problem].append(refined[item].accepted_at)
    return RunOutcomes(run, verdicts, accepted_at, rejected)


def read_problem_names(runs: Sequence[Run]) -> dict[int, ProblemName]:
    """Return the names of all problems of the runs' datasets by key, in the order of their ids."""
    rows = Problem.objects.filter(dataset__in={run.dataset_id for run in runs}).order_by("external_id")
    return {
        pk: ProblemName(name, contest or str(day or ""))
        for pk, name, contest, day in rows.values_list("pk", "external_id", "contest", "contest_date")
    }


def newly_solved(first: RunOutcomes, other: RunOutcomes) -> set[int]:
    """Return the problems that chain 0 of `other` solves and chain 0 of `first` does not."""
    return {
        problem
        for problem in first.verdicts.keys() & other.verdicts.keys()
        if other.first_verdict(problem) == Verdict.AC
        and first.first_verdict(problem) not in (None, Verdict.AC)
    }
