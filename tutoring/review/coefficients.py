"""Coefficients of agreement between two people, corrected for chance.

Every function takes tables of counts: `table[..., i, j]` is the number of units in category i of the first person and
category j of the second. Leading axes hold any number of tables, such as those of resamples. An undefined coefficient
(no units, or no variation) is nan.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics import Interval

Tables = NDArray[np.float64]
Coefficient = Callable[[Tables], NDArray[np.float64]]

RESAMPLES = 1_000
SEED = 307
"""Fixed seed: the same reviews always give the same interval."""


def percent_agreement(tables: Tables) -> NDArray[np.float64]:
    """Return the share of units in the same category of both people, from 0 to 1."""
    return _quotient(np.trace(tables, axis1=-2, axis2=-1), tables.sum((-2, -1)))


def cohen_kappa(tables: Tables) -> NDArray[np.float64]:
    """Return Cohen's κ = (p_o - p_e) / (1 - p_e), where p_e comes from each person's own marginals.

    Cohen 1960, "A coefficient of agreement for nominal scales", Educational and Psychological Measurement 20.
    """
    shares = _shares(tables)
    expected = (shares.sum(-1) * shares.sum(-2)).sum(-1)
    return _above_chance(np.trace(shares, axis1=-2, axis2=-1), expected)


def gwet_ac1(tables: Tables) -> NDArray[np.float64]:
    """Return Gwet's AC1, with p_e = Σ π_k (1 - π_k) / (q - 1) and π_k the mean share of category k.

    Unlike κ, it stays high for high agreement when a category is rare. Gwet 2008, "Computing inter-rater reliability
    and its variance in the presence of high agreement", British Journal of Mathematical and Statistical Psychology 61.
    """
    shares = _shares(tables)
    categories = tables.shape[-1]
    mean = (shares.sum(-1) + shares.sum(-2)) / 2
    expected = (mean * (1 - mean)).sum(-1) / (categories - 1)
    return _above_chance(np.trace(shares, axis1=-2, axis2=-1), expected)


def alpha_nominal(tables: Tables) -> NDArray[np.float64]:
    """Return Krippendorff's α with equal distances between all different categories (see `alpha`)."""
    categories = tables.shape[-1]
    return alpha(coincidences(tables), 1 - np.eye(categories))


def alpha_ordinal(tables: Tables) -> NDArray[np.float64]:
    """Return Krippendorff's α for ordered categories.

    The distance of c and k is the number of values between them: δ_ck = Σ n_g for g from c to k, minus (n_c + n_k) / 2
    (see `alpha`).
    """
    counted = coincidences(tables)
    values = counted.sum(-1)
    middle = values.cumsum(-1) - values / 2
    return alpha(counted, (middle[..., :, None] - middle[..., None, :]) ** 2)


def coincidences(tables: Tables) -> Tables:
    """Return the coincidence matrix. Each unit counts once in either order, so the sum is twice the number of units."""
    counted: Tables = tables + np.swapaxes(tables, -1, -2)
    return counted


def alpha(counted: Tables, distances: Tables) -> NDArray[np.float64]:
    """Return Krippendorff's α = 1 - (n - 1) Σ o_ck δ²_ck / Σ n_c n_k δ²_ck from coincidences and squared distances.

    Krippendorff 2011, "Computing Krippendorff's alpha-reliability" (University of Pennsylvania), section D.
    """
    values = counted.sum(-1)
    observed = (counted * distances).sum((-2, -1))
    expected = (values[..., :, None] * values[..., None, :] * distances).sum((-2, -1))
    ratio: NDArray[np.float64] = (values.sum(-1) - 1) * _quotient(observed, expected)
    return 1 - ratio


def resampling_weights(clusters: int, *, resamples: int = RESAMPLES, seed: int = SEED) -> NDArray[np.float32]:
    """Return how often each cluster occurs in each resample, drawn with replacement. Shape: (resamples, clusters).

    The matrix product with the clusters' counts (a row each) gives the counts of every resample. Single precision takes
    half the time and is exact up to sums of 2^24 units.
    """
    draws = np.random.default_rng(seed).integers(0, clusters, (resamples, clusters))
    weights = np.empty((resamples, clusters), np.float32)
    for row, drawn in zip(weights, draws, strict=True):
        row[:] = np.bincount(drawn, minlength=clusters)
    return weights


def interval(values: NDArray[np.float64], confidence: float = 0.95) -> Interval | None:
    """Return the percentile interval of a coefficient over resamples.

    Undefined values are excluded. Return None if at least half of the values are undefined.
    """
    defined = values[~np.isnan(values)]
    if len(defined) * 2 <= len(values):
        return None
    low, high = np.quantile(defined, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(low), float(high))


def _shares(tables: Tables) -> Tables:
    return _quotient(tables, tables.sum((-2, -1), keepdims=True))


def _above_chance(observed: Tables, expected: Tables) -> NDArray[np.float64]:
    return _quotient(observed - expected, 1 - expected)


def _quotient(numerator: Tables, denominator: Tables) -> NDArray[np.float64]:
    """Return the elementwise quotient; nan for a denominator that is 0 up to rounding."""
    numerator, denominator = np.broadcast_arrays(np.asarray(numerator, float), np.asarray(denominator, float))
    result = np.full(numerator.shape, np.nan)
    np.divide(numerator, denominator, out=result, where=denominator > 1e-12)
    return result
