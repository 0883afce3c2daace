"""Paired comparisons: published vectors, brute force, and the properties of corrections."""

import json
from math import comb, sqrt
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.metrics import (
    holm,
    mcnemar,
    overlap,
    paired_difference,
    problems_needed,
    standard_error,
    visible_difference,
)


@pytest.fixture(scope="module")
def vectors(shared_data: Path) -> dict[str, Any]:
    return dict(json.loads((shared_data.parent / "research" / "stats_vectors.json").read_text()))


def test_every_shared_vector_of_pairs(vectors: dict[str, Any]) -> None:
    for only_first, only_second, expected in vectors["mcnemar exact two-sided"]:
        assert mcnemar(only_first, only_second) == pytest.approx(expected, rel=1e-12)
    first, second = ([int(digit) for digit in digits] for digits in ("1100101001", "1000100010"))
    difference, _, error, _, only_first, only_second, _, p, *_ = vectors["paired diff A-B"]
    found = paired_difference(first, second)
    assert (found.mean, found.standard_error) == pytest.approx((difference, error))
    discordant = [(a > b) - (a < b) for a, b in zip(first, second, strict=True)]
    assert (discordant.count(1), discordant.count(-1)) == (only_first, only_second)
    assert mcnemar(only_first, only_second) == p
    clustered, _, plain = vectors["clustered se CR0"]
    values = [1, 1, 0, 1, 0, 0, 0, 1, 0, 0]
    assert standard_error(values, [0, 0, 0, 1, 1, 1, 2, 2, 3, 3]) == pytest.approx(clustered)
    assert standard_error(values) == pytest.approx(np.std(values) / sqrt(len(values)))
    assert np.std(values, ddof=1) / sqrt(len(values)) == pytest.approx(plain)


@pytest.mark.slow
@given(st.integers(0, 9), st.integers(0, 9))
def test_mcnemar_is_the_share_of_rows_of_coins_at_least_as_uneven(only_first: int, only_second: int) -> None:
    n = only_first + only_second
    as_uneven = sum(
        comb(n, heads) for heads in range(n + 1) if abs(2 * heads - n) >= abs(only_first - only_second)
    )
    assert mcnemar(only_first, only_second) == pytest.approx(as_uneven / 2**n)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_corrects_no_more_than_bonferroni_and_keeps_the_order(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    for p, corrected in zip(p_values, adjusted, strict=True):
        assert p <= corrected <= min(1.0, p * len(p_values))
    assert min(adjusted) == min(1.0, min(p_values) * len(p_values))
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    assert [adjusted[place] for place in order] == sorted(adjusted)


def test_holm_on_a_known_row() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


@pytest.mark.slow
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=12))
def test_a_paired_difference_is_the_difference_of_the_means_and_turns_its_sign(
    pairs: list[tuple[float, float]],
) -> None:
    first, second = [list(column) for column in zip(*pairs, strict=True)]
    forward, back = paired_difference(first, second), paired_difference(second, first)
    assert forward.mean == pytest.approx(fmean(first) - fmean(second), abs=1e-12)
    assert forward.interval == pytest.approx((-back.interval.high, -back.interval.low), abs=1e-9)


def test_nothing_in_common_has_no_difference() -> None:
    with pytest.raises(ValueError, match="at least one common problem"):
        paired_difference([], [])


@given(st.integers(20, 2000), st.floats(0.01, 1))
def test_the_visible_difference_needs_just_these_problems(problems: int, discordant: float) -> None:
    seen = visible_difference(problems, discordant)
    needed = problems_needed(seen, max(discordant, seen))
    assert needed is not None
    assert needed <= problems
    less = problems_needed(seen * 0.99, max(discordant, seen * 0.99))
    assert less is not None
    assert less >= needed


def test_power_at_the_size_of_the_usaco_benchmark() -> None:
    """8.70 and 10.26 on 307 problems, a tenth of them discordant: too few problems for a significant difference."""
    needed = problems_needed(0.0156, 0.1)
    assert needed is not None
    assert needed > 3000
    assert 0.045 < visible_difference(307, 0.1) < 0.055
    assert problems_needed(0.0, 0.1) is None


def test_overlap_is_of_the_first_set() -> None:
    assert overlap({1, 2, 3, 4}, {3, 4, 5}) == 0.5
    assert overlap({3, 4, 5}, {1, 2, 3, 4}) == pytest.approx(2 / 3)
    assert overlap(set(), {1}) is None
