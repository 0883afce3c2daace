"""n@k with ties compared with all tie-breaks, and minimized failing inputs."""

from itertools import combinations, pairwise, permutations
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.oracles.minimizing import minimize
from benchmark.oracles.ranking import by_majority, n_at_k

CANDIDATES = st.lists(st.tuples(st.integers(0, 2), st.booleans()), min_size=1, max_size=6)


@pytest.mark.slow
@given(CANDIDATES, st.data())
def test_n_at_k_is_the_mean_over_all_orders_that_keep_the_scores(candidates, data) -> None:
    n = data.draw(st.integers(1, len(candidates)))
    orders = [
        order
        for order in permutations(candidates)
        if all(before[0] >= after[0] for before, after in pairwise(order))
    ]
    expected = mean(any(solved for _, solved in order[:n]) for order in orders)
    assert n_at_k(candidates, n) == pytest.approx(expected)


@given(st.lists(st.booleans(), min_size=1, max_size=7), st.data())
def test_without_a_ranking_it_is_pass_at_n(solved, data) -> None:
    n = data.draw(st.integers(1, len(solved)))
    expected = mean(any(chosen) for chosen in combinations(solved, n))
    assert n_at_k([(0, one) for one in solved], n) == pytest.approx(expected)


@pytest.mark.parametrize("n", [0, 3])
def test_more_than_there_are_cannot_be_submitted(n) -> None:
    with pytest.raises(ValueError, match="is not defined"):
        n_at_k([(1, True), (0, False)], n)


def test_equal_answers_vote_for_each_other() -> None:
    assert by_majority(["a", "b", "a", "c"]) == [2, 1, 2, 1]


@pytest.mark.parametrize(
    ("failing", "values", "fails", "smallest"),
    [
        ("[4,7,9,3,9,1]\n12\n", True, lambda text: "9" in text.partition("\n")[0], "[9]\n0\n"),
        ('["are","amy","u"]\n', True, lambda text: "y" in text, '["y"]\n'),
        ("5\n4 -70 12 3 1\n", False, lambda text: "-" in text, "-1\n"),
        ("3 4\n", False, lambda text: text == "3 4\n", "3 4\n"),
    ],
)
def test_what_can_be_left_out_is_left_out(failing, values, fails, smallest) -> None:
    rounds = []

    def tried(inputs: list[str]) -> list[bool]:
        rounds.append(inputs)
        return [fails(text) for text in inputs]

    assert minimize(failing, tried, values=values) == smallest
    assert len(rounds) <= 12
    assert all(len(inputs) <= 40 for inputs in rounds)
