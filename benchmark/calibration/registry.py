"""How a calibration is registered, and what it obtains."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, NamedTuple

import numpy as np

SEEDS = (307, 2026)
"""Every calibration runs once with each seed, so that a result that holds for one seed alone is seen."""

LEAST_COVERAGE = 0.93
"""What an interval that claims 95 % must cover, less two Monte Carlo errors."""


class Covered(NamedTuple):
    """How many of the simulated studies held the truth in the interval, and in the percentile bootstrap beside it."""

    interval: int
    bootstrap: int | None = None


@dataclass(frozen=True)
class Cell:
    """One simulated setting: the estimator, the number of problems, what lies inside a problem, and the true value.

    `expected` is the coverage known in advance. `claims` is False for an interval that is simulated for contrast and
    may miss. `simulate` takes a random generator and the number of studies.
    """

    estimator: str
    problems: int
    inside: str
    truth: float
    expected: str
    simulate: Callable[[np.random.Generator, int], Covered]
    claims: bool = True


@dataclass(frozen=True)
class Result:
    """The coverage obtained in a cell: over all seeds, for each seed, and with its Monte Carlo error.

    `holds` is False where an interval that claims 95 % covers less than `LEAST_COVERAGE` less two such errors.
    """

    cell: Cell
    studies: int
    by_seed: tuple[float, ...]
    bootstrap: float | None

    @property
    def coverage(self) -> float:
        return sum(self.by_seed) / len(self.by_seed)

    @property
    def monte_carlo_error(self) -> float:
        return sqrt(LEAST_COVERAGE * (1 - LEAST_COVERAGE) / self.studies)

    @property
    def holds(self) -> bool:
        return not self.cell.claims or self.coverage >= LEAST_COVERAGE - 2 * self.monte_carlo_error

    def to_json(self) -> dict[str, Any]:
        """All of it by name."""
        return {
            "estimator": self.cell.estimator,
            "problems": self.cell.problems,
            "inside": self.cell.inside,
            "truth": self.cell.truth,
            "expected": self.cell.expected,
            "claims_95": self.cell.claims,
            "studies": self.studies,
            "coverage": self.coverage,
            "coverage_by_seed": list(self.by_seed),
            "monte_carlo_error": self.monte_carlo_error,
            "bootstrap_coverage": self.bootstrap,
            "holds": self.holds,
        }


@dataclass(frozen=True)
class Calibration:
    """A named list of cells."""

    name: str
    title: str
    cells: Sequence[Cell]

    def run(self, number: int, studies: int) -> Result:
        """Simulate the cell of that number: so many studies with each of the seeds, the same for every call."""
        cell = self.cells[number]
        found = [cell.simulate(np.random.default_rng([seed, number]), studies) for seed in SEEDS]
        beside = [one.bootstrap for one in found if one.bootstrap is not None]
        return Result(
            cell=cell,
            studies=studies * len(SEEDS),
            by_seed=tuple(one.interval / studies for one in found),
            bootstrap=sum(beside) / (studies * len(SEEDS)) if beside else None,
        )


CALIBRATIONS: dict[str, Calibration] = {}


def calibrates(name: str, title: str) -> Callable[[Callable[[], Sequence[Cell]]], None]:
    """Return a decorator that registers a function which returns the cells."""

    def register(cells: Callable[[], Sequence[Cell]]) -> None:
        if name in CALIBRATIONS:
            raise ValueError(f"{name} is registered twice")
        CALIBRATIONS[name] = Calibration(name, title, cells())

    return register
