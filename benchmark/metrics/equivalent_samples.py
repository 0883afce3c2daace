"""Equivalent samples: the number of independent samples that solves as much as another arm."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics.small_samples import Range, t_quantile, zero_spread

_ROUNDING = 1e-12
"""Spreads below this are rounding errors of equal values."""


@dataclass(frozen=True)
class EquivalentSamples:
    """The numbers of samples that the t test does not distinguish from a solve rate, out of 1 to `most`.

    `least` is the smallest number whose pass@n reaches the rate; None if more than `most` are needed.
    """

    least: int | None
    accepted: tuple[int, ...]
    most: int

    @property
    def ranges(self) -> tuple[Range, ...]:
        """The accepted numbers as ranges; an end at `most` is open, because larger numbers were not observed."""
        if not self.accepted:
            return (Range(self.most + 1, None),) if self.least is None else ()
        steps = [at for at, (one, other) in enumerate(pairwise(self.accepted), start=1) if other > one + 1]
        ends = [0, *steps, len(self.accepted)]
        parts = [self.accepted[start:end] for start, end in pairwise(ends)]
        return tuple(Range(part[0], None if part[-1] == self.most else part[-1]) for part in parts)


def equivalent_samples(rates: Sequence[float], samples: Sequence[tuple[int, int]]) -> EquivalentSamples:
    """Return the numbers n of independent samples whose pass@n the t test does not distinguish from the rates.

    `rates` holds the solve rate of each problem in the other arm, `samples` the (drawn, right) samples of the same
    problems. The largest n is the smallest number drawn. A number belongs to the set if the t interval of the mean of
    pass@n - rate over problems contains 0; for differences without spread the half-width is `zero_spread`. Raises
    ValueError without problems, for lists of different lengths, and for a problem without samples.
    """
    if not rates or len(rates) != len(samples):
        raise ValueError("equivalent samples need at least one problem, and samples of each")
    most = min(drawn for drawn, _ in samples)
    if most < 1:
        raise ValueError("equivalent samples need at least one sample of each problem")
    expected = _pass_at_each(samples, most)
    differences = expected - np.asarray(rates, dtype=float)[:, None]
    problems, means = len(rates), differences.mean(0)
    variances = differences.var(0)
    if problems == 1:
        halves = np.full(most, zero_spread(1))
    else:
        halves = t_quantile(problems - 1) * np.sqrt(variances / (problems - 1))
        halves[variances * problems <= _ROUNDING] = zero_spread(problems)
    accepted = np.flatnonzero(np.abs(means) <= halves) + 1
    reached = np.flatnonzero(means >= -_ROUNDING) + 1
    return EquivalentSamples(
        least=int(reached[0]) if len(reached) else None, accepted=tuple(accepted.tolist()), most=most
    )


def _pass_at_each(samples: Sequence[tuple[int, int]], most: int) -> NDArray[np.float64]:
    """Return pass@n for n from 1 to `most`, with a row for each problem (`pass_at_k` for one n)."""
    drawn, right = np.asarray(samples, dtype=float).T[:, :, None]
    before = np.arange(most)
    # C(m - c, n) / C(m, n) is the product of the chances that each further sample is wrong as well.
    wrong = np.clip(drawn - right - before, 0, None) / (drawn - before)
    return np.asarray(1 - np.cumprod(wrong, axis=1))
