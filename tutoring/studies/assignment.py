"""The assignment of tutors to problems and arms: a pure function of the frozen design and the seed.

Random numbers come from sha256 of the seed, a purpose and a counter. Python's `random` and numpy's `Generator` do not
promise the same sequence in every version (NEP 19); sha256 gives the same rows on every machine and in any language.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from tutoring.studies.design import DesignError, FrozenDesign

Item = TypeVar("Item")

_BITS = 64


@dataclass(frozen=True)
class AssignedRow:
    """One assignment before it is stored. `tutor` is a pseudonym, "" in automatic arms, whose `order` is 0."""

    arm: str
    problem: str
    replicate: int
    tutor: str
    order: int


class SeededRandom:
    """Random integers that depend only on the seed and the purpose."""

    def __init__(self, seed: str, purpose: str) -> None:
        self._numbers = _numbers(f"{seed}:{purpose}:")

    def below(self, bound: int) -> int:
        """Return an integer from 0 to `bound` - 1, each with the same chance."""
        # Numbers above the largest multiple of the bound are rejected: a remainder alone would favour small results.
        limit = 2**_BITS - 2**_BITS % bound
        return next(number for number in self._numbers if number < limit) % bound

    def shuffled(self, items: Sequence[Item]) -> list[Item]:
        """Return the items in random order (Fisher–Yates)."""
        result = list(items)
        for last in range(len(result) - 1, 0, -1):
            other = self.below(last + 1)
            result[last], result[other] = result[other], result[last]
        return result


def _numbers(prefix: str) -> Iterator[int]:
    counter = 0
    while True:
        digest = hashlib.sha256(f"{prefix}{counter}".encode()).digest()
        for start in range(0, len(digest), _BITS // 8):
            yield int.from_bytes(digest[start : start + _BITS // 8])
        counter += 1


def assign(frozen: FrozenDesign, seed: str) -> list[AssignedRow]:
    """Return every assignment of the study, in the order of problems and arms.

    Each stratum is assigned alone: problems and tutors are shuffled, the problem with index i goes to the next
    A·r tutors in a circle (A human arms, r sessions per cell), and an independent permutation for each problem decides
    which of them gets which arm. A tutor never meets a problem twice. Loads differ by at most one in a stratum, unless
    earlier sessions of tutors prevent it. Raises DesignError if a problem cannot be filled.
    """
    design = frozen.design
    barred: dict[str, set[str]] = {}
    for tutor, problem in frozen.ineligible:
        barred.setdefault(problem, set()).add(tutor)
    tutors = sorted(design.tutors)
    seats: dict[str, list[str]] = {}
    for stratum, problems in _strata(frozen).items():
        random = SeededRandom(seed, f"stratum {stratum}")
        order = random.shuffled(problems)
        circle = random.shuffled(tutors)
        seats |= _Table(circle, design.tutors_per_problem, barred).filled(order)
    rows: list[AssignedRow] = []
    for problem in sorted(seats):
        rows += _rows_of(frozen, seed, problem, seats[problem])
    return _ordered(rows, seed)


def _strata(frozen: FrozenDesign) -> dict[str, list[str]]:
    """Return the problems of each stratum, sorted by name."""
    strata: dict[str, list[str]] = {}
    for one in sorted(frozen.problems, key=lambda problem: problem.problem):
        strata.setdefault(one.tier if frozen.design.strata == "tier" else "", []).append(one.problem)
    return dict(sorted(strata.items()))


@dataclass
class _Table:
    """The seats of one stratum: which tutors meet which problem."""

    circle: Sequence[str]
    """The tutors in random order."""
    places: int
    """Seats of each problem."""
    barred: Mapping[str, set[str]]
    """Tutors who know a problem already, by problem."""
    seats: dict[str, list[str]] = field(default_factory=dict)
    load: dict[str, int] = field(default_factory=dict)

    def filled(self, problems: Sequence[str]) -> dict[str, list[str]]:
        """Return the tutors of each problem. Raises DesignError."""
        lacking = {
            problem: able
            for problem in sorted(problems)
            if len(able := [tutor for tutor in self.circle if self._may(tutor, problem)]) < self.places
        }
        if lacking:
            raise DesignError(_too_few(lacking, self.circle, self.places))
        self.load = dict.fromkeys(self.circle, 0)
        for index, problem in enumerate(problems):
            self._sit(index, problem)
        for problem in problems:
            self._complete(problem)
        while self._balance():
            pass
        return self.seats

    def _sit(self, index: int, problem: str) -> None:
        """Give the problem to the next tutors in the circle, except those who know it."""
        start = index * self.places
        around = [self.circle[(start + place) % len(self.circle)] for place in range(self.places)]
        self.seats[problem] = [tutor for tutor in around if self._may(tutor, problem)]
        for tutor in self.seats[problem]:
            self.load[tutor] += 1

    def _complete(self, problem: str) -> None:
        """Fill the empty seats of the problem with the tutors with the smallest loads."""
        taken = self.seats[problem]
        while len(taken) < self.places:
            able = [tutor for tutor in self.circle if tutor not in taken and self._may(tutor, problem)]
            chosen = min(able, key=self.load.__getitem__)
            taken.append(chosen)
            self.load[chosen] += 1

    def _balance(self) -> bool:
        """Move one session from a tutor to one with at least two fewer; return False if no moves allow that.

        The moves form a chain: each tutor passes one problem to the next, who may take it. Without such a chain the
        loads are as even as the earlier sessions permit (Harvey et al. 2006, "Semi-matchings").
        """
        for heaviest in sorted(self.circle, key=lambda tutor: -self.load[tutor]):
            if self.load[heaviest] - min(self.load.values()) < 2:
                return False
            if chain := self._chain(heaviest):
                for giver, problem, taker in chain:
                    place = self.seats[problem].index(giver)
                    self.seats[problem][place] = taker
                self.load[heaviest] -= 1
                self.load[chain[-1][2]] += 1
                return True
        return False

    def _chain(self, first: str) -> list[tuple[str, str, str]]:
        """Return the shortest chain of (giver, problem, taker) to a tutor with at least two fewer; [] without one."""
        before: dict[str, tuple[str, str] | None] = {first: None}
        waiting = deque([first])
        while waiting:
            giver = waiting.popleft()
            if self.load[giver] <= self.load[first] - 2:
                return _steps(before, giver)
            for problem, taken in self.seats.items():
                if giver not in taken:
                    continue
                for taker in self.circle:
                    if taker not in before and taker not in taken and self._may(taker, problem):
                        before[taker] = (giver, problem)
                        waiting.append(taker)
        return []

    def _may(self, tutor: str, problem: str) -> bool:
        return tutor not in self.barred.get(problem, ())


def _steps(before: Mapping[str, tuple[str, str] | None], last: str) -> list[tuple[str, str, str]]:
    steps = []
    while found := before[last]:
        giver, problem = found
        steps.append((giver, problem, last))
        last = giver
    return steps[::-1]


def _too_few(lacking: Mapping[str, Sequence[str]], tutors: Sequence[str], places: int) -> str:
    """Return the refusal of problems that too few tutors can take. `lacking` has the tutors who can take each."""
    (problem, able), *others = lacking.items()
    knowing = sorted(set(tutors) - set(able))
    why = f"; {', '.join(knowing)} had a session on it before" if knowing else ""
    also = f" Too few can take {', '.join(other for other, _ in others)} either." if others else ""
    return (
        f"Problem {problem} needs {places} tutor{'s' if places > 1 else ''} (human arms × sessions per cell), but only "
        f"{len(able)} can take it{why}.{also} Add tutors, leave the problem{'s' if others else ''} out, or use fewer "
        "sessions per cell."
    )


def _rows_of(frozen: FrozenDesign, seed: str, problem: str, tutors: Sequence[str]) -> Iterator[AssignedRow]:
    """Yield the rows of one problem: a random permutation of its tutors over the cells, then the automatic arms."""
    drawn = iter(SeededRandom(seed, f"arms of {problem}").shuffled(tutors))
    for arm in frozen.design.human_arms:
        for replicate in range(1, frozen.design.sessions_per_cell + 1):
            yield AssignedRow(arm.name, problem, replicate, next(drawn), 0)
    for automatic in frozen.design.automatic_arms:
        for replicate in range(1, automatic.draws + 1):
            yield AssignedRow(automatic.name, problem, replicate, "", 0)


def _ordered(rows: Sequence[AssignedRow], seed: str) -> list[AssignedRow]:
    """Return the rows with the position of each in the shuffled list of its tutor, from 1."""
    of_tutor: dict[str, list[str]] = {}
    for row in rows:
        if row.tutor:
            of_tutor.setdefault(row.tutor, []).append(row.problem)
    order = {
        (tutor, problem): position
        for tutor, problems in of_tutor.items()
        for position, problem in enumerate(SeededRandom(seed, f"order of {tutor}").shuffled(problems), 1)
    }
    return [
        AssignedRow(row.arm, row.problem, row.replicate, row.tutor, order.get((row.tutor, row.problem), 0))
        for row in rows
    ]
