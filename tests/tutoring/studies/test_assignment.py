"""Assignments: every cell is filled, no tutor meets a problem twice, loads are even, the same bytes everywhere."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from dataclasses import astuple
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.tutoring.studies.designs import frozen_design
from tutoring.studies.assignment import SeededRandom, assign
from tutoring.studies.design import DesignError, canonical_json

SEED = "5" * 64

sizes = st.tuples(st.integers(1, 20), st.integers(1, 3), st.integers(1, 2), st.integers(1, 9))


@pytest.mark.slow
@given(sizes, st.integers(0, 1000))
def test_every_cell_is_filled_and_loads_are_even(size: tuple[int, int, int, int], seed: int):
    problems, arms, cell, extra = size
    tutors = arms * cell + extra - 1
    frozen = frozen_design(problems, arms=arms, tutors=tutors, sessions_per_cell=cell)
    rows = [row for row in assign(frozen, str(seed)) if row.tutor]
    cells = Counter((row.arm, row.problem) for row in rows)
    assert set(cells.values()) == {cell}
    assert len(cells) == problems * arms
    assert max(Counter((row.tutor, row.problem) for row in rows).values()) == 1
    tier = {one.problem: one.tier for one in frozen.problems}
    for stratum in set(tier.values()):
        loads = Counter(dict.fromkeys(frozen.design.tutors, 0))
        loads.update(row.tutor for row in rows if tier[row.problem] == stratum)
        assert max(loads.values()) - min(loads.values()) <= 1
    for tutor in frozen.design.tutors:
        orders = sorted(row.order for row in rows if row.tutor == tutor)
        assert orders == list(range(1, len(orders) + 1))


@pytest.mark.slow
@given(st.data(), st.integers(2, 12), st.integers(0, 100))
def test_a_tutor_never_gets_a_problem_known_from_earlier_sessions(
    data: st.DataObject, problems: int, seed: int
):
    frozen = frozen_design(problems, arms=2, tutors=5)
    pairs = [(tutor, one.problem) for tutor in frozen.design.tutors for one in frozen.problems]
    known = data.draw(st.sets(st.sampled_from(pairs), max_size=len(pairs) // 2))
    most = Counter(problem for _, problem in known)
    assume(not most or max(most.values()) <= 3)
    frozen = frozen.model_copy(update={"ineligible": tuple(sorted(known))})
    rows = [row for row in assign(frozen, str(seed)) if row.tutor]
    assert not {(row.tutor, row.problem) for row in rows} & known
    assert Counter(row.problem for row in rows) == {one.problem: 2 for one in frozen.problems}
    assert max(Counter((row.tutor, row.problem) for row in rows).values()) == 1


def test_loads_stay_even_where_earlier_sessions_permit_it():
    frozen = frozen_design(10, arms=2, tutors=4, tiers=("",))
    known = tuple((frozen.design.tutors[0], one.problem) for one in frozen.problems[:4])
    rows = assign(frozen.model_copy(update={"ineligible": known}), SEED)
    loads = Counter(row.tutor for row in rows if row.tutor)
    assert sorted(loads.values()) == [5, 5, 5, 5]


def test_a_problem_that_too_few_tutors_can_take_is_refused_by_name():
    frozen = frozen_design(3, arms=2, tutors=3)
    known = (("person-0", "bank/p1"), ("person-2", "bank/p1"))
    with pytest.raises(
        DesignError, match=r"bank/p1 needs 2 tutors .* only 1 can take it; person-0, person-2"
    ):
        assign(frozen.model_copy(update={"ineligible": known}), SEED)
    frozen = frozen_design(3, arms=2, tutors=3, tiers=("",))
    more = (*known, ("person-0", "bank/p0"), ("person-1", "bank/p0"))
    with pytest.raises(
        DesignError, match=r"bank/p0 needs .* Too few can take bank/p1 either\. .* the problems out"
    ):
        assign(frozen.model_copy(update={"ineligible": more}), SEED)


def test_each_problem_has_its_own_permutation_of_arms():
    frozen = frozen_design(400, arms=2, tutors=2, tiers=("",))
    rows = assign(frozen, SEED)
    first = sum(row.tutor == "person-0" for row in rows if row.arm == "arm-0")
    assert 160 <= first <= 240, "a fixed cycle would give 0, 200 in order, or 400"
    runs = [row.tutor for row in rows if row.arm == "arm-0"]
    assert 150 <= sum(one != other for one, other in pairwise(runs)) <= 250


def test_automatic_arms_have_their_draws_on_every_problem():
    frozen = frozen_design(4, arms=1, tutors=2, draws=3)
    automatic = [row for row in assign(frozen, SEED) if row.arm == "neutral"]
    assert Counter(row.problem for row in automatic) == {one.problem: 3 for one in frozen.problems}
    assert {(row.tutor, row.order) for row in automatic} == {("", 0)}


def test_the_rows_are_the_same_bytes_on_every_machine():
    rows = [astuple(row) for row in assign(frozen_design(30, arms=2, tutors=7, draws=2), SEED)]
    digest = hashlib.sha256(canonical_json(rows).encode()).hexdigest()
    assert digest == "f649f7ee74479455a23d29941186b76ce3701e543fb4d8dd1caf3d64825e0b8d"


def test_random_numbers_are_uniform():
    random = SeededRandom(SEED, "test")
    counts = Counter(random.below(3) for _ in range(30_000))
    assert all(9_600 < count < 10_400 for count in counts.values())


def test_a_thousand_assignments_take_less_than_a_second():
    frozen = frozen_design(250, arms=2, tutors=50, sessions_per_cell=2)
    start = time.process_time()
    assert len(assign(frozen, SEED)) == 1_000
    assert time.process_time() - start < 1
