"""95 % intervals: Wilson's for one attempt per problem, a bootstrap over many problems or contests.

Functions import scipy themselves: the import takes most of a second and 70 MB, and most processes need no figures.
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
"""Constants, so that the same attempts always give the same interval."""


_BLOCK = 250
"""Number of resamples drawn at once, small enough for the processor's cache."""


class Interval(NamedTuple):
    """The bounds of an interval."""

    low: float
    high: float


@lru_cache(maxsize=4_096)
def wilson(solved: float, problems: int, confidence: float = 0.95) -> Interval:
    """Return the score interval of a proportion (Wilson 1927), within [0, 1].

    `solved` may be a sum of values from 0 to 1. These vary less than outcomes, so the interval is then at least as wide
    as necessary. Raises ValueError for impossible counts.
    """
    if problems < 1:
        raise ValueError("an interval needs at least one problem")
    if not 0 <= solved <= problems:
        raise ValueError(f"{solved} solved of {problems} problems is impossible")
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
    """Return the percentile interval of the mean over resamples of whole problems or whole clusters of them.

    `values` holds one value for each problem, so attempts at a problem are drawn together and their correlation does
    not make the interval too narrow. `clusters` names the contest of each problem: problems of a contest share their
    authors and difficulty. Raises ValueError without problems.
    """
    if not values:
        raise ValueError("an interval needs at least one problem")
    sums, counts = totals(values, clusters)
    generator = np.random.default_rng(seed)
    means = np.empty(resamples)
    for start in range(0, resamples, _BLOCK):  # blocks give the same draws as one large array
        block = means[start : start + _BLOCK]
        draws = generator.integers(0, len(sums), (len(block), len(sums)))
        # Without clusters every count is 1, and the mean is over the values themselves.
        block[:] = sums[draws].mean(1) if clusters is None else sums[draws].sum(1) / counts[draws].sum(1)
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(low), float(high))


def standard_error(values: Sequence[float], clusters: Sequence[Hashable] | None = None) -> float:
    """Return the standard error of the mean with clusters of any size (CR0: Liang and Zeger 1986, uncorrected).

    This is the root of the summed squares of the clusters' total deviations, over the number of values. Without
    clusters it is the population standard deviation over the root of the number of values. Raises ValueError without
    values.
    """
    if not values:
        raise ValueError("a standard error needs at least one problem")
    centred = np.asarray(values, dtype=float) - np.mean(values)
    sums, _ = totals(centred.tolist(), clusters)
    return sqrt(float(sums @ sums)) / len(values)


def totals(
    values: Sequence[float], clusters: Sequence[Hashable] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the sum and the number of the values of each cluster, in the order of their first problems."""
    if clusters is None:
        return np.asarray(values, dtype=float), np.ones(len(values))
    if len(clusters) != len(values):
        raise ValueError(f"{len(values)} values need as many clusters, not {len(clusters)}")
    numbers: dict[Hashable, int] = {}
    places = [numbers.setdefault(cluster, len(numbers)) for cluster in clusters]
    sums = np.bincount(places, weights=np.asarray(values, dtype=float))
    return sums.astype(float), np.bincount(places).astype(float)
