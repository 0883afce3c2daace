"""Learning inside a study: the change of an outcome with the tutor's k-th session, without a database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import stdev
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics import POWER, Interval, t_quantile

FEWEST_TUTORS, FEWEST_SESSIONS = 5, 8
"""The fewest tutors, and sessions of each, for which a slope is shown."""


_EXPLAINED = 1e-9
"""Share of the sum of squares of places below which the effects count as explaining all places."""


class OrderedSession(NamedTuple):
    """A session of a study: its tutor and problem, its place in the tutor's order from 1, and an outcome."""

    tutor: str
    problem: str
    place: int
    value: float


@dataclass(frozen=True)
class LearningSlope:
    """The change of the outcome from one session of a tutor to the next, with its 95 % interval.

    `detectable` is the change that these tutors would show with a power of 80 %.
    """

    mean: float
    interval: Interval
    detectable: float
    tutors: int
    sessions: int

    @property
    def not_significant(self) -> bool:
        """Whether the interval contains "no change", so that the detectable change must be shown."""
        return self.interval.low <= 0 <= self.interval.high


def learning_slope(sessions: Sequence[OrderedSession]) -> LearningSlope | None:
    """Return the slope; None for fewer than 5 tutors with 8 sessions, or if effects of problems explain all places.

    The slope is that of within-differences: least squares with an effect of each tutor and each problem. The interval
    is t over tutors, on the jackknife's pseudo-values, each of which leaves out one tutor: residuals of one fit would
    show too little spread with few tutors. A study orders a tutor's sessions at random, so the slope is not an effect
    of the problems.
    """
    counts: dict[str, int] = {}
    for one in sessions:
        counts[one.tutor] = counts.get(one.tutor, 0) + 1
    kept = [one for one in sessions if counts[one.tutor] >= FEWEST_SESSIONS]
    tutors = len({one.tutor for one in kept})
    if tutors < FEWEST_TUTORS:
        return None
    of_tutor, of_problem = (_members([getattr(one, name) for one in kept]) for name in ("tutor", "problem"))
    columns = np.array([[float(one.place), one.value] for one in kept])
    rows = np.concatenate([columns - columns.mean(0), of_tutor, of_problem], axis=1)
    products = [own.T @ own for own in (rows[member > 0] for member in of_tutor.T)]
    total = np.sum(products, axis=0)
    slopes = [_slope(one) for one in (total, *(total - own for own in products))]
    known = [one for one in slopes if one is not None]
    if len(known) < len(slopes):
        return None
    mean, *without = known
    values = [tutors * mean - (tutors - 1) * one for one in without]
    error, quantile = stdev(values) / sqrt(tutors), t_quantile(tutors - 1)
    width, detectable = quantile * error, (quantile + t_quantile(tutors - 1, POWER)) * error
    return LearningSlope(mean, Interval(mean - width, mean + width), detectable, tutors, len(kept))


def _members(names: Sequence[str]) -> NDArray[np.float64]:
    """Return a column for each name: 1 in its rows, else 0."""
    numbers = np.unique(np.array(names), return_inverse=True)[1]
    return np.asarray(numbers[:, None] == np.arange(numbers.max() + 1), dtype=float)


def _slope(products: NDArray[np.float64]) -> float | None:
    """Return the slope of the second column on the first without the effects of the others, from their products.

    None if the other columns explain the first one.
    """
    effects, *_ = np.linalg.lstsq(products[2:, 2:], products[2:, :2])
    left = products[:2, :2] - products[:2, 2:] @ effects
    return None if left[0, 0] < _EXPLAINED * products[0, 0] else float(left[0, 1] / left[0, 0])
