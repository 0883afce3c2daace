"""The registry of calibrations, and their results."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, NamedTuple

import numpy as np

SEEDS = (307, 2026)
"""Every calibration runs once with each seed, which shows results that depend on the seed."""

LEAST_COVERAGE = 0.93
"""The least coverage of an interval that claims 95 %, before two Monte Carlo errors are subtracted."""


class Covered(NamedTuple):
    """The number of simulated studies whose interval, and whose percentile bootstrap, contains the true value."""

    interval: int
    bootstrap: int | None = None


@dataclass(frozen=True)
class Cell:
    """One simulated setting: the estimator, the number of problems, the structure inside a problem, and the true value.

    `expected` is the coverage that is known in advance. `claims` is False for an interval that is simulated only for
    comparison. `simulate` takes a random generator and the number of studies. `least` is the least coverage that is
    claimed.
    """

    estimator: str
    problems: int
    inside: str
    truth: float
    expected: str
    simulate: Callable[[np.random.Generator, int], Covered]
    claims: bool = True
    least: float = LEAST_COVERAGE


@dataclass(frozen=True)
class Result:
    """The coverage of a cell over all seeds and for each seed.

    `studies` is the number over all seeds, `bootstrap` the coverage of the percentile bootstrap, if simulated.
    """

    cell: Cell
    studies: int
    by_seed: tuple[float, ...]
    bootstrap: float | None

    @property
    def coverage(self) -> float:
        """Return the coverage over all seeds."""
        return sum(self.by_seed) / len(self.by_seed)

    @property
    def monte_carlo_error(self) -> float:
        """Return the standard error of the least coverage that the cell claims."""
        return sqrt(self.cell.least * (1 - self.cell.least) / self.studies)

    @property
    def holds(self) -> bool:
        """Return False if the cell covers less than it claims minus two Monte Carlo errors."""
        return not self.cell.claims or self.coverage >= self.cell.least - 2 * self.monte_carlo_error

    def to_json(self) -> dict[str, Any]:
        """Return all fields by name."""
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
        """Simulate the cell with this index: the same `studies` with each of the seeds in every call."""
        cell = self.cells[number]
        found = [cell.simulate(np.random.default_rng([seed, number]), studies) for seed in SEEDS]
        bootstraps = [one.bootstrap for one in found if one.bootstrap is not None]
        return Result(
            cell=cell,
            studies=studies * len(SEEDS),
            by_seed=tuple(one.interval / studies for one in found),
            bootstrap=sum(bootstraps) / (studies * len(SEEDS)) if bootstraps else None,
        )


CALIBRATIONS: dict[str, Calibration] = {}


def calibrates(name: str, title: str) -> Callable[[Callable[[], Sequence[Cell]]], None]:
    """Return a decorator that registers a function which returns the cells."""

    def register(cells: Callable[[], Sequence[Cell]]) -> None:
        if name in CALIBRATIONS:
            raise ValueError(f"{name} is registered twice")
        CALIBRATIONS[name] = Calibration(name, title, cells())

    return register
