"""Estimates over problems: rates, paired contrasts, ratios and equivalent samples (docs/spec.md 9.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import fmean

from benchmark.metrics import (
    FEWEST_TESTED_PROBLEMS,
    SIGNIFICANCE,
    EquivalentSamples,
    NamedInterval,
    PairedContrast,
    PairedDifference,
    RatioSet,
    equivalent_samples,
    holm,
    paired_contrast,
    problem_t,
    ratio_set,
    wilson,
)
from benchmark.providers.worlds import StoppingRule
from tutoring.arms.figures.chains import CountedChains
from tutoring.arms.figures.rows import PEOPLE, ArmRows, HumanSession
from tutoring.arms.stopping import RIGHT, is_solved
from tutoring.review.solve_rates import ProblemTally

Tallies = Mapping[int, ProblemTally]
"""Solved and all sessions of one arm, by problem."""


@dataclass(frozen=True)
class Rate:
    """The mean over problems of the share of solved sessions. Without sessions, `share` and `interval` are None."""

    share: float | None
    interval: NamedInterval | None
    problems: int
    solved: int
    sessions: int


@dataclass(frozen=True)
class Contrast:
    """The mean difference of two arms on their common problems, first minus second.

    `p` is None for fewer than FEWEST_TESTED_PROBLEMS problems. `adjusted` is p with Holm's correction for all steps of
    the ladder; None outside it. `detectable` is the difference that these problems find with a power of 80 %.
    """

    title: str
    first: str
    second: str
    selection: str
    problems: int
    first_sessions: int
    second_sessions: int
    difference: PairedDifference
    detectable: float
    p: float | None
    adjusted: float | None = None

    @property
    def not_significant(self) -> bool:
        """Whether the test, or without a test the interval, shows no significant difference."""
        p = self.p if self.adjusted is None else self.adjusted
        if p is not None:
            return p >= SIGNIFICANCE
        return self.difference.interval.low <= 0 <= self.difference.interval.high


@dataclass(frozen=True)
class RatioFigure:
    """A ratio of two means on the common problems of two arms, with the ratios that the t test does not reject."""

    title: str
    first: str
    second: str
    problems: int
    found: RatioSet


@dataclass(frozen=True)
class EquivalentFigure:
    """The number of independent samples that solves as much as people. Without a test, `tested` is False."""

    problems: int
    samples: int
    found: EquivalentSamples
    tested: bool


def human_tallies(people: Sequence[HumanSession]) -> dict[int, ProblemTally]:
    """Return the tallies of sessions of people."""
    tallies: dict[int, ProblemTally] = {}
    for session in people:
        tally = tallies.setdefault(session.problem, ProblemTally())
        tally.sessions += 1
        tally.solved += session.solved
    return tallies


def rate(tallies: Tallies) -> Rate:
    """Return the rate with its interval: Wilson's if every problem has one session, otherwise t on problem means."""
    rows = tallies.values()
    return _rate([tally.solved for tally in rows], [tally.sessions for tally in rows])


def _rate(solved: Sequence[int], sessions: Sequence[int]) -> Rate:
    if not sessions:
        return Rate(None, None, 0, 0, 0)
    shares = [right / total for right, total in zip(solved, sessions, strict=True)]
    right, total = sum(solved), sum(sessions)
    interval = NamedInterval(wilson(right, total), "wilson") if total == len(shares) else problem_t(shares)
    return Rate(fmean(shares), interval, len(shares), right, total)


@lru_cache(maxsize=72)
def _rate_of(counted: CountedChains, rule: StoppingRule) -> Rate:
    return _rate(*counted.solved_and_all(rule))


def arm_rate(arm: ArmRows, rule: StoppingRule) -> Rate:
    """Return the rate of an arm under a stopping rule. It is cached while the arm's chains are."""
    return _rate_of(arm.counted, rule)


@lru_cache(maxsize=64)
def _paired_contrast(first: tuple[float, ...], second: tuple[float, ...], binary: bool) -> PairedContrast:
    """Return `paired_contrast`, cached: most contrasts of a page are the same as in its last view."""
    return paired_contrast(first, second, binary=binary)


def contrast(
    title: str, first: tuple[str, Tallies], second: tuple[str, Tallies], selection: str = ""
) -> Contrast | None:
    """Return the contrast of two named arms; None without a common problem."""
    (name_1, one), (name_2, other) = first, second
    common = sorted(one.keys() & other.keys())
    if not common:
        return None
    single = all(tallies[problem].sessions == 1 for tallies in (one, other) for problem in common)
    values = [tuple([tallies[problem].share for problem in common]) for tallies in (one, other)]
    found = _paired_contrast(*values, single)
    return Contrast(
        title=title,
        first=name_1,
        second=name_2,
        selection=selection,
        problems=len(common),
        first_sessions=sum(one[problem].sessions for problem in common),
        second_sessions=sum(other[problem].sessions for problem in common),
        difference=found.difference,
        detectable=found.detectable,
        p=found.p if len(common) >= FEWEST_TESTED_PROBLEMS else None,
    )


