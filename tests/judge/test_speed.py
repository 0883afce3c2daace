"""The measured speed of a machine, the factor of time limits, and verdicts near the limit."""

from itertools import pairwise

import pytest

import judge
from judge import Judgement, Limits, Policy, TestResult, Verdict
from judge.speed.factors import STEP
from judge.speed.measuring import measure_speed
from tests.judge.conftest import Grade

LIMITS = Limits(time=2.0, memory=2**28)


@pytest.mark.parametrize(
    ("measured", "factor"),
    [(0.3, 1), (1.0, 1), (1.11, 1), (1.13, 1.25), (1.8, 1.953125), (4.0, STEP**6), (50, STEP**6)],
)
def test_a_factor_is_the_nearest_step_within_its_bounds(measured: float, factor: float) -> None:
    assert judge.quantized_factor(measured) == factor
    assert 1 <= judge.quantized_factor(measured) <= judge.LARGEST_FACTOR < 4


def test_noise_around_the_border_of_two_steps_keeps_the_last_factor() -> None:
    for last in (1.0, 1.25):
        assert {judge.quantized_factor(measured, last) for measured in (1.07, 1.12, 1.17)} == {last}
    assert judge.quantized_factor(1.3, 1.0) == 1.25
    assert judge.quantized_factor(1.04, 1.25) == 1.0


def test_factors_grow_with_the_measurement() -> None:
    factors = [judge.quantized_factor(1 + step / 20) for step in range(80)]
    assert all(first <= second for first, second in pairwise(factors))


def test_the_factor_multiplies_scaled_limits_only() -> None:
    assert judge.limits_for(LIMITS, "cpp", Policy.FAIR, time_factor=1.25).time == 2.5
    assert judge.limits_for(LIMITS, "python", Policy.FAIR, time_factor=1.25).time == 5.0
    assert judge.limits_for(LIMITS, "python", Policy.COMPAT, time_factor=1.25).time == 2.0


@pytest.mark.usefixtures("sandbox")
def test_the_reference_programs_run_in_the_sandbox() -> None:
    speed = measure_speed()
    assert speed.host == judge.host_name()
    assert set(speed.times) <= {"cpp", "python"}
    assert speed.factor > 0
    assert speed.spread >= 0
    assert sum(speed.times.values()) < 2


def result(verdict: Verdict, time: float, *, ended: bool = True) -> TestResult:
    return TestResult("1", verdict, time, time, 0, 0 if ended else None, None, "", "", "", False)


def judgement(*tests: TestResult) -> Judgement:
    verdict = next((test.verdict for test in tests if test.verdict is not Verdict.AC), Verdict.AC)
    return Judgement(verdict, tests, len(tests), "", Policy.FAIR, LIMITS, "2", "", "")


@pytest.mark.parametrize(
    ("tests", "near"),
    [
        ([result(Verdict.AC, 1.0)], False),
        ([result(Verdict.AC, 1.0), result(Verdict.AC, 1.85)], True),
        ([result(Verdict.TLE, 2.1)], True),
        ([result(Verdict.TLE, 2.0, ended=False)], False),  # stopped: it may need any time
        ([result(Verdict.TLE, 2.1), result(Verdict.TLE, 2.0, ended=False)], False),
        ([result(Verdict.AC, 1.9), result(Verdict.WA, 0.1)], False),
    ],
)
def test_a_verdict_is_near_the_limit_if_a_little_more_or_less_time_changes_it(
    tests: list[TestResult], near: bool
) -> None:
    judged = judgement(*tests)
    assert judged.near_limit is near
    assert judged.to_json()["near_limit"] is near
    assert Judgement.from_json(judged.to_json()) == judged


BUSY = """
#include <cstdio>
#include <ctime>
int main() { while (clock() < SECONDS * CLOCKS_PER_SEC); std::puts("14"); }
"""


@pytest.mark.parametrize(("seconds", "near"), [("1.02", True), ("1.6", False)])
def test_a_program_that_hardly_exceeds_the_limit_is_near_it(grade: Grade, seconds: str, near: bool) -> None:
    judged = grade(BUSY.replace("SECONDS", seconds), "cpp", limits=Limits(1.0, 2**27))
    assert (judged.verdict, judged.near_limit) == (Verdict.TLE, near)
