"""The measured slope of a program of known growth. `python -m benchmarks.growth` measures many of them."""

import pytest

from judge import SandboxStatus
from tests.benchmark.growth.synthetic import FOLDER, measured


def test_the_slope_of_a_quadratic_program_is_measured(sandbox: SandboxStatus):
    series = measured(FOLDER / "programs" / "quadratic.cpp")
    assert series.fit is not None, series
    assert series.fit.slope == pytest.approx(2.0, abs=0.3), series
