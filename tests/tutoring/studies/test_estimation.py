"""Contrasts of arms and sequences of sign e-values."""

from __future__ import annotations

import pytest

from benchmark.metrics import paired_proportions, problem_t
from tutoring.studies.estimation import (
    StartedProblem,
    arm_rate,
    contrast,
    e_value,
    settled_problems,
    sign_differences,
    with_holm,
)

ARMS = ("tutor", "neutral")


def outcomes(*values: list[float]) -> dict[str, list[float]]:
    return {f"p{number}": list(one) for number, one in enumerate(values)}


def test_single_pairs_have_newcombes_interval_and_mcnemars_test():
    first = outcomes(*[[1.0]] * 9, [0.0])
    second = outcomes(*[[1.0]] * 2, *[[0.0]] * 8)
    found = contrast(ARMS, first, second)
    assert found is not None
    assert (found.low, found.high) == pytest.approx(tuple(paired_proportions(2, 7, 0, 1)))
    assert (found.method, found.problems, found.first_sessions) == ("newcombe", 10, 10)
    assert found.difference == pytest.approx(0.7)
    assert found.p == pytest.approx(2 / 2**7)


def test_single_pairs_have_newcombes_interval_also_for_many_problems():
    found = contrast(ARMS, outcomes(*[[1.0]] * 50, *[[0.0]] * 30), outcomes(*[[0.0]] * 80))
    assert found is not None
    assert found.method == "newcombe"


def test_several_sessions_a_cell_have_t_on_problem_means():
    first = outcomes([1.0, 0.0], [1.0, 1.0], [0.0, 0.0])
    second = outcomes([0.0], [1.0], [0.0, 1.0, 0.0])
    found = contrast(ARMS, first, second)
    assert found is not None
    interval, method = problem_t([0.5, 0.0, -1 / 3], lowest=-1)
    assert (found.low, found.high, found.method) == pytest.approx((*interval, method))
    assert found.p is None, "fewer than six problems are not tested"


def test_equal_differences_have_the_bound():
    found = contrast(ARMS, outcomes(*[[1.0]] * 6), outcomes(*[[0.0]] * 6))
    assert found is not None
    assert found.method == "bound"
    assert found.low < 1


def test_only_common_problems_count():
    found = contrast(ARMS, {"a": [1.0], "b": [1.0], "c": []}, {"a": [0.0], "c": [1.0]})
    assert found is not None
    assert found.problems == 1
    assert contrast(ARMS, {"a": [1.0]}, {"b": [1.0]}) is None


def test_holm_counts_the_tested_contrasts():
    one = contrast(ARMS, outcomes(*[[1.0]] * 8), outcomes(*[[0.0]] * 8))
    untested = contrast(ARMS, {"a": [1.0]}, {"a": [0.0]})
    assert one is not None
    assert untested is not None
    found = with_holm([one, untested, one])
    assert found[1].holm is None
    assert found[0].holm == pytest.approx(2 * (one.p or 0))


def test_the_rate_of_an_arm_is_over_problems():
    found = arm_rate("tutor", outcomes([1.0, 1.0, 1.0], [0.0]))
    assert (found.rate, found.sessions, found.problems, found.method) == (0.5, 4, 2, "t")
    assert arm_rate("tutor", {}).rate is None


def test_pairs_count_in_the_order_of_opening_up_to_the_first_that_waits():
    started = [
        StartedProblem(3.0, "c", waits=True),
        StartedProblem(4.0, "a", waits=False),
        StartedProblem(1.0, "d", waits=False),
        StartedProblem(1.0, "b", waits=False),
    ]
    assert settled_problems(started) == ["b", "d"]


def test_signs_compare_equally_many_sessions_of_both_arms():
    tutors = outcomes([1.0], [0.0], [1.0, 0.0])
    chains = outcomes([1.0, 0.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0])
    assert sign_differences(tutors, chains, ["p0", "p1", "p2"]) == [0.0, 0.0, 0.5]


def test_the_e_value_counts_only_pairs_that_differ():
    found = e_value([1, 0, 1, 1, 0.5, 1, 1, 1, 1], threshold=20)
    assert (found.for_first, found.for_second, found.ties) == (8, 0, 1)
    assert found.value == pytest.approx(2**8 / 9)
    assert found.reached_at == 9
    assert e_value([1] * 7, threshold=20).reached_at is None
    assert e_value([1] * 8 + [-1] * 8, threshold=20).reached_at == 8
