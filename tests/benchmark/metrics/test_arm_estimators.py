"""Estimators of the figures of arms: paired contrasts of any size, and equivalent samples."""

import pytest

from benchmark.metrics import (
    Range,
    equivalent_samples,
    mcnemar,
    mean_pass_at_k,
    paired_contrast,
    paired_proportions,
    problem_t,
    problem_t_test,
)


def test_binary_pairs_have_newcombes_interval_at_any_size() -> None:
    first, second = [1.0] * 50 + [0.0] * 30, [1.0] * 30 + [0.0] * 50
    found = paired_contrast(first, second, binary=True)
    assert (found.difference.method, found.difference.mean) == ("newcombe", 0.25)
    assert found.difference.interval == paired_proportions(30, 20, 0, 30)
    assert found.p == mcnemar(20, 0)


def test_other_values_have_t_and_equal_differences_a_bound() -> None:
    first, second = [1.0, 0.5, 0.75, 1.0], [0.5, 0.5, 0.25, 0.0]
    differences = [0.5, 0.0, 0.5, 1.0]
    found = paired_contrast(first, second)
    assert found.difference.interval == problem_t(differences, lowest=-1).interval
    assert found.p == problem_t_test(differences)
    assert paired_contrast([1.0] * 4, [1.0] * 4, binary=True).difference.method == "bound"
    with pytest.raises(ValueError, match="at least one common problem"):
        paired_contrast([], [])


def test_equivalent_samples_are_the_numbers_that_the_t_test_does_not_reject() -> None:
    rates = [1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0]
    samples = [(10, 1), (10, 0), (12, 3), (10, 2), (11, 1), (10, 5), (10, 0), (10, 1)]
    found = equivalent_samples(rates, samples)
    assert found.most == 10
    expected = []
    for n in range(1, 11):
        differences = [mean_pass_at_k([one], n) - rate for one, rate in zip(samples, rates, strict=True)]
        low, high = problem_t(differences, lowest=-1).interval
        if low <= 0 <= high:
            expected.append(n)
    assert list(found.accepted) == expected
    assert found.least == next(n for n in range(1, 11) if mean_pass_at_k(samples, n) >= 5 / 8)
    assert found.ranges[-1].high is None


def test_sets_at_the_ends_are_open_or_empty() -> None:
    never = equivalent_samples([1.0] * 20, [(5, 0)] * 20)
    assert (never.least, never.accepted, never.ranges) == (None, (), (Range(6, None),))
    at_once = equivalent_samples([0.0] * 20, [(5, 5)] * 20)
    assert (at_once.least, at_once.accepted, at_once.ranges) == (1, (), ())
    alike = equivalent_samples([1.0] * 20, [(5, 5)] * 20)
    assert (alike.accepted, alike.ranges) == ((1, 2, 3, 4, 5), (Range(1, None),))
    with pytest.raises(ValueError, match="at least one sample"):
        equivalent_samples([1.0], [(0, 0)])
    with pytest.raises(ValueError, match="at least one problem"):
        equivalent_samples([], [])
