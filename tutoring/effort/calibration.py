"""Simulated studies with a known learning slope, and known minutes per solved problem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmark.calibration.registry import Cell, Covered, calibrates
from benchmark.metrics import ratio_set
from tutoring.effort.learning import OrderedSession, learning_slope

SIZES = (12, 18, 40)


@dataclass(frozen=True)
class LearningWorld:
    """Tutors with skills and slopes of their own, and problems of different difficulty.

    Each of `tutors` holds `sessions` sessions on randomly chosen problems, in random order. `binary`
    outcomes are solved or not; others are minutes.
    """

    tutors: int
    sessions: int
    slope: float
    binary: bool
    problems: int = 24

    def study(self, generator: np.random.Generator) -> list[OrderedSession]:
        """Return the sessions of one study."""
        scale = 0.1 if self.binary else 3.0
        middle = 0.45 if self.binary else 12.0
        skills = generator.uniform(-scale, scale, self.tutors)
        slopes = self.slope * generator.uniform(0.5, 1.5, self.tutors)
        difficulty = generator.uniform(-scale, scale, self.problems)
        found = []
        for tutor in range(self.tutors):
            chosen = generator.permutation(self.problems)[: self.sessions]
            for place, problem in enumerate(chosen.tolist(), 1):
                mean = middle + skills[tutor] + difficulty[problem] + slopes[tutor] * (place - 1)
                value = float(generator.random() < mean) if self.binary else mean + generator.normal(0, 4.0)
                found.append(OrderedSession(f"t{tutor}", f"p{problem}", place, value))
        return found


def _slope(world: LearningWorld, inside: str) -> Cell:
    def simulate(generator: np.random.Generator, studies: int) -> Covered:
        covered = 0
        for _ in range(studies):
            found = learning_slope(world.study(generator))
            covered += found is not None and found.interval.low <= world.slope <= found.interval.high
        return Covered(covered)

    return Cell("learning slope: t over tutors", world.problems, inside, world.slope, "≥ 93 %", simulate)


def _ratio(problems: int, sessions: int) -> Cell:
    """Return the cell of minutes per solved problem: harder problems take longer and are solved less."""
    minutes_mean, rate = 12.0, 0.5
    truth = minutes_mean / rate

    def simulate(generator: np.random.Generator, studies: int) -> Covered:
        covered = 0
        for _ in range(studies):
            ease = generator.uniform(-1, 1, problems)
            solved = generator.binomial(sessions, rate + 0.3 * ease) / sessions
            minutes = generator.gamma(4.0, (minutes_mean - 4 * ease) / 4.0, (sessions, problems)).mean(0)
            ranges = ratio_set(minutes.tolist(), solved.tolist(), largest=float(minutes.max())).ranges
            covered += any(
                (one.low is None or one.low <= truth) and (one.high is None or truth <= one.high)
                for one in ranges
            )
        return Covered(covered)

    return Cell(
        "minutes per solved: ratio set",
        problems,
        f"{sessions} session{'s' if sessions > 1 else ''}",
        truth,
        "94–96 %",
        simulate,
    )


@calibrates("effort", "95 % intervals of learning slopes, and of minutes for each solved problem")
def cells() -> Sequence[Cell]:
    """Return the cells: slopes of solved and of minutes, and the ratio sets."""
    found = []
    for tutors, sessions in ((5, 8), (8, 12)):
        inside = f"{tutors} tutors, {sessions} sessions each"
        found.append(_slope(LearningWorld(tutors, sessions, 0.015, binary=True), f"solved, {inside}"))
        found.append(_slope(LearningWorld(tutors, sessions, -0.3, binary=False), f"minutes, {inside}"))
    found.append(
        _slope(LearningWorld(8, 12, 0.0, binary=True), "solved, no learning, 8 tutors, 12 sessions each")
    )
    return [*found, *(_ratio(problems, sessions) for problems in SIZES for sessions in (1, 3))]
