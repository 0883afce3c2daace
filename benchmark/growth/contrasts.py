"""Paired contrasts of two arms over start programs, with each problem weighted equally (docs/spec.md 9.1)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, stdev

from benchmark.metrics import FEWEST_TESTED_PROBLEMS, POWER, paired_contrast, problem_t_test, t_quantile


@dataclass(frozen=True)
class PairedValues:
    """The values of one start program under two arms."""

    problem: str
    first: float
    second: float


@dataclass(frozen=True)
class SlowContrast:
    """The mean over problems of first minus second, with its interval.

    `p` is None for few problems. `detectable` is the difference that these problems would detect with a power of 80 %,
    also None for few problems.
    """

    starts: int
    problems: int
    first: float
    second: float
    difference: float
    low: float | None
    high: float | None
    method: str
    p: float | None
    detectable: float | None

    @property
    def not_significant(self) -> bool:
        """Whether the interval contains "no difference", so that the detectable difference must be shown."""
        return self.low is not None and self.high is not None and self.low <= 0 <= self.high


def share_contrast(pairs: Sequence[PairedValues], *, lowest: float = 0.0) -> SlowContrast | None:
    """Return the contrast of values from `lowest` (0, or -1 for a net rate) to 1; None without pairs.

    One outcome of 0 or 1 per problem has Newcombe's interval, other values the t interval over problems.
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
        span * found.detectable if tested else None,
    )


def mean_contrast(pairs: Sequence[PairedValues]) -> SlowContrast | None:
    """Return the contrast of unbounded values, such as slopes, with the t interval over problems; None without pairs.

    A single problem and equal differences have no interval.
    """
    if not pairs:
        return None
    first, second = _means(pairs, lambda pair: pair.first), _means(pairs, lambda pair: pair.second)
    differences = [one - other for one, other in zip(first, second, strict=True)]
    problems, mean = len(differences), fmean(differences)
    deviation = stdev(differences) if problems > 1 else 0.0
    if deviation == 0:
        return SlowContrast(
            len(pairs), problems, fmean(first), fmean(second), mean, None, None, "none", None, None
        )
    error, quantile = deviation / sqrt(problems), t_quantile(problems - 1)
    tested = problems >= FEWEST_TESTED_PROBLEMS
    return SlowContrast(
        len(pairs),
        problems,
        fmean(first),
        fmean(second),
        mean,
        mean - quantile * error,
        mean + quantile * error,
        "t",
        problem_t_test(differences) if tested else None,
        (quantile + t_quantile(problems - 1, POWER)) * error if tested else None,
    )


def _means(pairs: Sequence[PairedValues], value: Callable[[PairedValues], float]) -> list[float]:
    """Return the mean of each problem, in the order of first occurrence."""
    by_problem: dict[str, list[float]] = {}
    for pair in pairs:
        by_problem.setdefault(pair.problem, []).append(value(pair))
    return [fmean(values) for values in by_problem.values()]
