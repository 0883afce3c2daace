"""Monotone regression: known pools, order and means."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.metrics import monotone


def test_neighbours_in_the_wrong_order_are_pooled_by_weight():
    assert monotone([0.1, 0.4, 0.2, 0.6], [1, 1, 3, 1]) == pytest.approx([0.1, 0.25, 0.25, 0.6])
    assert monotone([0.9, 0.5, 0.1], [1, 1, 1]) == pytest.approx([0.5, 0.5, 0.5])
    assert monotone([], []) == []


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(1, 9)), min_size=1, max_size=9))
def test_the_line_never_falls_and_keeps_the_weighted_mean(pairs: list[tuple[float, int]]):
    values, weights = [value for value, _ in pairs], [float(weight) for _, weight in pairs]
    line = monotone(values, weights)
    assert all(one <= other + 1e-9 for one, other in pairwise(line))
    means = [sum(a * b for a, b in zip(one, weights, strict=True)) for one in (values, line)]
    assert means[0] == pytest.approx(means[1])


def test_weights_must_be_positive():
    with pytest.raises(ValueError, match="positive weight"):
        monotone([1.0], [0.0])
