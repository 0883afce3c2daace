"""Paired contrasts of two arms over start programs, with each problem weighted equally (docs/spec.md 9.1)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, stdev

from benchmark.metrics import paired_contrast, t_quantile

FEWEST_TESTED_PROBLEMS = 6
"""Problems from which a contrast has a test."""


@dataclass(frozen=True)
class Pair:
    """The values of one start program under two arms."""

    problem: str
    first: float
    second: float


@dataclass(frozen=True)
class SlowContrast:
    """The mean over problems of first minus second, with its interval. `p` is None for few problems."""

    starts: int
    problems: int
    first: float
    second: float
    difference: float
    low: float | None
    high: float | None
    method: str
    p: float | None


def share_contrast(pairs: Sequence[Pair], *, lowest: float = 0.0) -> SlowContrast | None:
    """Return the contrast of values from `lowest` (0, or -1 for a net rate) to 1; None without pairs.

    One outcome of 0 or 1 a problem has Newcombe's interval, other values the t interval over problems.
    """
    if not pairs:
        return None
    span = 1 - lowest
    first = _means(pairs, lambda pair: (pair.first - lowest) / span)
    second = _means(pairs, lambda pair: (pair.second - lowest) / span)
    binary = len(first) == len(pairs) and {*first, *second} <= {0.0, 1.0}
    found = paired_contrast(first, second, binary=binary)
    low, high = (span * bound for bound in found.difference.interval)
    tested = len(first) >= FEWEST_TESTED_PROBLEMS
    return SlowContrast(
        len(pairs),
        len(first),
        lowest + span * fmean(first),
        lowest + span * fmean(second),
        span * found.difference.mean,
        low,
        high,
        found.difference.method,
        found.p if tested else None,
    )


def mean_contrast(pairs: Sequence[Pair]) -> SlowContrast | None:
    """Return the contrast of unbounded values, such as slopes, with the t interval over problems."""
    if not pairs:
        return None
    first, second = _means(pairs, lambda pair: pair.first), _means(pairs, lambda pair: pair.second)
    differences = [one - other for one, other in zip(first, second, strict=True)]
    mean, low, high = fmean(differences), None, None
    if len(differences) > 1:
        margin = t_quantile(len(differences) - 1) * stdev(differences) / sqrt(len(differences))
        low, high = mean - margin, mean + margin
    return SlowContrast(len(pairs), len(first), fmean(first), fmean(second), mean, low, high, "t", None)


def _means(pairs: Sequence[Pair], value: Callable[[Pair], float]) -> list[float]:
    """Return the mean of each problem, in the order of first occurrence."""
    by_problem: dict[str, list[float]] = {}
    for pair in pairs:
        by_problem.setdefault(pair.problem, []).append(value(pair))
    return [fmean(values) for values in by_problem.values()]
