"""Intervals over few problems: published numbers, other formulations, and the properties of any interval."""

from fractions import Fraction
from math import comb, inf, sqrt
from statistics import fmean, stdev

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.metrics import (
    Range,
    cluster_bootstrap,
    mean_interval,
    paired_difference,
    paired_proportions,
    problem_t,
    rate_interval,
    ratio_set,
    sign_e_value,
    wilson,
)

counts = st.integers(0, 25)
tables = st.tuples(counts, counts, counts, counts).filter(any)
shares = st.floats(0, 1).map(lambda share: round(share, 3))


@pytest.mark.parametrize(
    ("table", "low", "high"),
    [
        # Fagerland, Lydersen and Laake 2014, "Recommended tests and confidence intervals for paired binomial
        # proportions", Statistics in Medicine 33: the data of Bentur et al. 2009 and of Cavo et al. 2012.
        ((1, 1, 7, 12), -0.507, -0.026),
        ((59, 6, 16, 80), -0.1186, -0.0046),
    ],
)
def test_newcombes_interval_gives_the_published_bounds(
    table: tuple[int, int, int, int], low: float, high: float
) -> None:
    assert paired_proportions(*table) == pytest.approx((low, high), abs=6e-4 if low < -0.5 else 6e-5)


@given(tables)
def test_newcombes_interval_equals_its_closed_form(table: tuple[int, int, int, int]) -> None:
    """Written out from the paper: Wilson's bounds as roots of a quadratic, φ from the margins."""
    e, f, g, h = table
    n = e + f + g + h
    z = 1.959963984540054
    p, q = (e + f) / n, (e + g) / n

    def roots(share: float) -> tuple[float, float]:
        middle, reach = 2 * n * share + z**2, z * sqrt(z**2 + 4 * n * share * (1 - share))
        return (middle - reach) / (2 * (n + z**2)), (middle + reach) / (2 * (n + z**2))

    (l1, u1), (l2, u2) = roots(p), roots(q)
    product = (e + f) * (g + h) * (e + g) * (f + h)
    numerator = e * h - f * g
    if numerator > n / 2:
        phi = (numerator - n / 2) / sqrt(product)
    elif numerator >= 0:
        phi = 0.0
    else:
        phi = numerator / sqrt(product)
    below = sqrt((p - l1) ** 2 - 2 * phi * (p - l1) * (u2 - q) + (u2 - q) ** 2)
    above = sqrt((u1 - p) ** 2 - 2 * phi * (u1 - p) * (q - l2) + (q - l2) ** 2)
    assert paired_proportions(*table) == pytest.approx((p - q - below, p - q + above), abs=1e-9)


@given(tables)
def test_newcombes_interval_holds_the_difference_and_turns_with_the_arms(
    table: tuple[int, int, int, int],
) -> None:
    both, only_first, only_second, neither = table
    low, high = paired_proportions(*table)
    assert -1 <= low <= (only_first - only_second) / sum(table) <= high <= 1
    assert high > low
    turned = paired_proportions(both, only_second, only_first, neither)
    assert turned == pytest.approx((-high, -low), abs=1e-12)


def test_no_pairs_have_no_interval() -> None:
    with pytest.raises(ValueError, match="at least one problem"):
        paired_proportions(0, 0, 0, 0)
    with pytest.raises(ValueError, match="at least one problem"):
        problem_t([])
    with pytest.raises(ValueError, match="at least one problem"):
        ratio_set([], [])


@pytest.mark.slow
@given(st.lists(shares, min_size=2, max_size=70))
def test_t_on_problem_means_is_scipys(values: list[float]) -> None:
    from scipy import stats

    interval, method = problem_t(values)
    assert 0 <= interval.low <= fmean(values) + 1e-12
    assert fmean(values) - 1e-12 <= interval.high <= 1
    if len(set(values)) == 1:
        width = 1 - 0.05 ** (1 / len(values))
        bounds = max(values[0] - width, 0), min(values[0] + width, 1)
        assert method == "bound"
        assert interval == pytest.approx(bounds)
    else:
        low, high = stats.t.interval(0.95, len(values) - 1, fmean(values), stats.sem(values))
        assert method == "t"
        assert interval == pytest.approx((max(low, 0), min(high, 1)))


def test_over_clusters_each_problem_weighs_the_same_and_clusters_are_the_degrees_of_freedom() -> None:
    values, contests = [1.0, 1.0, 0.0, 0.0, 0.5, 1.0], ["a", "a", "b", "b", "b", "c"]
    totals = [2 - 2 * 7 / 12, 0.5 - 3 * 7 / 12, 1 - 7 / 12]
    error = sqrt(sum(one**2 for one in totals) * 3 / 2) / 6
    interval, method = problem_t(values, contests, lowest=-1)
    assert method == "t"
    assert interval == pytest.approx((max(3.5 / 6 - 4.302653 * error, -1), 1.0), abs=1e-6)
    alone = problem_t(values, list(range(6)))
    assert alone.interval == pytest.approx(problem_t(values).interval)
    assert problem_t([1, 0, 1, 0], ["a", "a", "b", "b"]).method == "bound", "the contests show no spread"
    assert stdev(values) > 0


@given(st.integers(1, 400))
def test_the_bound_leaves_five_percent_to_a_larger_share_of_problems(problems: int) -> None:
    [low, high], method = problem_t([0.0] * problems)
    assert (method, low) == ("bound", 0)
    assert (1 - high) ** problems == pytest.approx(0.05)


