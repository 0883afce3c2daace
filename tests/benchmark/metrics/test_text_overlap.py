"""Overlap of texts: properties of the measures, and the plain definitions beside the fast ones."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.metrics import Interval, independent_difference
from benchmark.metrics.text_overlap import MEASURES, containment, rouge_l, substring, words

TEXTS = st.lists(st.sampled_from("abcd"), max_size=14)


def common_subsequence(one: list[str], other: list[str]) -> int:
    @cache
    def longest(i: int, j: int) -> int:
        if i == len(one) or j == len(other):
            return 0
        if one[i] == other[j]:
            return 1 + longest(i + 1, j + 1)
        return max(longest(i + 1, j), longest(i, j + 1))

    return longest(0, 0)


def common_run(one: list[str], other: list[str]) -> int:
    runs = [one[i:j] for i in range(len(one)) for j in range(i + 1, len(one) + 1)]
    held = {tuple(other[i:j]) for i in range(len(other)) for j in range(i + 1, len(other) + 1)}
    return max((len(run) for run in runs if tuple(run) in held), default=0)


@given(TEXTS, TEXTS)
def test_the_fast_measures_are_the_definitions(one: list[str], other: list[str]) -> None:
    length = max(len(other), 1)
    assert rouge_l(one, other) == common_subsequence(one, other) / length
    assert substring(one, other) == common_run(one, other) / length
    assert substring(one, other) <= rouge_l(one, other)


@pytest.mark.slow
@pytest.mark.parametrize("name", MEASURES)
@given(text=TEXTS, other=TEXTS, more=TEXTS)
def test_a_measure_is_a_share_that_grows_with_the_text(
    name: str, text: list[str], other: list[str], more: list[str]
) -> None:
    measure = MEASURES[name]
    assert 0 <= measure(text, other) <= measure(text + more, other) <= 1
    assert measure([*more, *other, *text], other) == (1 if other else 0)
    assert measure([], other) == 0
    assert measure(["x"] * 20, other) == 0


def test_containment_counts_distinct_grams_of_five_words() -> None:
    rest = words("The cows walk along the road, and the COWS sing.")
    assert rest == ["the", "cows", "walk", "along", "the", "road", "and", "the", "cows", "sing"]
    assert containment(words("cows walk along the road and home"), rest) == pytest.approx(2 / 6)
    assert containment(words("he said yes and no"), words("yes and no")) == 1
    assert containment(words("yes no"), words("yes and no")) == 0


def test_words_are_normalized() -> None:
    assert words("Ｎ ≤ 10⁵, Straße—x_1") == words("n 105 STRASSE x_1")


def test_the_interval_of_an_independent_difference_contains_it_and_shrinks() -> None:
    wide = independent_difference(0.8, Interval(0.6, 0.9), 0.1, Interval(0.0, 0.3))
    assert wide.low < 0.7 < wide.high
    assert wide == pytest.approx((0.7 - (0.2**2 + 0.2**2) ** 0.5, 0.7 + (0.1**2 + 0.1**2) ** 0.5))
    exact = independent_difference(0.8, Interval(0.8, 0.8), 0.1, Interval(0.1, 0.1))
    assert exact == pytest.approx((0.7, 0.7))
