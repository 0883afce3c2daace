"""95 % intervals over few problems: t on problem means, Newcombe's paired interval, ratios by test inversion.

The percentile bootstrap covers 87 to 92 % with fewer than 60 problems; `manage.py calibrate intervals` simulates
what each interval covers. Functions import scipy themselves: the import takes most of a second and 70 MB.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import exp, inf, lgamma, log, sqrt
from statistics import fmean, stdev
from typing import Literal, NamedTuple

import numpy as np

from benchmark.metrics.intervals import Interval, cluster_bootstrap, totals, wilson

FEWEST_FOR_BOOTSTRAP = 60
"""Smallest number of problems (or contests) for which the percentile bootstrap is used."""

CONFIDENCE = 0.95

POWER = 0.8
"""The chance that a test detects a difference of the detectable size."""

IntervalMethod = Literal["wilson", "newcombe", "t", "bound", "bootstrap"]

_ROUNDING = 1e-12
"""Spreads below this are rounding errors of equal values."""


class NamedInterval(NamedTuple):
    """An interval and its method."""

    interval: Interval
    method: IntervalMethod


def paired_proportions(both: int, only_first: int, only_second: int, neither: int) -> Interval:
    """Return the interval of the first proportion minus the second for pairs of binary outcomes.

    Newcombe 1998, "Improved confidence intervals for the difference between binomial proportions based on paired
    data", Statistics in Medicine 17:2635, method 10: Wilson's bounds of the two proportions, combined with their
    correlation, which is corrected for continuity. Raises ValueError without pairs.
    """
    pairs = both + only_first + only_second + neither
    low_1, high_1 = wilson(both + only_first, pairs)
    low_2, high_2 = wilson(both + only_second, pairs)
    first, second = (both + only_first) / pairs, (both + only_second) / pairs
    correlation = _corrected_correlation(both, only_first, only_second, neither)

    def combined(one: float, other: float) -> float:
        return sqrt(max(one**2 - 2 * correlation * one * other + other**2, 0.0))

    below = combined(first - low_1, high_2 - second)
    above = combined(high_1 - first, second - low_2)
    difference = (only_first - only_second) / pairs
    return Interval(max(difference - below, -1.0), min(difference + above, 1.0))


def _corrected_correlation(both: int, only_first: int, only_second: int, neither: int) -> float:
    """Return φ of the table of pairs; a positive numerator is reduced by half the number of pairs, but not below 0."""
    margins = (both + only_first) * (only_second + neither) * (both + only_second) * (only_first + neither)
    if not margins:
        return 0.0
    numerator = float(both * neither - only_first * only_second)
    if numerator > 0:
        numerator = max(numerator - (both + only_first + only_second + neither) / 2, 0.0)
    return numerator / sqrt(margins)


def problem_t(
    values: Sequence[float], clusters: Sequence[Hashable] | None = None, *, lowest: float = 0.0
) -> NamedInterval:
    """Return the t interval of the mean with one value per problem, all problems weighted equally.

    The degrees of freedom are the number of problems less one. With `clusters` (the contest of each problem) they are
    the number of clusters less one, and the standard error is that of Liang and Zeger 1986 with the factor
    C / (C - 1). `lowest` is the least possible value (-1 for differences of shares, 0 for shares); the largest is 1,
    and the interval is cut at both. For values or clusters without spread, for which t has no width, the half-width
    is `zero_spread` and the method "bound". Raises ValueError without values.
    """
    if not values:
        raise ValueError("an interval needs at least one problem")
    mean = fmean(values)
    deviations, _ = totals([value - mean for value in values], clusters)
    units = len(deviations)
    squares = float(deviations @ deviations)
    if squares <= _ROUNDING:
        return NamedInterval(_within(mean, zero_spread(units), lowest), "bound")
    error = sqrt(squares * units / (units - 1)) / len(values)
    return NamedInterval(_within(mean, t_quantile(units - 1) * error, lowest), "t")


def zero_spread(units: int) -> float:
    """Return the half-width of the interval for this number of equal outcomes: 1 - 0.05^(1/units).

    If a larger share of problems had another outcome, a sample of this size would contain one with a chance above 95 %.
    """
    return float(1 - (1 - CONFIDENCE) ** (1 / units))


def problem_t_test(differences: Sequence[float]) -> float:
    """Return the two-sided p of the t test of a mean of 0 with one value per problem; 1 for values without spread.

    Raises ValueError without values.
    """
    if not differences:
        raise ValueError("a test needs at least one problem")
    deviations = np.asarray(differences, dtype=float) - fmean(differences)
    squares, problems = float(deviations @ deviations), len(differences)
    if squares <= _ROUNDING:
        return 1.0
    from scipy.special import stdtr

    error = sqrt(squares / (problems - 1) / problems)
    return float(2 * stdtr(problems - 1, -abs(fmean(differences)) / error))


def visible_mean(differences: Sequence[float]) -> float:
    """Return the mean difference that the t test detects at a power of 80 %, for this number of problems and spread.

    The result is at least `zero_spread` and at most 1.
    """
    problems = len(differences)
    if problems == 1:
        return 1.0
    factor = t_quantile(problems - 1) + t_quantile(problems - 1, POWER)
    return min(max(factor * stdev(differences) / sqrt(problems), zero_spread(problems)), 1.0)


def mean_interval(
    values: Sequence[float], clusters: Sequence[Hashable] | None = None, *, lowest: float = 0.0
) -> NamedInterval:
    """Return the interval of a mean over problems: `problem_t` for few units, the percentile bootstrap for many.

    A unit is a problem or, with `clusters`, a cluster. For units without spread the method is "bound", whatever their
    number. Raises ValueError without values.
    """
    found = problem_t(values, clusters, lowest=lowest)
    units = len(values) if clusters is None else len(set(clusters))
    if found.method == "bound" or units < FEWEST_FOR_BOOTSTRAP:
        return found
    return NamedInterval(cluster_bootstrap(values, clusters), "bootstrap")


def rate_interval(values: Sequence[float], *, single: bool) -> NamedInterval:
    """Return the interval of a rate over problems: Wilson's if each has a `single` outcome, else `mean_interval`."""
    if single:
        return NamedInterval(wilson(round(sum(values)), len(values)), "wilson")
    return mean_interval(values)


