"""Estimators of studies, without a database: contrasts over problems, and the sequence of sign e-values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import count, takewhile
from statistics import fmean
from typing import NamedTuple

from benchmark.metrics import (
    FEWEST_TESTED_PROBLEMS,
    Interval,
    IntervalMethod,
    holm,
    mcnemar,
    paired_proportions,
    problem_t,
    problem_t_test,
    rate_interval,
    sign_e_value,
    visible_difference,
    visible_mean,
)
from tutoring.models.payloads import Record
from tutoring.studies.design import StoppingRule

Outcomes = Mapping[str, Sequence[float]]
"""The outcomes of one arm by problem: 0 or 1 for each session."""


def fewest_pairs(threshold: float) -> int:
    """Return the least number of pairs, all in one direction, whose sign e-value reaches the threshold."""
    return next(pairs for pairs in count(1) if sign_e_value(pairs, 0) >= threshold)


def too_few_problems(rule: StoppingRule, threshold: float, problems: int) -> str:
    """Return why a study on this number of problems can have no result, as a sentence, or blank."""
    if rule == "sign e-value" and problems < (fewest := fewest_pairs(threshold)):
        return (
            f"The e-value cannot reach {threshold:g}: this needs at least {fewest} pairs that differ in one direction, "
            f"and the design has {problems}. Widen the query, raise the maximum, or choose the rule `fixed`."
        )
    if problems < FEWEST_TESTED_PROBLEMS:
        return (
            f"A contrast is tested from {FEWEST_TESTED_PROBLEMS} problems; the design has {problems}. Widen the "
            "query."
        )
    return ""


class StartedProblem(NamedTuple):
    """A problem on which every session of the compared arms was opened."""

    at: float
    """When the last of them was opened: seconds since 1970, 0 for chains alone."""
    problem: str
    waits: bool
    """Whether an outcome is unknown and may become known."""


def settled_problems(started: Iterable[StartedProblem]) -> list[str]:
    """Return the problems in the order of opening, up to the first that waits for an outcome.

    The order of completion would depend on the outcomes, because only solved sessions wait for reviews: a pair that
    favours an automatic arm would count at once, and one that favours tutors late.
    """
    return [one.problem for one in takewhile(lambda one: not one.waits, sorted(started))]


class ArmRate(Record):
    """The rate of one arm: the mean over problems of the share of its sessions."""

    arm: str
    sessions: int
    problems: int
    rate: float | None
    low: float | None
    high: float | None
    method: IntervalMethod | None


class Contrast(Record):
    """The rate of the first arm minus that of the second, over their common problems, with its 95 % interval.

    `p` is from McNemar's exact test if every problem has one outcome in each arm, otherwise from the t test on problem
    means; None for fewer than 6 problems. `holm` is p corrected for the number of secondary contrasts. `detectable` is
    the difference that these problems would show with a power of 80 %.
    """

    first: str
    second: str
    problems: int
    first_sessions: int
    second_sessions: int
    first_rate: float
    second_rate: float
    difference: float
    low: float
    high: float
    method: IntervalMethod
    p: float | None
    holm: float | None = None
    detectable: float

    @property
    def not_significant(self) -> bool:
        """Whether the interval contains "no difference", so that the detectable difference must be shown."""
        return self.low <= 0 <= self.high


class EValue(Record):
    """The sign e-value after the last complete pair, and the pair at which the sequence first reached the threshold."""

    value: float
    for_first: int
    for_second: int
    ties: int
    threshold: float
    reached_at: int | None


def arm_rate(arm: str, outcomes: Outcomes) -> ArmRate:
    """Return the rate of an arm with its interval: Wilson's for one session per problem, else t on problem means."""
    counted = {problem: values for problem, values in outcomes.items() if values}
    if not counted:
        return ArmRate(arm=arm, sessions=0, problems=0, rate=None, low=None, high=None, method=None)
    means = [fmean(values) for values in counted.values()]
    single = all(len(values) == 1 for values in counted.values())
    (low, high), method = rate_interval(means, single=single)
    sessions = sum(map(len, counted.values()))
    return ArmRate(
        arm=arm, sessions=sessions, problems=len(means), rate=fmean(means), low=low, high=high, method=method
    )