def test_sixty_problems_are_enough_for_the_bootstrap_unless_they_came_out_alike() -> None:
    few, many = [1.0, 0.5] + [0.0] * 57, [1.0, 0.5] + [0.0] * 58
    assert mean_interval(few) == problem_t(few)
    assert mean_interval(many) == (cluster_bootstrap(many), "bootstrap")
    assert mean_interval([0.0] * 60).method == "bound"
    contests = [number % 8 for number in range(60)]
    assert mean_interval(many, contests) == problem_t(many, contests), "eight contests are few"
    assert rate_interval([1.0, 0.0, 1.0], single=True) == (wilson(2, 3), "wilson")
    assert rate_interval([1.0, 0.0, 1.0], single=False).method == "t"


def test_pairs_of_single_outcomes_have_newcombes_interval_and_all_others_t() -> None:
    first, second = [1.0, 1.0, 0.0, 1.0], [0.0, 1.0, 0.0, 0.0]
    single = paired_difference(first, second, binary=True)
    assert (single.interval, single.method) == (paired_proportions(1, 2, 0, 1), "newcombe")
    several = paired_difference(first, second)
    assert (several.interval, several.method) == problem_t([1.0, 0.0, 0.0, 1.0], lowest=-1)
    assert paired_difference([1.0] * 4, [1.0] * 4, binary=True).method == "bound"
    assert paired_difference(first * 15, second * 15, binary=True).method == "bootstrap"


def test_the_set_of_a_ratio_is_fiellers_in_a_worked_example() -> None:
    """By hand: means 0.6 and 0.4, variances 0.04 and 0.02, covariance 0.01 over 4 problems, t = 3.182446."""
    first, second = [0.4, 0.6, 0.8, 0.6], [0.3, 0.5, 0.5, 0.3]
    found = ratio_set(first, second)
    factor = 3.182446**2 / 4
    (v1, cov), (_, v2) = np.cov(first, second)
    a, b, c = 0.16 - factor * v2, 0.24 - factor * cov, 0.36 - factor * v1
    roots = [(b - sqrt(b * b - a * c)) / a, (b + sqrt(b * b - a * c)) / a]
    assert found.ratio == pytest.approx(1.5)
    assert [end for ends in found.ranges for end in ends] == pytest.approx(roots, rel=1e-5)


@pytest.mark.slow
@given(st.lists(st.tuples(shares, shares), min_size=3, max_size=12), st.floats(-5, 5))
def test_a_ratio_is_in_the_set_where_the_t_test_does_not_reject_it(
    pairs: list[tuple[float, float]], ratio: float
) -> None:
    from scipy import stats

    first, second = [list(column) for column in zip(*pairs, strict=True)]
    found = ratio_set(first, second)
    if found.ratio is not None:
        assert _holds(found.ranges, found.ratio)
    differences = [one - ratio * other for one, other in pairs]
    at_the_ratio = [one - (found.ratio or 0) * other for one, other in pairs]
    if found.ratio is None or np.var(at_the_ratio) < 1e-9 or np.var(differences) < 1e-9:
        return
    p = float(stats.ttest_1samp(differences, 0).pvalue)
    if abs(p - 0.05) > 1e-4:
        assert _holds(found.ranges, ratio) == (p > 0.05)


def _holds(ranges: tuple[Range, ...], ratio: float) -> bool:
    ends = [(-inf if one.low is None else one.low, inf if one.high is None else one.high) for one in ranges]
    return any(low - 1e-9 <= ratio <= high + 1e-9 for low, high in ends)


def test_sets_without_an_end_are_shown_as_such() -> None:
    every = (Range(None, None),)
    assert ratio_set([0.2, 0.9], [0.0, 0.0]) == ratio_set([0.2], [0.0])
    assert ratio_set([0.2, 0.9], [0.0, 0.0]).ranges == ratio_set([0.5], [0.5]).ranges == every
    assert ratio_set([0.2, 0.9], [0.0, 0.0]).ratio is None
    assert ratio_set([0.0, 1.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0]).ranges == every
    two = ratio_set([0.9, 0.8, 1.0, 0.9, 0.95], [0.1, -0.1, 0.2, 0.0, -0.1]).ranges
    assert [(one.low is None, one.high is None) for one in two] == [(True, False), (False, True)]
    exact = ratio_set([0.2, 0.4, 0.6], [0.4, 0.8, 1.2])
    width = (1 - 0.05 ** (1 / 3)) / 0.8
    assert [*exact.ranges[0]] == pytest.approx([0.5 - width, 0.5 + width]), "no set of no width"


@given(st.integers(0, 40), st.integers(0, 40))
def test_the_e_value_is_the_mixture_over_all_coins(first: int, second: int) -> None:
    """∫ q^x (1 - q)^(n - x) dq = x! (n - x)! / (n + 1)!, against 2^-n."""
    n = first + second
    assert sign_e_value(first, second) == pytest.approx(float(Fraction(2**n, (n + 1) * comb(n, first))))


@given(st.integers(1, 60))
def test_a_fair_coin_expects_an_e_value_of_one(pairs: int) -> None:
    expected = sum(comb(pairs, x) * sign_e_value(x, pairs - x) for x in range(pairs + 1)) / 2**pairs
    assert expected == pytest.approx(1)
    assert sign_e_value(5_000, 0) == inf
