"""The comparison of several runs with the first of them."""

from collections.abc import Sequence
from dataclasses import replace

from benchmark.methods import scoring_of
from benchmark.metrics import SIGNIFICANCE, holm, overlap
from benchmark.models import Run
from benchmark.reports.comparison.best_scores import shares_of_best
from benchmark.reports.comparison.divergence import divergences, read_chains
from benchmark.reports.comparison.outcomes import (
    newly_solved,
    read_outcomes,
    read_problem_names,
    same_problems,
)
from benchmark.reports.comparison.pairs import compare_pair
from benchmark.reports.comparison.records import Comparison, Overlap
from benchmark.reports.formatting import label


class NothingToCompareError(ValueError):
    """A comparison of fewer than two different runs, or with a run that makes no attempts."""


def compare(runs: Sequence[Run], *, divergence: bool = True, failures: str = "") -> Comparison:
    """Compare the first run with each of the others. `divergence=False` does not read the replies.

    `failures` says how attempts that failed permanently count, "wrong" or "excluded"; the default is the choice stored
    with the first run. Raises NothingToCompareError.
    """
    _check(runs)
    failures = failures or runs[0].failures
    same = same_problems(runs)
    first, *others = [read_outcomes(run, failures, same) for run in runs]
    problems = read_problem_names(runs)
    chains = [read_chains(run, same) for run in runs] if divergence else []
    pairs = [
        compare_pair(
            first,
            other,
            problems,
            failures,
            divergences(chains[0], chains[number], problems) if divergence else (),
        )
        for number, other in enumerate(others, 1)
    ]
    adjusted = holm([pair.p for pair in pairs])
    newly = {other.run.pk: newly_solved(first, other) for other in others}
    return Comparison(
        failures=failures,
        first=str(first.run.pk),
        first_label=label(first.run, of=first.run.dataset.name),
        pairs=tuple(
            replace(pair, holm=p, inside_noise=p >= SIGNIFICANCE)
            for pair, p in zip(pairs, adjusted, strict=True)
        ),
        overlaps=tuple(
            Overlap(str(one), str(other), len(newly[one]), overlap(newly[one], newly[other]))
            for one in newly
            for other in newly
            if one != other
        ),
        shares_of_best=shares_of_best(first, others),
    )


def _check(runs: Sequence[Run]) -> None:
    """Raise NothingToCompareError for runs that cannot be compared."""
    different = len({run.pk for run in runs})
    if different < 2 or different < len(runs):
        raise NothingToCompareError("A comparison needs two or more different runs.")
    if without := [run for run in runs if scoring_of(run.method) == "none"]:
        raise NothingToCompareError(
            f"Run {without[0].pk} builds verifiers and makes no attempts. Leave it out of the comparison."
        )
