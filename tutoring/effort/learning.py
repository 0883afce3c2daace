"""Learning inside a study: the change of an outcome with the tutor's k-th session, without a database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, stdev
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics import Interval, t_quantile

FEWEST_TUTORS, FEWEST_SESSIONS = 5, 8
"""Tutors, and sessions of each, from which a slope is shown."""

_SPREAD = 1e-10
"""Squared deviations below this are rounding errors of equal places."""


class OrderedSession(NamedTuple):
    """A session of a study: its tutor and problem, its place in the tutor's order from 1, and an outcome."""

    tutor: str
    problem: str
    place: int
    value: float


@dataclass(frozen=True)
class LearningSlope:
    """The mean over tutors of the change of the outcome from one session to the next, with its 95 % t interval."""

    mean: float
    interval: Interval
    tutors: int
    sessions: int


def learning_slope(sessions: Sequence[OrderedSession]) -> LearningSlope | None:
    """Return the slope over tutors; None for fewer than 5 tutors with 8 sessions.

    The effects of tutors and problems are removed from outcomes and places by within-differences. Each tutor then has a
    least-squares slope. A study orders a tutor's sessions at random, so the slope is no effect of the problems.
    """
    counts: dict[str, int] = {}
    for one in sessions:
        counts[one.tutor] = counts.get(one.tutor, 0) + 1
    kept = [one for one in sessions if counts[one.tutor] >= FEWEST_SESSIONS]
    tutors = list(dict.fromkeys(one.tutor for one in kept))
    if len(tutors) < FEWEST_TUTORS:
        return None
    of_tutor = _numbers([one.tutor for one in kept])
    of_problem = _numbers([one.problem for one in kept])
    columns = np.array([[float(one.place), one.value] for one in kept])
    places, values = _within(columns, of_tutor, of_problem).T
    slopes = []
    for number in range(len(tutors)):
        own = of_tutor == number
        squares = float(places[own] @ places[own])
        if squares > _SPREAD:
            slopes.append(float(places[own] @ values[own]) / squares)
    if len(slopes) < FEWEST_TUTORS:
        return None
    width = t_quantile(len(slopes) - 1) * stdev(slopes) / sqrt(len(slopes))
    mean = fmean(slopes)
    return LearningSlope(mean, Interval(mean - width, mean + width), len(slopes), len(kept))


def _numbers(names: Sequence[str]) -> NDArray[np.int64]:
    return np.unique(np.array(names), return_inverse=True)[1].astype(np.int64)


def _within(columns: NDArray[np.float64], *groups: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the columns without the least-squares effects of the members of each group."""
    members = np.concatenate([group[:, None] == np.arange(group.max() + 1) for group in groups], axis=1)
    effects = members.astype(float)
    found, *_ = np.linalg.lstsq(effects, columns)
    residuals: NDArray[np.float64] = columns - effects @ found
    return residuals
