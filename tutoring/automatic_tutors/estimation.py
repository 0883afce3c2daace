"""The leak index, its yardstick, and the additive parts of a matrix of gains; no function reads the database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TypeVar

import numpy as np

from benchmark.metrics import NamedInterval, problem_t

P = TypeVar("P")

FEWEST_FOR_YARDSTICK = 20
"""The fewest sessions of people from which their 95th percentile is taken."""

_YARDSTICK = 0.95


@dataclass(frozen=True)
class LeakIndex:
    """The difference of two solve rates: with a tutor's messages alone, and with the statement alone.

    `mean` and its interval are over problems. `by_problem` holds the same difference for each session of a problem.
    """

    mean: float
    interval: NamedInterval
    by_problem: tuple[tuple[float, ...], ...]

    @property
    def problems(self) -> int:
        """The number of problems."""
        return len(self.by_problem)

    @property
    def by_session(self) -> tuple[float, ...]:
        """The difference of each session."""
        return tuple(value for of_problem in self.by_problem for value in of_problem)


def leak_index(alone: Mapping[P, float], shown: Mapping[P, Sequence[float]]) -> LeakIndex | None:
    """Return the leak index; None without a common problem.

    `alone` is the share of right draws after the statement by problem, `shown` those of each session's messages.
    """
    common = [problem for problem in shown if problem in alone and shown[problem]]
    if not common:
        return None
    differences = [fmean(shown[problem]) - alone[problem] for problem in common]
    return LeakIndex(
        mean=fmean(differences),
        interval=problem_t(differences, lowest=-1),
        by_problem=tuple(tuple(value - alone[problem] for value in shown[problem]) for problem in common),
    )


def yardstick(of_people: Sequence[float]) -> float | None:
    """Return the 95th percentile of the leaks of compliant sessions of people; None for too few of them."""
    if len(of_people) < FEWEST_FOR_YARDSTICK:
        return None
    return float(np.quantile(of_people, _YARDSTICK))


@dataclass(frozen=True)
class AboveYardstick:
    """The share of a tutor's sessions above the yardstick, which is 5 % for people, with its interval over problems."""

    sessions: int
    share: float
    interval: NamedInterval

    @property
    def gives_away(self) -> bool:
        """Whether the tutor gives away more than people do: the whole interval is above 5 %."""
        return self.interval.interval.low > 1 - _YARDSTICK


def above_yardstick(found: LeakIndex, limit: float) -> AboveYardstick:
    """Return the share of sessions whose leak is above the limit.

    A mean compared with a percentile of sessions would miss tutors: with few draws the leak of one session is mostly
    chance, and the percentile is far above the mean leak of people (`manage.py calibrate tutor`).
    """
    shares = [fmean(value > limit for value in of_problem) for of_problem in found.by_problem]
    sessions = sum(value > limit for value in found.by_session)
    return AboveYardstick(sessions, fmean(shares), problem_t(shares))


@dataclass(frozen=True)
class AdditiveParts:
    """A matrix of gains as mean + effect of the student + effect of the tutor + rest; effects of each side sum to 0."""

    mean: float
    students: tuple[float, ...]
    tutors: tuple[float, ...]
    rest: tuple[tuple[float, ...], ...]


def additive_parts(gains: Sequence[Sequence[float | None]]) -> AdditiveParts | None:
    """Return the parts of a matrix with a row for each student; None if a cell is empty or a side has one member."""
    if len(gains) < 2 or len(gains[0]) < 2 or any(cell is None for row in gains for cell in row):
        return None
    values = np.asarray(gains, dtype=float)
    mean = float(values.mean())
    students, tutors = values.mean(axis=1) - mean, values.mean(axis=0) - mean
    rest = values - mean - students[:, None] - tutors[None, :]
    return AdditiveParts(
        mean, tuple(students.tolist()), tuple(tutors.tolist()), tuple(tuple(row) for row in rest.tolist())
    )


@dataclass(frozen=True)
class BlindingIndex:
    """The agreement of blind guesses with the truth: the mean over problems of (right − wrong) / answers.

    1: always right; 0: no better than chance; "cannot tell" is an answer that is neither.
    """

    index: float
    interval: NamedInterval
    answers: int


def blinding_index(answers: Mapping[P, Sequence[int]]) -> BlindingIndex | None:
    """Return the index of answers by problem: 1 right, -1 wrong, 0 cannot tell; None without an answer."""
    given = {problem: values for problem, values in answers.items() if values}
    if not given:
        return None
    means = [fmean(values) for values in given.values()]
    return BlindingIndex(fmean(means), problem_t(means, lowest=-1), sum(map(len, given.values())))
