"""Estimators of the ladder of help, and the calibration with few studies."""

import pytest

from benchmark.calibration import CALIBRATIONS
from tutoring.ladder.estimation import (
    HelpedSession,
    LevelPair,
    compare_caps,
    help_curve,
    intended_levels,
    misorders,
)


def test_curve_counts_sessions_up_to_a_level_and_weighs_problems_equally():
    sessions = [
        HelpedSession("a", True, 0.0, 0.5),
        HelpedSession("a", False, 1.5),
        HelpedSession("b", False, 3.0, 0.0),
        HelpedSession("b", True, 3.0, 1.0),
    ]
    curve = help_curve(sessions)
    assert [(one.level, one.sessions, one.solved) for one in curve] == [
        (0, 1, 1), (1, 1, 1), (2, 2, 1), (3, 4, 2), (4, 4, 2)
    ]  # fmt: skip
    assert [one.rate for one in curve] == [1.0, 1.0, 0.5, 0.5, 0.5]
    assert [(one.neutral, one.compared) for one in curve][-1] == (0.5, 3)
    assert misorders(curve)
    assert not help_curve([])


def arm(name: str, *solved: int) -> tuple[str, dict[str, list[float]]]:
    return name, {f"p{number:02}": [float(one)] for number, one in enumerate(solved)}


def test_caps_have_steps_gains_and_a_least_help():
    few, more, most = [0] * 20, [0] * 12 + [1] * 8, [0] * 4 + [1] * 16
    found = compare_caps({3: arm("c3", *most), 0: arm("c0", *few), 1: arm("c1", *more)}, arm("neutral", *few))
    assert found.caps == (0, 1, 3)
    assert [one.difference for one in found.steps] == pytest.approx([0.4, 0.4])
    assert {one.method for one in found.steps} == {"newcombe"}
    assert [one.difference for one in found.gains] == pytest.approx([0.0, 0.4, 0.8])
    assert found.least == 1
    assert found.fitted == pytest.approx((0.0, 0.4, 0.8))
    swapped = compare_caps({0: arm("c0", *more), 1: arm("c1", *few)})
    assert swapped.fitted == pytest.approx((0.2, 0.2)), "the line never falls"
    assert (swapped.least, swapped.gains) == (None, ())


def test_no_gain_is_an_answer():
    same = [0] * 10 + [1] * 10
    assert compare_caps({0: arm("c0", *same), 2: arm("c2", *same)}, arm("n", *same)).least is None


def pair(session: int, intended: int, settled: float, *, late: bool = False) -> LevelPair:
    return LevelPair(f"s{session}", f"p{session}", intended, settled, late)


def test_intended_levels_that_equal_settled_ones_have_alpha_one_and_no_drift():
    found = intended_levels([pair(number, number % 5, number % 5) for number in range(10)])
    assert found.alpha == pytest.approx(1)
    assert found.drifts[0].mean == 0
    assert [row[2 * level] for level, row in enumerate(found.table)] == [2] * 5


def test_drift_is_settled_minus_intended_by_half():
    found = intended_levels(
        [*(pair(n, 1, 1.0) for n in range(6)), *(pair(n, 1, 1.5 + n % 2, late=True) for n in range(6))]
    )
    assert [one.name.split()[0] for one in found.drifts] == ["all", "first", "second"]
    assert [one.mean for one in found.drifts] == pytest.approx([0.5, 0.0, 1.0])
    assert found.drifts[2].interval.interval.low < 1.0 < found.drifts[2].interval.interval.high
    assert (intended_levels([]).alpha, intended_levels([]).messages) == (None, 0)


CALIBRATION = CALIBRATIONS["ladder"]


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(CALIBRATION.cells)))
def test_calibration_of_fifty_studies(number: int):
    result = CALIBRATION.run(number, 50)
    assert result.holds, result.to_json()