class Range(NamedTuple):
    """A range of ratios. None is an open end."""

    low: float | None
    high: float | None


@dataclass(frozen=True)
class RatioSet:
    """The ratio of two means and the ratios that the t test does not reject at 5 %.

    `ranges` holds one range, or two if the test rejects only the ratios between them. `ratio` is None if the second
    mean is 0.
    """

    ratio: float | None
    ranges: tuple[Range, ...]


EVERY_RATIO = (Range(None, None),)


def ratio_set(first: Sequence[float], second: Sequence[float], *, largest: float = 1.0) -> RatioSet:
    """Return the ratio of the mean of `first` to the mean of `second` over the same problems, with its 95 % set.

    A ratio r belongs to the set when the t test on the problems' values of first - r · second does not reject a mean
    of 0 (Fieller 1954, "Some problems in interval estimation", JRSS B 16). The set is unbounded where the second mean
    may be 0. If first - ratio · second is the same on all problems, `zero_spread` times `largest`, the largest
    possible value of `first`, replaces the test. Raises ValueError without problems.
    """
    if not first or len(first) != len(second):
        raise ValueError("a ratio needs at least one problem, and a value of both for each")
    one, other = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    problems, mean_1, mean_2 = len(one), float(one.mean()), float(other.mean())
    if problems == 1 or abs(mean_2) <= _ROUNDING:
        return RatioSet(None if abs(mean_2) <= _ROUNDING else mean_1 / mean_2, EVERY_RATIO)
    ratio = mean_1 / mean_2
    if float(np.var(one - ratio * other)) <= _ROUNDING:
        width = zero_spread(problems) * largest
        ends = sorted(((mean_1 - width) / mean_2, (mean_1 + width) / mean_2))
        return RatioSet(ratio, (Range(ends[0], ends[1]),))
    factor = t_quantile(problems - 1) ** 2 / problems
    (var_1, covariance), (_, var_2) = np.cov(one, other)
    # Not rejected: (mean_1 - r mean_2)² <= factor (var_1 - 2 r covariance + r² var_2), a quadratic in r.
    square = mean_2**2 - factor * float(var_2)
    half = mean_1 * mean_2 - factor * float(covariance)
    constant = mean_1**2 - factor * float(var_1)
    return RatioSet(ratio, _solutions(square, half, constant))


def _solutions(square: float, half: float, constant: float) -> tuple[Range, ...]:
    """Return the ranges of r with square · r² - 2 half · r + constant <= 0; at least one r satisfies it."""
    if abs(square) <= _ROUNDING:
        if abs(half) <= _ROUNDING:
            return EVERY_RATIO
        end = constant / (2 * half)
        return (Range(end, None),) if half > 0 else (Range(None, end),)
    discriminant = half**2 - square * constant
    if square < 0 and discriminant <= 0:
        return EVERY_RATIO
    root = sqrt(max(discriminant, 0.0))
    low, high = sorted(((half - root) / square, (half + root) / square))
    return (Range(low, high),) if square > 0 else (Range(None, low), Range(high, None))


def sign_e_value(for_first: int, for_second: int) -> float:
    """Return the e-value against a fair coin: B(1 + x, 1 + n - x) · 2^n, where x of n pairs favour the first.

    Under a fair coin its expectation is at most 1 at any stopping time, so a stop at 20 keeps false positives below
    5 % (uniform mixture over the bias of the coin; Ville's inequality).
    """
    pairs = for_first + for_second
    logarithm = lgamma(1 + for_first) + lgamma(1 + for_second) - lgamma(2 + pairs) + pairs * log(2)
    return exp(logarithm) if logarithm < log(1e300) else inf


@lru_cache(maxsize=1_000)
def t_quantile(degrees: int, probability: float = (1 + CONFIDENCE) / 2) -> float:
    """Return a quantile of Student's t, the 97.5 % one by default."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, probability))


def _within(centre: float, half_width: float, lowest: float) -> Interval:
    return Interval(max(centre - half_width, lowest), min(centre + half_width, 1.0))
