"""The leak index, its yardstick, the additive parts of a matrix, and their calibration."""

from __future__ import annotations

import numpy as np
import pytest

from benchmark.calibration import CALIBRATIONS
from benchmark.providers.practice import practice_scripts
from benchmark.providers.worlds import hint_text, idea_text
from tutoring.automatic_tutors import calibration
from tutoring.automatic_tutors.estimation import (
    FEWEST_FOR_YARDSTICK,
    above_yardstick,
    additive_parts,
    leak_index,
    yardstick,
)


def test_the_leak_index_weighs_problems_equally_and_leaves_out_those_without_draws() -> None:
    found = leak_index({"a": 0.25, "b": 0.0, "c": 1.0}, {"a": [1.0, 0.5], "b": [0.5], "d": [1.0]})
    assert found is not None
    assert found.mean == pytest.approx((0.5 + 0.5) / 2)
    assert found.by_problem == ((0.75, 0.25), (0.5,))
    assert (found.problems, found.by_session) == (2, (0.75, 0.25, 0.5))
    assert leak_index({"a": 0.5}, {"b": [1.0]}) is None


def test_a_tutor_gives_away_more_if_its_share_above_the_yardstick_is_above_that_of_people() -> None:
    assert yardstick([0.0] * (FEWEST_FOR_YARDSTICK - 1)) is None
    limit = yardstick([0.0] * 19 + [0.25])
    assert limit is not None
    assert limit == pytest.approx(0.0125)
    problems = [f"p{number}" for number in range(12)]
    base = dict.fromkeys(problems, 0.25)
    for share, gives_away in ((1.0, True), (0.25, False)):
        found = leak_index(base, {problem: [share] for problem in problems})
        assert found is not None
        above = above_yardstick(found, limit)
        assert (above.sessions, above.gives_away) == (12 * gives_away, gives_away)


def test_additive_parts_sum_to_the_gains_and_need_every_cell() -> None:
    gains = [[0.1, 0.3], [0.2, 0.6]]
    parts = additive_parts(gains)
    assert parts is not None
    assert parts.mean == pytest.approx(0.3)
    assert sum(parts.students) == pytest.approx(0)
    assert parts.tutors == pytest.approx((-0.15, 0.15))
    for row in range(2):
        for column in range(2):
            total = parts.mean + parts.students[row] + parts.tutors[column] + parts.rest[row][column]
            assert total == pytest.approx(gains[row][column])
    assert additive_parts([[0.1, None], [0.2, 0.6]]) is None
    assert additive_parts([[0.1, 0.2]]) is None


@pytest.mark.slow
def test_the_simulated_figures_cover_what_they_claim() -> None:
    """A smoke test with 60 studies of every cell but those of the guard."""
    cells = CALIBRATIONS["tutor"].cells
    studied = [cell for cell in cells if not cell.estimator.startswith("guard")]
    assert {cell.problems for cell in studied} == {12, 18, 40}
    assert len(cells) == len(studied) + 2
    for number, cell in enumerate(studied):
        found = cell.simulate(np.random.default_rng([307, number]), 60)
        assert found.interval / 60 >= 0.93 - 2 * 0.033, cell.estimator


@pytest.mark.slow
def test_the_guard_refuses_quoted_solutions_and_passes_hints_and_ideas() -> None:
    drafts = calibration.verbatim_leaks()
    assert len(drafts) > 100
    assert all(calibration.guard_refuses(slug, text) for slug, text in drafts[:: len(drafts) // 12])
    for script in practice_scripts()[:3]:
        assert not calibration.guard_refuses(script.slug, idea_text(script.slug))
        assert not calibration.guard_refuses(script.slug, hint_text(script.slug, "a-bug", 3))
