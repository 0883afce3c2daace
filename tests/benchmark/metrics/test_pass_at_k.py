"""The unbiased pass@k: published vectors, brute force over subsets, invalid arguments."""

import json
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.metrics import TooFewAttemptsError, mean_pass_at_k, pass_at_k, share_at_k

VECTORS = [
    (1, 0, 1, "0"),
    (1, 1, 1, "1"),
    (5, 2, 1, "2/5"),
    (5, 2, 2, "7/10"),
    (5, 2, 3, "9/10"),
    (5, 2, 4, "1"),
    (10, 3, 5, "11/12"),
    (10, 0, 10, "0"),
    (20, 1, 10, "1/2"),
    (100, 7, 10, "6466807/12126940"),
    (200, 1, 100, "1/2"),
    (307, 26, 1, "26/307"),
    (1000, 1, 1000, "1"),
]


@pytest.mark.parametrize(("attempts", "solved", "k", "expected"), VECTORS)
def test_known_values_to_the_last_bit(attempts: int, solved: int, k: int, expected: str) -> None:
    assert pass_at_k(attempts, solved, k) == float(Fraction(expected))


def test_every_shared_vector(shared_data: Path) -> None:
    vectors = json.loads((shared_data.parent / "research" / "stats_vectors.json").read_text())["pass@k"]
    assert len(vectors) >= len(VECTORS)
    for attempts, solved, k, exact, decimal in vectors:
        assert pass_at_k(attempts, solved, k) == float(Fraction(exact)) == pytest.approx(decimal, abs=1e-15)


@given(st.data())
def test_equals_the_share_of_subsets_that_hold_a_solution(data: st.DataObject) -> None:
    outcomes = data.draw(st.lists(st.booleans(), min_size=1, max_size=9))
    k = data.draw(st.integers(1, len(outcomes)))
    subsets = list(combinations(outcomes, k))
    expected = Fraction(sum(any(subset) for subset in subsets), len(subsets))
    assert pass_at_k(len(outcomes), sum(outcomes), k) == float(expected)


def test_pass_at_k_differs_from_the_plug_in_estimate() -> None:
    assert pass_at_k(5, 2, 3) != pytest.approx(1 - (1 - 2 / 5) ** 3)


def test_more_draws_than_attempts_are_refused_with_both_numbers() -> None:
    with pytest.raises(
        TooFewAttemptsError, match=r"pass@10 needs at least 10 attempts per problem; there are 4"
    ):
        pass_at_k(4, 4, 10)


@pytest.mark.parametrize(("attempts", "solved", "k"), [(3, 4, 1), (3, -1, 1), (3, 1, 0)])
def test_impossible_counts_are_refused(attempts: int, solved: int, k: int) -> None:
    with pytest.raises(ValueError, match=r"impossible|not defined"):
        pass_at_k(attempts, solved, k)


def test_the_mean_is_over_problems_not_attempts() -> None:
    assert mean_pass_at_k([(1, 1), (9, 0)], 1) == 0.5
    with pytest.raises(ValueError, match="no problems"):
        mean_pass_at_k([], 1)


@pytest.mark.slow
@given(st.data())
def test_share_at_k_is_the_mean_of_the_best_over_all_subsets(data: st.DataObject) -> None:
    shares = data.draw(st.lists(st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]), min_size=1, max_size=8))
    k = data.draw(st.integers(1, len(shares)))
    subsets = list(combinations(shares, k))
    assert share_at_k(shares, k) == pytest.approx(sum(map(max, subsets)) / len(subsets))
    whole = [float(share == 1.0) for share in shares]
    assert share_at_k(whole, k) == pytest.approx(pass_at_k(len(whole), int(sum(whole)), k))


def test_share_at_k_refuses_what_pass_at_k_refuses() -> None:
    with pytest.raises(
        TooFewAttemptsError, match="tests@3 needs at least 3 attempts per problem; there are 2"
    ):
        share_at_k([0.5, 1.0], 3)
