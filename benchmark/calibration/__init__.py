"""Simulated checks of estimators (docs/spec.md 9.1): `CALIBRATIONS` lists them.

Each module of this folder registers one calibration with `@calibrates`. Import a new module here. Packages above this
one register theirs in the modules that `settings.CALIBRATION_MODULES` lists.
"""

from importlib import import_module

from django.conf import settings

from benchmark.calibration import arms, intervals  # noqa: F401  they register themselves
from benchmark.calibration.registry import CALIBRATIONS, LEAST_COVERAGE, SEEDS, Calibration, Cell, Result

__all__ = ["CALIBRATIONS", "LEAST_COVERAGE", "SEEDS", "Calibration", "Cell", "Result"]

for _module in settings.CALIBRATION_MODULES:
    import_module(_module)
