"""Fits of running times: slopes, start-up, and the cases without a slope."""

from math import log2

import pytest

from benchmark.growth.fitting import Point, fit, is_clear, least_squares, start_up, used_points

SIZES = [16 * 2**step for step in range(14)]


def points(seconds, sizes=SIZES, base=0.011):
    return [Point(size, (base + seconds(size),) * 3) for size in sizes]


@pytest.mark.parametrize("exponent", [1.0, 1.5, 2.0, 3.0])
def test_the_exponent_of_a_power_is_the_slope(exponent: float):
    found = fit(points(lambda size: 2 * (size / SIZES[-1]) ** exponent))
    assert found
    assert found.slope == pytest.approx(exponent, abs=0.02)
    assert found.low <= found.slope <= found.high
    assert len(found.sizes) <= 5


def test_n_log_n_reads_as_a_slope_slightly_above_one():
    found = fit(points(lambda size: 1e-6 * size * log2(size)))
    assert found
    assert 1.05 < found.slope < 1.12


def test_the_start_up_is_the_median_of_the_three_smallest():
    found = [Point(16, (0.5,)), Point(32, (0.1, 0.3)), Point(64, (0.2,)), Point(128, (9.0,))]
    assert start_up(found) == 0.2
    assert start_up([]) == 0.0


def test_times_of_20_ms_and_less_are_not_used():
    assert [point.size for point in used_points(points(lambda size: 1e-6 * size))] == [
        32768,
        65536,
        131072,
    ]
    assert fit(points(lambda size: 1e-9 * size)) is None


def test_times_that_follow_no_line_have_no_slope():
    times = [0.5, 0.05, 0.9, 0.1, 0.7]
    assert fit([Point(16, (0.0,)), Point(32, (0.0,)), Point(64, (0.0,))] + [
        Point(128 * 2**step, (time,) * 3) for step, time in enumerate(times)
    ]) is None  # fmt: skip


def test_runs_of_one_size_that_differ_have_no_slope():
    varying = [Point(size, (2e-6 * size, 5e-6 * size, 4e-6 * size)) for size in SIZES]
    assert fit(varying) is None


def test_least_squares_gives_the_published_error():
    line = least_squares([1, 2, 3, 4], [2, 4, 5, 4])
    assert (line.slope, line.intercept) == pytest.approx((0.7, 2.0))
    assert line.residual == pytest.approx((2.3 / 2) ** 0.5)
    assert line.error == pytest.approx((2.3 / 2 / 5) ** 0.5)


def test_the_slope_of_a_fast_program_that_reaches_the_bound_is_not_clear():
    """The sizes and times of an accepted program for n log n that was measured beside busy processes."""
    smallest = [Point(16, (0.0009,)), Point(32, (0.0009,)), Point(64, (0.0009,))]
    times = {11585: 0.0198, 16384: 0.0311, 18102: 0.0374, 20000: 0.044}
    measured = smallest + [Point(size, (seconds,)) for size, seconds in times.items()]
    found = fit(measured)
    assert found
    assert found.slope > 1.6
    assert not is_clear(found, measured)


def test_the_slope_over_times_that_double_twice_is_clear():
    measured = points(lambda size: 2e-6 * size)
    found = fit(measured)
    assert found
    assert is_clear(found, measured)


def test_a_wide_interval_is_not_clear():
    times = {16: 0.0, 32: 0.0, 64: 0.0, 128: 0.1, 256: 0.3, 512: 0.45}
    measured = [Point(size, (seconds,)) for size, seconds in times.items()]
    found = fit(measured)
    assert found
    assert not is_clear(found, measured)
