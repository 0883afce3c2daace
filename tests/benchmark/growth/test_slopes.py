"""The measured slopes of programs of known growth, beside busy processes."""

from pathlib import Path

import pytest

from judge import SandboxStatus
from tests.benchmark.growth.synthetic import FOLDER, busy, measured

KNOWN = {"linear": 1.0, "linearithmic": 1.08, "three_halves": 1.5, "quadratic": 2.0, "cubic": 3.0}
UNSEEN = {"heap_of_numbers.py": 1.08, "blocks_of_the_root.py": 1.5, "common_subsequence.cpp": 2.0}
"""Programs that were not measured while the measurement was written."""


def tolerance(exponent: float) -> float:
    return 0.15 if exponent <= 2 else 0.3


@pytest.mark.parametrize("suffix", [".py", ".cpp"])
@pytest.mark.parametrize("name", KNOWN)
def test_a_known_growth_is_measured_beside_four_busy_processes(
    name: str, suffix: str, sandbox: SandboxStatus
):
    with busy(4):
        series = measured(FOLDER / "programs" / (name + suffix))
    assert series.fit is not None, series
    assert series.fit.slope == pytest.approx(KNOWN[name], abs=tolerance(KNOWN[name])), series


@pytest.mark.parametrize("name", UNSEEN)
def test_an_unseen_program_is_measured(name: str, sandbox: SandboxStatus):
    with busy(4):
        series = measured(FOLDER / "unseen" / name)
    assert series.fit is not None, series
    assert series.fit.slope == pytest.approx(UNSEEN[name], abs=0.15), series


def test_two_measurements_agree(sandbox: SandboxStatus):
    path: Path = FOLDER / "programs" / "quadratic.py"
    first, second = measured(path), measured(path)
    assert first.fit
    assert second.fit
    assert abs(first.fit.slope - second.fit.slope) <= 0.15


def test_a_random_running_time_has_no_stable_growth(sandbox: SandboxStatus):
    series = measured(FOLDER / "programs" / "random_time.py")
    assert series.fit is None
    assert series.outcome == "unstable", series
