"""The figures of a kill matrix: rates, survivors, kill curve and minimal suite."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.suites import KillMatrix, TriedProgram
from judge import Verdict


def program(kills: set[int], tests: int, *, right: bool = False) -> TriedProgram:
    verdicts = tuple(Verdict.WA if test in kills else Verdict.AC for test in range(tests))
    return TriedProgram(f"{sorted(kills)}", "python", right, (), verdicts)


def matrix(tests: int, wrong: list[set[int]], right: list[set[int]] | None = None) -> KillMatrix:
    programs = [program(kills, tests) for kills in wrong]
    programs += [program(kills, tests, right=True) for kills in right or []]
    return KillMatrix(tuple(f"test-{test}" for test in range(tests)), tuple(programs))


def test_rates_survivors_and_refused_programs():
    found = matrix(3, [{0}, {1, 2}, set()], [set(), set(), {2}])
    positive, negative = found.true_positive_rate, found.true_negative_rate
    assert positive is not None
    assert negative is not None
    assert (positive.count, positive.total, negative.count, negative.total) == (2, 3, 2, 3)
    assert positive.interval.low == pytest.approx(0.2077, abs=1e-4), "Wilson's for 2 of 3"
    assert [one.name for one in found.survivors] == ["[]"]
    assert [one.name for one in found.refused] == ["[2]"]
    assert matrix(3, []).true_negative_rate is None
    assert matrix(3, []).kill_curve() == []


@pytest.mark.slow
@given(
    st.integers(1, 6).flatmap(
        lambda n: st.lists(st.sets(st.integers(0, n - 1)), min_size=1, max_size=5).map(lambda w: (n, w))
    )
)
def test_the_curve_is_the_mean_over_all_subsets_and_the_minimal_suite_kills_what_can_be_killed(
    case: tuple[int, list[set[int]]],
):
    tests, wrong = case
    found = matrix(tests, wrong)
    for size, value in enumerate(found.kill_curve(), 1):
        subsets = list(combinations(range(tests), size))
        killed = sum(bool(kills & set(subset)) for subset in subsets for kills in wrong)
        assert value == pytest.approx(killed / len(subsets) / len(wrong))
    chosen = set(found.minimal_suite())
    assert all(bool(kills) == bool(kills & chosen) for kills in wrong)
    assert len(chosen) <= len(wrong)
