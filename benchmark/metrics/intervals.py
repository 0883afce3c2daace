"""95 % intervals: Wilson for one attempt a problem, a bootstrap over problems for several."""

from collections.abc import Sequence
from math import sqrt
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

RESAMPLES = 10_000
SEED = 307
"""Both are stored with each figure, so the same attempts always give the same interval."""


class Interval(NamedTuple):
    low: float
    high: float


def wilson(solved: int, problems: int, confidence: float = 0.95) -> Interval:
    """The score interval of a proportion (Wilson 1927); never outside [0, 1], sensible at 0 and at all."""
    if problems < 1:
        raise ValueError("an interval needs at least one problem")
    if not 0 <= solved <= problems:
        raise ValueError(f"{solved} solved of {problems} problems cannot be")
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share = solved / problems
    centre = share + z * z / (2 * problems)
    half = z * sqrt(share * (1 - share) / problems + z * z / (4 * problems * problems))
    scale = 1 + z * z / problems
    # Exact at none and at all, where rounding would give a bound just beside 0 or 1.
    return Interval(
        0.0 if solved == 0 else (centre - half) / scale,
        1.0 if solved == problems else (centre + half) / scale,
    )


def cluster_bootstrap(
    values: Sequence[float], confidence: float = 0.95, *, resamples: int = RESAMPLES, seed: int = SEED
) -> Interval:
    """The percentile interval of the mean when whole problems are drawn with replacement.

    `values` holds one figure a problem, so all attempts at a problem are drawn together and their likeness
    does not make the interval too narrow.
    """
    if not values:
        raise ValueError("an interval needs at least one problem")
    draws = np.random.default_rng(seed).integers(0, len(values), (resamples, len(values)))
    means = np.asarray(values, dtype=float)[draws].mean(axis=1)
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(low), float(high))