def mean_contrast(
    title: str, names: tuple[str, str], pairs: Mapping[int, Sequence[tuple[float, float]]], selection: str
) -> Contrast | None:
    """Return the contrast of pairs of sessions: the mean over problems of the mean difference of a problem's pairs.

    `pairs` holds for each problem the outcomes of both arms, from 0 to 1. Returns None without pairs.
    """
    if not pairs:
        return None
    values = [
        tuple([fmean([pair[side] for pair in of_problem]) for of_problem in pairs.values()])
        for side in (0, 1)
    ]
    outcomes = [value for of_problem in pairs.values() for pair in of_problem for value in pair]
    single = all(len(of_problem) == 1 for of_problem in pairs.values()) and set(outcomes) <= {0, 1}
    found = _paired_contrast(*values, single)
    sessions = sum(len(of_problem) for of_problem in pairs.values())
    return Contrast(
        title=title,
        first=names[0],
        second=names[1],
        selection=selection,
        problems=len(pairs),
        first_sessions=sessions,
        second_sessions=sessions,
        difference=found.difference,
        detectable=found.detectable,
        p=found.p if len(pairs) >= FEWEST_TESTED_PROBLEMS else None,
    )


def with_holm(steps: Sequence[Contrast]) -> tuple[Contrast, ...]:
    """Return the steps with Holm's correction for those that are tested."""
    adjusted = iter(holm([step.p for step in steps if step.p is not None]))
    return tuple(step if step.p is None else replace(step, adjusted=next(adjusted)) for step in steps)


def attributable_share(control: tuple[str, Tallies], people: Tallies) -> RatioFigure | None:
    """Return 1 - S_control / S_people, the share of the solve rate of people that the control does not reach."""
    name, tallies = control
    common = sorted(tallies.keys() & people.keys())
    if not common:
        return None
    human = [people[problem].share for problem in common]
    gained = [people[problem].share - tallies[problem].share for problem in common]
    title = f"Attributable share, 1 − {name} / {PEOPLE}"
    return RatioFigure(title, PEOPLE, name, len(common), ratio_set(gained, human))


def share_of_ceiling(ceiling: tuple[str, Tallies], people: Tallies) -> RatioFigure | None:
    """Return S_people / S_ceiling, the share of the ceiling that people reach."""
    name, tallies = ceiling
    common = sorted(tallies.keys() & people.keys())
    if not common:
        return None
    human, reached = ([values[problem].share for problem in common] for values in (people, tallies))
    title = f"Share of the ceiling, {PEOPLE} / {name}"
    return RatioFigure(title, PEOPLE, name, len(common), ratio_set(human, reached))


def equivalent(again: ArmRows, people: Tallies) -> EquivalentFigure | None:
    """Return the equivalent samples of people; None without a common problem with a program.

    The programs of all chains of a problem are independent samples.
    """
    samples: dict[int, tuple[int, int]] = {}
    for problem in sorted(again.chains.keys() & people.keys()):
        outcomes = again.chains[problem]
        drawn = sum(len(text) * count for text, count in outcomes.items())
        if drawn:
            right = sum(text.count(RIGHT) * count for text, count in outcomes.items())
            samples[problem] = drawn, right
    if not samples:
        return None
    found = equivalent_samples([people[problem].share for problem in samples], [*samples.values()])
    drawn_in_all = sum(drawn for drawn, _ in samples.values())
    return EquivalentFigure(len(samples), drawn_in_all, found, len(samples) >= FEWEST_TESTED_PROBLEMS)


def cut_pairs(
    neutral: ArmRows, people: Sequence[HumanSession], rule: StoppingRule
) -> dict[int, list[tuple[float, float]]]:
    """Return the outcome of each session of a person, and that of the neutral chains cut at its generations."""
    pairs: dict[int, list[tuple[float, float]]] = {}
    for session in people:
        outcomes = neutral.chains.get(session.problem)
        if outcomes:
            cut = sum(
                count * is_solved(rule, text[: session.generations]) for text, count in outcomes.items()
            )
            pair = (float(session.solved), cut / sum(outcomes.values()))
            pairs.setdefault(session.problem, []).append(pair)
    return pairs


def yoked_pairs(
    arm: ArmRows, people: Sequence[HumanSession], rule: StoppingRule
) -> dict[int, list[tuple[float, float]]]:
    """Return the outcome of each session of a person and of the chain that begins with its first program."""
    pairs: dict[int, list[tuple[float, float]]] = {}
    for session in people:
        if session.pk in arm.yoked:
            _, outcomes = arm.yoked[session.pk]
            pair = (float(session.solved), float(is_solved(rule, outcomes)))
            pairs.setdefault(session.problem, []).append(pair)
    return pairs
