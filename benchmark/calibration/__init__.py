"""Simulated checks of estimators (docs/spec.md 9.1): `CALIBRATIONS` is the table of them.

Each module of this folder registers one calibration with `@calibrates`. Import a new module here.
"""

from benchmark.calibration import arms, intervals  # noqa: F401  they register themselves
from benchmark.calibration.registry import CALIBRATIONS, LEAST_COVERAGE, SEEDS, Calibration, Cell, Result

__all__ = ["CALIBRATIONS", "LEAST_COVERAGE", "SEEDS", "Calibration", "Cell", "Result"]
