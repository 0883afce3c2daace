"""Intervals: published vectors and properties of every interval of a proportion."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.metrics import cluster_bootstrap, wilson

VECTORS = [
    (0, 10, 0.0, 0.2775327998628892),
    (1, 10, 0.017876213095072896, 0.4041500267952385),
    (5, 10, 0.236593090512564, 0.7634069094874361),
    (10, 10, 0.7224672001371107, 1.0),
    (27, 307, 0.06114617122564093, 0.12493408666576025),
    (62, 307, 0.16085678094385947, 0.2504186625111856),
    (34, 118, 0.21412142325786593, 0.37550922887030963),
]


@pytest.mark.parametrize(("solved", "problems", "low", "high"), VECTORS)
def test_wilson_gives_the_known_bounds(solved: int, problems: int, low: float, high: float) -> None:
    assert wilson(solved, problems) == pytest.approx((low, high), abs=1e-12)


def test_every_shared_vector(shared_data: Path) -> None:
    vectors = json.loads((shared_data.parent / "research" / "stats_vectors.json").read_text())
    for solved, problems, _, low, high in vectors["wilson95"]:
        assert wilson(solved, problems) == pytest.approx((low, high), abs=1e-12)
    low, high = vectors["bootstrap percentile95 of 3/10, default_rng(307), B=10000, integers(0,10,(B,10))"][
        :2
    ]
    assert cluster_bootstrap([1, 1, 1] + [0] * 7) == pytest.approx((low, high), abs=1e-12)
    low, high = vectors["bootstrap 27/307"]
    assert cluster_bootstrap([1] * 27 + [0] * 280) == pytest.approx((low, high), abs=1e-12)


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_holds_the_estimate_and_stays_a_proportion(counts: tuple[int, int]) -> None:
    solved, problems = counts
    low, high = wilson(solved, problems)
    assert 0 <= low <= solved / problems <= high <= 1
    mirrored = wilson(problems - solved, problems)
    assert (low, high) == pytest.approx((1 - mirrored.high, 1 - mirrored.low))


def test_the_bootstrap_is_the_same_each_time_and_known_for_three_of_ten() -> None:
    values = [1.0] * 3 + [0.0] * 7
    assert cluster_bootstrap(values) == cluster_bootstrap(values) == pytest.approx((0.0, 0.6))
    assert cluster_bootstrap([1] * 27 + [0] * 280) == pytest.approx(
        (0.05863192182410423, 0.12052117263843648)
    )


def test_like_attempts_of_one_problem_do_not_narrow_the_interval() -> None:
    once = cluster_bootstrap([1.0, 0.0, 0.0, 1.0])
    as_if_independent = cluster_bootstrap([1.0, 0.0, 0.0, 1.0] * 8)
    assert once.high - once.low > 2 * (as_if_independent.high - as_if_independent.low)


def test_the_bootstrap_resamples_whole_contests() -> None:
    """Problems of a contest with equal outcomes give as much information as one problem."""
    values = [1.0] * 5 + [0.0] * 5
    contests = ["a"] * 5 + ["b"] * 5
    assert cluster_bootstrap(values, contests) == (0.0, 1.0)
    alone = cluster_bootstrap(values, list(range(10)))
    assert alone == pytest.approx(cluster_bootstrap(values))
    uneven = cluster_bootstrap([1.0, 0.0, 0.0, 0.0], ["a", "b", "b", "b"])
    assert uneven == (0.0, 1.0)
    with pytest.raises(ValueError, match="4 values need as many clusters, not 1"):
        cluster_bootstrap([1, 0, 0, 1], ["a"])


def test_no_problems_have_no_interval() -> None:
    with pytest.raises(ValueError, match="at least one problem"):
        wilson(0, 0)
    with pytest.raises(ValueError, match="at least one problem"):
        cluster_bootstrap([])
