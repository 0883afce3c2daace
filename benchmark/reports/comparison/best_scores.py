"""Scores and gains of runs as shares of the best."""

from collections.abc import Sequence
from statistics import fmean

from benchmark.metrics import ratio_set
from benchmark.reports.comparison.outcomes import RunOutcomes
from benchmark.reports.comparison.records import ShareOfBest


def shares_of_best(first: RunOutcomes, others: Sequence[RunOutcomes]) -> tuple[ShareOfBest, ...]:
    """Return the shares of each other run; empty for one other run or without a problem that all runs tried."""
    tried = first.verdicts.keys() & set.intersection(*(set(other.verdicts) for other in others))
    if len(others) < 2 or not tried:
        return ()
    baseline, *values = ([one.value(problem) for problem in tried] for one in (first, *others))
    best = max(values, key=fmean)
    best_gain = _gains(best, baseline)
    shares = []
    for other, own in zip(others, values, strict=True):
        own_gain = _gains(own, baseline)
        gained = fmean(best) > fmean(baseline)
        shares.append(
            ShareOfBest(
                str(other.run.pk),
                fmean(own) / fmean(best) if any(best) else None,
                fmean(own_gain) / fmean(best_gain) if gained else None,
                ratio_set(own, best) if any(best) and own is not best else None,
                ratio_set(own_gain, best_gain) if gained and own is not best else None,
            )
        )
    return tuple(shares)


def _gains(values: Sequence[float], baseline: Sequence[float]) -> list[float]:
    return [one - other for one, other in zip(values, baseline, strict=True)]
