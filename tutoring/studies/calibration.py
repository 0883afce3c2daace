"""Simulated studies with a known difference: assignment, expiry, replacement, abandoned sessions, looks.

Tutors differ in skill, problems in difficulty. The contrast and the e-value are those of tutoring.studies.estimation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark.calibration.registry import Cell, Covered, calibrates
from tutoring.studies.estimation import StartedProblem, contrast, e_value, settled_problems, sign_differences

Values = NDArray[np.float64]

SIZES = (12, 18, 40)
_TUTORS = 8
_SKILL_SPREAD, _PROBLEM_SPREAD = 0.7, 1.0
"""Standard deviations in logits."""
_EXPIRY, _ABANDONED = 0.15, 0.1
"""Shares of offers that expire, and of started sessions that are abandoned and count as not solved."""
_ROUNDS = 3
"""A cell whose offers expire this often stays empty."""
_ARMS = ("first", "second")
_REVIEW_DELAY = 20
"""How long a solved session waits for its reviews, in sessions."""


@dataclass(frozen=True)
class StudyWorld:
    """Two arms of tutors, or one of tutors and one of chains (`chains` per problem). `effect` is in logits."""

    base: float = -0.8
    effect: float = 1.2
    sessions: int = 1
    chains: int = 0
    skills: tuple[float, ...] = tuple(
        _SKILL_SPREAD * NormalDist().inv_cdf((number + 0.5) / _TUTORS) for number in range(_TUTORS)
    )
    expiry: float = _EXPIRY
    abandoned: float = _ABANDONED

    @property
    def truth(self) -> float:
        """Return the expected difference, over problems and over the tutors, who are equally likely for each cell."""
        kept = 1 - self.abandoned
        second = self._mean(self.base, (0.0,)) if self.chains else kept * self._mean(self.base, self.skills)
        return kept * self._mean(self.base + self.effect, self.skills) - second

    def _mean(self, logit: float, skills: Sequence[float]) -> float:
        places, weights = _quadrature()
        logits = logit + np.asarray(skills)[:, None] + _PROBLEM_SPREAD * places
        return float((_rate(logits) @ weights).mean() / weights.sum())

    def studies(self, generator: np.random.Generator, studies: int, problems: int) -> tuple[Values, Values]:
        """Return the outcomes of both arms with the shape studies × problems × sessions; NaN for an empty cell."""
        difficulty = generator.normal(0, _PROBLEM_SPREAD, (studies, problems, 1))
        arms = 1 if self.chains else 2
        tutors = _cell_tutors(generator, studies, problems, arms * self.sessions, len(self.skills))
        skills = np.asarray(self.skills)
        outcomes = []
        for arm, logit in enumerate((self.base + self.effect, self.base)[:arms]):
            seats = slice(arm * self.sessions, (arm + 1) * self.sessions)
            # When an offer expires, the next tutor in the circle gets one; the first that does not expire counts.
            tries = generator.random((studies, problems, self.sessions, _ROUNDS)) >= self.expiry
            chosen = (tutors[:, :, seats] + tries.argmax(3) * arms * self.sessions) % len(skills)
            chances = (1 - self.abandoned) * _rate(logit + difficulty + skills[chosen])
            solved = (generator.random(chances.shape) < chances).astype(float)
            outcomes.append(np.where(tries.any(3), solved, np.nan))
        if self.chains:
            chances = np.broadcast_to(_rate(self.base + difficulty), (studies, problems, self.chains))
            outcomes.append((generator.random(chances.shape) < chances).astype(float))
        return outcomes[0], outcomes[1]


def _cell_tutors(
    generator: np.random.Generator, studies: int, problems: int, cells: int, tutors: int
) -> NDArray[np.int64]:
    """Return the tutor of each cell: the next tutors in the circle, in an order of their own for each problem."""
    circle = (np.arange(problems)[:, None] * cells + np.arange(cells)) % tutors
    order = generator.random((studies, problems, cells)).argsort(2)
    places = np.take_along_axis(np.broadcast_to(circle, (studies, problems, cells)), order, 2)
    shuffled = generator.random((studies, tutors)).argsort(1)
    return np.asarray(np.take_along_axis(shuffled, places.reshape(studies, -1), 1).reshape(places.shape))


def _rate(logits: Any) -> Values:
    return np.asarray(1 / (1 + np.exp(-logits)))


@lru_cache(maxsize=1)
def _quadrature() -> tuple[Values, Values]:
    return np.polynomial.hermite_e.hermegauss(80)


def _by_problem(names: Sequence[str], outcomes: Values) -> dict[str, list[float]]:
    """Return the outcomes of one arm in one study by problem, without empty cells (NaN)."""
    return {
        name: [value for value in values if value == value]  # noqa: PLR0124
        for name, values in zip(names, outcomes.tolist(), strict=True)
    }


def _contrast(world: StudyWorld, problems: int, inside: str, expected: str) -> Cell:
    truth = world.truth
    names = [f"p{number}" for number in range(problems)]

    def simulate(generator: np.random.Generator, studies: int) -> Covered:
        covered = 0
        for rows in zip(*world.studies(generator, studies, problems), strict=True):
            first, second = (_by_problem(names, arm) for arm in rows)
            found = contrast(_ARMS, first, second)
            covered += found is not None and found.low <= truth <= found.high
        return Covered(covered)

    return Cell("contrast by assignment", problems, inside, truth, expected, simulate)


def _null(world: StudyWorld, problems: int, inside: str, expected: str) -> Cell:
    names = [f"p{number}" for number in range(problems)]

    def simulate(generator: np.random.Generator, studies: int) -> Covered:
        kept = 0
        for rows in zip(*world.studies(generator, studies, problems), strict=True):
            first, second = (_by_problem(names, arm) for arm in rows)
            differences = sign_differences(
                first, second, (name for name in names if first[name] and second[name])
            )
            kept += e_value(differences, 20).reached_at is None
        return Covered(kept)

    return Cell("no false stop by the e-value", problems, inside, 0.0, expected, simulate, least=0.95)


def _against_chains(chains: int) -> StudyWorld:
    """Return a world in which a session and a chain have equal chances on each problem."""
    return StudyWorld(effect=0.0, chains=chains, skills=(0.0,), expiry=0.0, abandoned=0.0)


def _late_reviews(problems: int, inside: str, expected: str) -> Cell:
    world = _against_chains(1)

    def stops(tutors: Sequence[float], chains: Sequence[float]) -> bool:
        for ended in range(1, problems + _REVIEW_DELAY + 1):
            started = [
                StartedProblem(place, str(place), place + _REVIEW_DELAY * tutors[place] >= ended)
                for place in range(min(ended, problems))
            ]
            pairs = map(int, settled_problems(started))
            if e_value([tutors[place] - chains[place] for place in pairs], 20).reached_at is not None:
                return True
        return False

    def simulate(generator: np.random.Generator, studies: int) -> Covered:
        first, second = (arm[:, :, 0].tolist() for arm in world.studies(generator, studies, problems))
        return Covered(sum(not stops(*rows) for rows in zip(first, second, strict=True)))

    return Cell("no false stop by the e-value", problems, inside, 0.0, expected, simulate, least=0.95)


@calibrates("studies", "95 % intervals of studies by assignment, and false stops of null studies")
def cells() -> Sequence[Cell]:
    """Return the cells: contrasts with expiry and replacement, and null studies with looks at every pair."""
    found = []
    for problems in SIZES:
        found += [
            _contrast(StudyWorld(), problems, "1 session per arm, 15 % expire", "≥ 93.7 %"),
            _contrast(StudyWorld(sessions=2), problems, "2 sessions per arm, 15 % expire", "94–96 %"),
            _contrast(StudyWorld(chains=4), problems, "1 session, 4 chains, 15 % expire", "94–96 %"),
            _contrast(StudyWorld(effect=0.0), problems, "no effect, 1 session per arm", "95–98 %"),
        ]
    for problems in (*SIZES, 200):
        inside = "no effect, looks at every pair"
        found.append(_null(StudyWorld(effect=0.0), problems, inside, "≥ 97 %"))
    unequal = StudyWorld(effect=0.0, skills=(-8.0, 0.0, 8.0), expiry=0.0, abandoned=0.0)
    found.append(_null(unequal, 200, "no effect, 3 tutors 8 logits apart", "97 %"))
    found.append(_null(_against_chains(3), 100, "no effect, 1 session, 3 chains", "≥ 97 %"))
    found.append(_late_reviews(40, "no effect, 1 chain, late reviews", "≥ 97 %"))
    return found
