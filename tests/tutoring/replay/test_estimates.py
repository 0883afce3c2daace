"""Estimators of replayed hints, on values computed by hand."""

from __future__ import annotations

import random

import pytest

from benchmark.metrics import problem_t, ratio_set
from tutoring.replay.estimates import (
    Arm,
    Fit,
    Placed,
    gain,
    history_gain,
    kind_gains,
    misfit_harm,
    portability,
    receptivity,
    uptake_profile,
)
from tutoring.replay.near_misses import Scored, auc, validity


def placed(problem: str, hint: float, neutral: float, fit: Fit | None = None, **kinds: str) -> Placed:
    rates: dict[Arm, float] = {"hint": hint, "neutral": neutral}
    return Placed(problem, rates, fit, kinds={name: frozenset({value}) for name, value in kinds.items()})


def test_a_gain_weighs_problems_equally():
    rows = [placed("a", 1, 0), placed("a", 0.5, 0.5), placed("b", 0.25, 0)]
    found = gain("gain", rows)
    assert found is not None
    assert (found.mean, found.problems, found.placements) == (0.375, 2, 3)
    assert found.interval is not None
    assert found.interval == problem_t([0.5, 0.25], lowest=-1)
    assert found.p is None, "fewer than six problems are not tested"


def test_a_single_problem_has_no_interval():
    found = gain("gain", [placed("a", 1, 0)])
    assert found is not None
    assert found.interval is None


def test_a_contrast_counts_only_placements_with_both_arms():
    rows = [Placed("a", {"hint": 1, "sham": 0.5}), Placed("b", {"hint": 1, "neutral": 0})]
    content = gain("content gain", rows)
    assert content is not None
    assert (content.mean, content.problems) == (0.5, 1)
    assert gain("verdict gain", rows) is None


def test_receptivity_is_the_share_of_failures_that_the_hint_removes():
    rows = [placed("a", 0.5, 0), placed("b", 1, 0.5), placed("c", 0.4, 0.2)]
    found = receptivity(rows)
    assert found is not None
    assert found.found == ratio_set([0.5, 0.5, 0.4 - 0.2], [1, 0.5, 0.8])
    assert found.found.ratio == pytest.approx(1.2 / 2.3)


def test_harm_is_measured_among_misfits_alone():
    rows = [placed("a", 0, 0.5, "other"), placed("b", 1, 0, "same"), placed("b", 0, 0.1, "near")]
    found = misfit_harm(rows)
    assert found is not None
    assert (found.name, found.mean, found.placements) == ("misfit harm", -0.5, 1)


def test_history_is_compared_on_common_problems_with_programs_that_fail_alike():
    own = [placed("a", 0.5, 0, "same"), placed("a", 0, 0, "other"), placed("b", 0.25, 0, "same")]
    found = history_gain([placed("a", 1, 0), placed("b", 0.5, 0.5), placed("c", 1, 0)], own)
    assert found is not None
    assert (found.mean, found.problems, found.placements) == (0.125, 2, 4)
    assert history_gain([placed("c", 1, 0)], own) is None


def test_portability_counts_same_signatures_and_labels_and_treats_unknown_as_no():
    rows = [
        placed("a", 0, 0, "same"),
        placed("a", 0, 0, "unknown"),
        Placed("b", {}, "near", applies="yes"),
        Placed("c", {}, "other", applies="no"),
        placed("d", 0, 0),
    ]
    found = portability(rows)
    assert found is not None
    assert (found.mean, found.placements, found.problems) == (0.5, 4, 3), "a transplant is not counted"


def test_kinds_are_compared_within_problems_with_holms_correction():
    rows = []
    for number in range(8):
        rows += [
            placed(f"p{number}", 0.5 + number / 100, 0, level="2"),
            placed(f"p{number}", 0.25, 0, level="3"),
        ]
    rows.append(placed("only level 3", 1, 0, level="3"))
    two, three = kind_gains(rows)
    assert (two.name, two.first, two.second, two.problems) == ("level", "2", "other levels", 8)
    assert two.mean == pytest.approx(-three.mean)
    assert two.p is not None
    assert two.adjusted == pytest.approx(2 * two.p)


def test_uptake_shares_sum_to_one():
    found = uptake_profile([("a", "solved"), ("a", "unchanged"), ("b", "worse"), ("b", "worse")])
    assert found["worse"].mean == 0.5
    assert found["solved"].mean == 0.25
    assert sum(one.mean for one in found.values()) == pytest.approx(1)
    assert uptake_profile([]) == {}


def test_auc_counts_ties_half():
    rows = [Scored("a", 0.2, 0, 1), Scored("b", 0.5, 1, 2), Scored("c", 0.9, 1, 1)]
    # Right: 0.5 and 0.9; wrong: 0.2 and 0.5. Of four pairs three are won and one is tied.
    assert auc(rows) == pytest.approx(3.5 / 4)
    assert auc([Scored("a", 0.2, 0, 3)]) is None


def test_a_score_that_predicts_beats_the_base_rate_on_problems_left_out():
    chance = random.Random(307)
    rows = []
    for problem in range(40):
        score = chance.random()
        rows.append(Scored(f"p{problem}", score, sum(chance.random() < score for _ in range(8)), 8))
    found = validity(rows)
    assert found is not None
    assert found.auc > 0.7
    assert found.auc_interval is not None
    assert found.auc_interval.low > 0.5
    assert found.brier < found.reference
    assert sum(band.draws for band in found.bands) == found.draws == 320
    assert all(abs(band.predicted - band.observed) < 0.2 for band in found.bands)


def test_a_score_without_information_is_not_taken_for_one():
    chance = random.Random(2026)
    rows = [
        Scored(f"p{n}", chance.random(), sum(chance.random() < 0.3 for _ in range(8)), 8) for n in range(40)
    ]
    found = validity(rows)
    assert found is not None
    assert found.auc_interval is not None
    assert found.auc_interval.low < 0.5 < found.auc_interval.high


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [Scored("a", 1, 1, 2)],
        [Scored("a", 1, 1, 2), Scored("b", 1, 0, 2)],
        [Scored("a", 1, 0, 2), Scored("b", 1, 0, 2)],
    ],
)
def test_without_two_problems_two_scores_and_two_outcomes_there_is_no_validity(rows: list[Scored]):
    assert validity(rows) is None


def test_a_score_that_separates_perfectly_stays_finite():
    rows = [Scored(f"p{n}", float(n >= 5), 4 * (n >= 5), 4) for n in range(10)]
    found = validity(rows)
    assert found is not None
    assert found.auc == 1
    assert found.brier < 0.05
