"""95 % intervals: Wilson for one attempt a problem, a bootstrap over many problems or contests for several.

scipy is imported where it is used: it takes most of a second and 70 MB, and most processes show no figures.
"""

from collections.abc import Hashable, Sequence
from functools import lru_cache
from math import sqrt
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 10_000
SEED = 307
"""Both are stored with each figure, so the same attempts always give the same interval."""


_BLOCK = 250
"""Resamples drawn together: few enough to stay in the processor's cache."""


class Interval(NamedTuple):
    low: float
    high: float


@lru_cache(maxsize=4_096)
def wilson(solved: float, problems: int, confidence: float = 0.95) -> Interval:
    """Return the score interval of a proportion (Wilson 1927); never outside [0, 1], sensible at 0 and at all.

    `solved` may be a sum of values from 0 to 1, which vary less than proportions: the interval is then no narrower
    than it should be. Raises ValueError for counts that cannot be.
    """
    if problems < 1:
        raise ValueError("an interval needs at least one problem")
    if not 0 <= solved <= problems:
        raise ValueError(f"{solved} solved of {problems} problems cannot be")
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share, spread = solved / problems, z * z / problems
    middle = (share + spread / 2) / (1 + spread)
    half = z * sqrt(share * (1 - share) / problems + spread / (4 * problems)) / (1 + spread)
    return Interval(
        max(0.0, middle - half) if solved else 0.0, min(1.0, middle + half) if solved < problems else 1.0
    )


def cluster_bootstrap(
    values: Sequence[float],
    clusters: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Interval:
    """The percentile interval of the mean when whole problems, or whole clusters of them, are drawn with replacement.

    `values` holds one figure a problem, so all attempts at a problem are drawn together and their likeness
    does not make the interval too narrow. `clusters` names the contest of each problem: problems of one contest
    have authors and a difficulty in common.
    """
    if not values:
        raise ValueError("an interval needs at least one problem")
    sums, counts = totals(values, clusters)
    generator = np.random.default_rng(seed)
    means = np.empty(resamples)
    for start in range(
        0, resamples, _BLOCK
    ):  # the draws of one block after the other are those of all at once
        block = means[start : start + _BLOCK]
        draws = generator.integers(0, len(sums), (len(block), len(sums)))
        # Without clusters every count is 1, and the mean is over the values themselves.
        block[:] = sums[draws].mean(1) if clusters is None else sums[draws].sum(1) / counts[draws].sum(1)
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(low), float(high))


def standard_error(values: Sequence[float], clusters: Sequence[Hashable] | None = None) -> float:
    """The standard error of the mean with clusters of any size (CR0: Liang and Zeger 1986, without correction).

    The root of the summed squares of the clusters' total deviations, over the number of values. Where each value is
    a cluster of its own, that is the standard deviation of the population over the root of their number.
    """
    if not values:
        raise ValueError("a standard error needs at least one problem")
    centred = np.asarray(values, dtype=float) - np.mean(values)
    sums, _ = totals(centred.tolist(), clusters)
    return sqrt(float(sums @ sums)) / len(values)


def totals(
    values: Sequence[float], clusters: Sequence[Hashable] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The sum and the number of the values of each cluster, clusters in the order of their first problem."""
    if clusters is None:
        return np.asarray(values, dtype=float), np.ones(len(values))
    if len(clusters) != len(values):
        raise ValueError(f"{len(values)} values cannot have {len(clusters)} clusters")
    numbers: dict[Hashable, int] = {}
    places = [numbers.setdefault(cluster, len(numbers)) for cluster in clusters]
    sums = np.bincount(places, weights=np.asarray(values, dtype=float))
    return sums.astype(float), np.bincount(places).astype(float)
