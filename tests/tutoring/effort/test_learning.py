"""The learning slope with known values, and the calibration with few studies."""

import pytest

from benchmark.calibration import CALIBRATIONS
from benchmark.metrics import t_quantile
from tutoring.effort.learning import OrderedSession, learning_slope


def sessions(tutors: int, each: int, slope: float = 0.5) -> list[OrderedSession]:
    """Return sessions without noise: effects of tutors and problems, and the slope."""
    found = []
    for tutor in range(tutors):
        for place in range(1, each + 1):
            problem = (3 * place + tutor) % 11
            found.append(
                OrderedSession(f"t{tutor}", f"p{problem}", place, 2 * tutor + problem + slope * place)
            )
    return found


def test_effects_of_tutors_and_problems_are_removed():
    found = learning_slope(sessions(6, 9))
    assert found is not None
    assert (found.tutors, found.sessions) == (6, 54)
    assert found.mean == pytest.approx(0.5, abs=1e-4)
    assert found.interval.low <= 0.5 + 1e-4
    assert found.interval.high >= 0.5 - 1e-4


def test_an_interval_with_no_change_stands_beside_the_detectable_change():
    noisy = [one._replace(value=one.place % 2) for one in sessions(6, 9)]
    found = learning_slope(noisy)
    assert found is not None
    assert found.not_significant
    width = (found.interval.high - found.interval.low) / 2
    assert found.detectable == pytest.approx(width * (1 + t_quantile(5, 0.8) / t_quantile(5)))


def test_too_few_tutors_or_sessions_have_no_slope():
    assert learning_slope(sessions(4, 9)) is None
    assert learning_slope(sessions(6, 7)) is None
    assert learning_slope([*sessions(5, 9), *sessions(7, 3)[-3:]]) is not None
    assert learning_slope([]) is None


def test_problems_of_one_tutor_each_have_no_slope():
    alone = [
        OrderedSession(f"t{tutor}", f"p{tutor}-{n}", n, float(n)) for tutor in range(6) for n in range(1, 10)
    ]
    assert learning_slope(alone) is None


CALIBRATION = CALIBRATIONS["effort"]


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(CALIBRATION.cells)))
def test_calibration_of_fifty_studies(number: int):
    result = CALIBRATION.run(number, 50)
    assert result.holds, result.to_json()
