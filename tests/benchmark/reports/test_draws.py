"""The standard error between epochs."""

from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.reports.draws import between_epochs, epoch_standard_error, replay_note
from benchmark.reports.figures import measure
from benchmark.reports.groups import ChainOutcome, ScoreRules
from tests.benchmark.reports.conftest import MakeRun


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ([], None),
        ([0.5], None),
        ([0.25, 0.25], 0.0),
        ([0.0, 1.0], 0.5),  # s² = 1/2, over 2
        ([0.1, 0.2, 0.4], sqrt(0.07 / 3 / 3)),  # mean 7/30, squares 0.14/3 together
    ],
)
def test_the_standard_error_between_epochs_is_that_of_their_mean(
    values: list[float], error: float | None
) -> None:
    found = epoch_standard_error(values)
    assert found == (None if error is None else pytest.approx(error))


@given(st.lists(st.floats(0, 1), min_size=2, max_size=30), st.floats(-1, 1))
def test_it_does_not_depend_on_order_or_level_and_is_at_most_that_of_opposites(
    values: list[float], shift: float
) -> None:
    error = epoch_standard_error(values)
    assert error is not None
    assert epoch_standard_error(sorted(values)) == pytest.approx(error, abs=1e-9)
    assert epoch_standard_error([value + shift for value in values]) == pytest.approx(error, abs=1e-9)
    assert 0 <= error <= 0.5 / sqrt(len(values) - 1) + 1e-9


def test_epochs_are_compared_on_the_problems_that_are_finished_in_all_of_them(make_run: MakeRun) -> None:
    chains = [["AC", "WA", "AC", "AC"], ["WA", "WA", "WA", "AC"], ["AC", "AC", "AC", "fault"]]
    run = make_run([("bronze", verdicts) for verdicts in chains], epochs=2)
    once, twice = measure(run, [1, 2]).between_epochs
    assert once.problems == 3
    assert list(once.values) == pytest.approx([(0.5 + 0 + 1) / 3, 2.5 / 3])
    assert (twice.problems, twice.values) == (2, (0.5, 1.0)), "the third problem has one attempt in epoch 2"
    assert measure(run, [3]).between_epochs == (), "an epoch has two attempts"
    assert measure(make_run([("bronze", ["AC", "WA"])])).between_epochs == ()


def outcomes(*accepted_at: int | None) -> dict[int, ChainOutcome]:
    """Return refine chains, each with the number of its accepted attempt."""
    return {
        chain: ChainOutcome(place is not None, 0.0, True, accepted_at=place)
        for chain, place in enumerate(accepted_at)
    }


def test_epochs_of_a_refine_run_are_compared_by_refine_at_k(make_run: MakeRun) -> None:
    run = make_run([("bronze", ["AC", "AC"])], epochs=2)
    rules = ScoreRules("refine", (1, 2, 3), 2, "wrong")
    found = between_epochs(run, rules, {1: outcomes(1, 3), 2: outcomes(2, None)})
    assert [(one.k, one.values) for one in found] == [(1, (0.5, 0.0)), (2, (1.0, 0.0)), (3, (1.0, 0.5))]


@pytest.mark.parametrize(
    ("failures", "problems", "values"), [("wrong", 2, (0.5, 0.5)), ("excluded", 1, (1.0, 1.0))]
)
def test_a_permanent_failure_counts_between_epochs_as_in_the_headline(
    make_run: MakeRun, failures: str, problems: int, values: tuple[float, ...]
) -> None:
    run = make_run([("bronze", ["AC", "AC"])], epochs=2)
    rejected = {
        1: outcomes(1, 1),
        2: {0: ChainOutcome(False, 0.0, True, permanent=True), 1: ChainOutcome(False, 0.0, True)},
    }
    (found,) = between_epochs(run, ScoreRules("pass", (1,), 2, failures), rejected)
    assert (found.problems, found.values) == (problems, values)


def test_the_replay_note_states_the_number_of_repeated_replies() -> None:
    assert replay_note(0, 5) == ""
    assert replay_note(5, 5).startswith("Replay: all 5 replies repeat stored ones.")
    assert replay_note(2, 5).startswith("2 of 5 replies repeat stored ones.")
