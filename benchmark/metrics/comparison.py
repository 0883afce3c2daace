"""Paired comparison of two methods on the same problems: tests, corrections and power."""

from collections import Counter
from collections.abc import Collection, Hashable, Sequence
from math import ceil, comb, sqrt
from statistics import NormalDist, fmean, stdev
from typing import NamedTuple

from benchmark.metrics.intervals import Interval
from benchmark.metrics.small_samples import (
    POWER,
    IntervalMethod,
    NamedInterval,
    mean_interval,
    paired_proportions,
    problem_t,
    problem_t_test,
    visible_mean,
)

SIGNIFICANCE = 0.05

FEWEST_TESTED_PROBLEMS = 6
"""Smallest number of common problems for which a contrast is tested (docs/spec.md 9.1)."""


def mcnemar(only_first: int, only_second: int) -> float:
    """Return the exact two-sided p of McNemar's test: a binomial test of the discordant pairs at 1/2; 1 without any."""
    discordant = only_first + only_second
    tail = sum(comb(discordant, fewer) for fewer in range(min(only_first, only_second) + 1))
    return min(1.0, 2 * tail / (1 << discordant))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p values adjusted for their number (Holm 1979, step-down Bonferroni), in the given order."""
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = highest
    return adjusted


class PairedDifference(NamedTuple):
    """The mean of first minus second over problems. `standard_error` is None for a single problem."""

    mean: float
    standard_error: float | None
    interval: Interval
    method: IntervalMethod


def paired_difference(
    first: Sequence[float],
    second: Sequence[float],
    clusters: Sequence[Hashable] | None = None,
    *,
    binary: bool = False,
) -> PairedDifference:
    """Return the difference on the same problems with its 95 % interval, over problems or clusters of them.

    `binary` states that each value is a single outcome, 0 or 1: fewer than 60 such pairs have Newcombe's interval.
    Other values have that of `mean_interval`. Raises ValueError without problems.
    """
    differences = [one - other for one, other in zip(first, second, strict=True)]
    if not differences:
        raise ValueError("a difference needs at least one common problem")
    error = stdev(differences) / sqrt(len(differences)) if len(differences) > 1 else None
    interval, method = mean_interval(differences, clusters, lowest=-1)
    if binary and clusters is None and method == "t":
        interval, method = _newcombe(first, second)
    return PairedDifference(fmean(differences), error, interval, method)


class PairedContrast(NamedTuple):
    """A paired difference with its test. `detectable` is the difference that the test detects at a power of 80 %."""

    difference: PairedDifference
    p: float
    detectable: float


def paired_contrast(
    first: Sequence[float], second: Sequence[float], *, binary: bool = False
) -> PairedContrast:
    """Return the difference on the same problems with its interval and its test, for any number of problems.

    `binary` states that each value is a single outcome, 0 or 1. Such pairs have Newcombe's interval and McNemar's exact
    test, other values the t interval and the t test over problems. Differences without spread have the interval
    "bound". Raises ValueError without problems.
    """
    differences = [one - other for one, other in zip(first, second, strict=True)]
    if not differences:
        raise ValueError("a contrast needs at least one common problem")
    interval, method = problem_t(differences, lowest=-1)
    if binary and method == "t":
        interval, method = _newcombe(first, second)
    error = stdev(differences) / sqrt(len(differences)) if len(differences) > 1 else None
    found = PairedDifference(fmean(differences), error, interval, method)
    if not binary:
        return PairedContrast(found, problem_t_test(differences), visible_mean(differences))
    won, lost = sum(value > 0 for value in differences), sum(value < 0 for value in differences)
    detectable = visible_difference(len(differences), (won + lost) / len(differences))
    return PairedContrast(found, mcnemar(won, lost), detectable)


def _newcombe(first: Sequence[float], second: Sequence[float]) -> NamedInterval:
    counts = Counter(zip(map(bool, first), map(bool, second), strict=True))
    table = ((True, True), (True, False), (False, True), (False, False))
    return NamedInterval(paired_proportions(*(counts[cell] for cell in table)), "newcombe")


def independent_difference(first: float, of_first: Interval, second: float, of_second: Interval) -> Interval:
    """Return the 95 % interval of the first mean minus the second, for means over different problems.

    The distances of the means to the bounds of their own 95 % intervals are combined (the method of variance estimates
    recovery: Zou and Donner 2008, Statistics in Medicine 27:1693).
    """
    below = sqrt((first - of_first.low) ** 2 + (of_second.high - second) ** 2)
    above = sqrt((of_first.high - first) ** 2 + (second - of_second.low) ** 2)
    return Interval(first - second - below, first - second + above)


def problems_needed(difference: float, discordant: float) -> int | None:
    """Return the number of problems that a paired test at 5 % needs for this difference at a power of 80 %.

    `discordant` is the share of problems that only one of the two solves. Returns None for a difference of 0. Source:
    Connor 1987, Biometrics 43.
    """
    if not difference:
        return None
    variance = max(discordant - difference**2, 0.0)
    root = _z(1 - SIGNIFICANCE / 2) * sqrt(discordant) + _z(POWER) * sqrt(variance)
    return ceil((root / difference) ** 2)


def visible_difference(problems: int, discordant: float) -> float:
    """Return the smallest difference that a paired test on this number of problems detects at a power of 80 %.

    `discordant` is the share of problems that only one of the two solves. The result is at most 1. Source: Connor 1987.
    """
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        needed = problems_needed(middle, max(discordant, middle))
        low, high = (low, middle) if needed is not None and needed <= problems else (middle, high)
    return high


def _z(probability: float) -> float:
    return NormalDist().inv_cdf(probability)


def overlap(newly: Collection[Hashable], other: Collection[Hashable]) -> float | None:
    """Return the share of `newly` solved problems that `other` contains; None without any."""
    return len(set(newly) & set(other)) / len(set(newly)) if newly else None
