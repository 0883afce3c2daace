"""Scores of memory probes: how far a model's completions agree with the problem texts beyond chance."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from statistics import fmean
from typing import NamedTuple

from django.db.models import F, QuerySet

from benchmark.metrics import Interval, independent_difference, mean_interval
from benchmark.models import MemoryProbe, Run
from benchmark.reports.groups import side_of

SIDES = ("before", "after", "no date")


class ProbeScore(NamedTuple):
    """The scores of one probe, and the problem's side of the model's cutoff."""

    problem: int
    side: str
    overlap: float
    chance: float


@dataclass(frozen=True)
class MemoryScore:
    """The mean scores of the probed problems of a group; each problem counts once, with the mean of its probes.

    `overlap` is the share of the unseen rests that the completions contain, `chance` the same share of the rests of
    other problems, `value` their difference with its 95 % interval over problems.
    """

    group: str
    problems: int
    probes: int
    overlap: float
    chance: float
    value: float
    low: float
    high: float
    interval: str


@dataclass(frozen=True)
class MemoryDifference:
    """The score of the problems before the cutoff minus that of those after it, with its 95 % interval."""

    value: float
    low: float
    high: float


def run_memory(run: Run, cutoff: date | None) -> tuple[MemoryScore, ...]:
    """Return the scores of the run's problems by the run's model, for each side of the cutoff with a probe."""
    if cutoff is None:
        return ()
    rows = MemoryProbe.objects.filter(model_spec=run.model_spec, problem__in=run.items.values("problem"))
    return scores_by_side(read_scores(rows, cutoff))


def read_scores(rows: QuerySet[MemoryProbe], cutoff: date | None) -> list[ProbeScore]:
    """Return the scores of a query's probes whose problem has not changed since."""
    unchanged = rows.filter(problem_hash=F("problem__content_hash")).order_by()
    columns = unchanged.values_list("problem_id", "problem__contest_date", "overlap", "chance")
    return [ProbeScore(problem, side_of(day, cutoff), own, chance) for problem, day, own, chance in columns]


def scores_by_side(scores: Sequence[ProbeScore]) -> tuple[MemoryScore, ...]:
    """Return the scores of each side of the cutoff with a probe."""
    return tuple(
        score_of(side, found) for side in SIDES if (found := [one for one in scores if one.side == side])
    )


def score_of(group: str, scores: Sequence[ProbeScore]) -> MemoryScore:
    """Return the score of a group with at least one probe."""
    own = _by_problem((one.problem, one.overlap) for one in scores)
    chance = _by_problem((one.problem, one.chance) for one in scores)
    values = [one - other for one, other in zip(own, chance, strict=True)]
    interval, method = mean_interval(values, lowest=-1)
    return MemoryScore(
        group, len(values), len(scores), fmean(own), fmean(chance), fmean(values), *interval, method
    )


def _by_problem(values: Iterable[tuple[int, float]]) -> list[float]:
    """Return the mean of each problem, in the order of the problems' keys."""
    found: dict[int, list[float]] = defaultdict(list)
    for problem, value in values:
        found[problem].append(value)
    return [fmean(found[problem]) for problem in sorted(found)]


def difference(scores: Sequence[MemoryScore]) -> MemoryDifference | None:
    """Return the difference between the sides of the cutoff; None unless both have a probe."""
    sides = {one.group: one for one in scores}
    if not {"before", "after"} <= sides.keys():
        return None
    before, after = sides["before"], sides["after"]
    interval = independent_difference(
        before.value, Interval(before.low, before.high), after.value, Interval(after.low, after.high)
    )
    return MemoryDifference(before.value - after.value, *interval)