def contrast(names: tuple[str, str], first: Outcomes, second: Outcomes) -> Contrast | None:
    """Return the contrast of two arms over the problems with outcomes in both; None without any.

    The interval is Newcombe's for one outcome per problem and arm, else t on problem means, whatever the number of
    problems; without spread it is the bound of `problem_t`.
    """
    common = sorted(problem for problem in first if first[problem] and second.get(problem))
    if not common:
        return None
    one = [fmean(first[problem]) for problem in common]
    other = [fmean(second[problem]) for problem in common]
    counts = [sum(len(arm[problem]) for problem in common) for arm in (first, second)]
    single = counts == [len(common), len(common)]
    differences = [a - b for a, b in zip(one, other, strict=True)]
    (low, high), method = problem_t(differences, lowest=-1)
    won, lost = sum(value > 0 for value in differences), sum(value < 0 for value in differences)
    if single and method == "t":
        (low, high), method = _newcombe(one, other), "newcombe"
    if single:
        p, detectable = mcnemar(won, lost), visible_difference(len(common), (won + lost) / len(common))
    else:
        p, detectable = problem_t_test(differences), visible_mean(differences)
    return Contrast(
        first=names[0],
        second=names[1],
        problems=len(common),
        first_sessions=counts[0],
        second_sessions=counts[1],
        first_rate=fmean(one),
        second_rate=fmean(other),
        difference=fmean(differences),
        low=low,
        high=high,
        method=method,
        p=p if len(common) >= FEWEST_TESTED_PROBLEMS else None,
        detectable=detectable,
    )


def _newcombe(first: Sequence[float], second: Sequence[float]) -> Interval:
    counts = Counter(zip(map(bool, first), map(bool, second), strict=True))
    table = ((True, True), (True, False), (False, True), (False, False))
    return paired_proportions(*(counts[cell] for cell in table))


def with_holm(contrasts: Iterable[Contrast]) -> list[Contrast]:
    """Return the contrasts with p corrected for their number; contrasts without a test are not counted."""
    found = list(contrasts)
    adjusted = iter(holm([one.p for one in found if one.p is not None]))
    return [one if one.p is None else one.model_copy(update={"holm": next(adjusted)}) for one in found]


def sign_differences(first: Outcomes, second: Outcomes, problems: Iterable[str]) -> list[float]:
    """Return the difference on each problem between equally many outcomes of both arms: the first ones assigned.

    Only then does chance favour neither arm. With a chance p of each outcome, one session is better than the mean of
    three chains with p(1 - p³), but worse with (1 - p)(1 - (1 - p)³).
    """
    found = []
    for problem in problems:
        one, other = first[problem], second[problem]
        compared = min(len(one), len(other))
        found.append(fmean(one[:compared]) - fmean(other[:compared]))
    return found


def e_value(differences: Sequence[float], threshold: float) -> EValue:
    """Return the sign e-value of pairs in the order of `settled_problems`. Pairs without a difference do not count.

    If the arms do not differ, its expectation is at most 1 at whatever pair the study stops, so looks at every pair
    keep false positives below 1 / threshold.
    """
    won = lost = 0
    reached = None
    value = 1.0
    for pairs, difference in enumerate(differences, 1):
        won += difference > 0
        lost += difference < 0
        value = sign_e_value(won, lost)
        if reached is None and value >= threshold:
            reached = pairs
    return EValue(
        value=min(value, 1e300),
        for_first=won,
        for_second=lost,
        ties=len(differences) - won - lost,
        threshold=threshold,
        reached_at=reached,
    )
