"""Estimators of the ladder of help, without a database (docs/ladder.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from typing import NamedTuple

from benchmark.metrics import NamedInterval, monotone, rate_interval
from tutoring.studies.estimation import ArmRate, Contrast, Outcomes, arm_rate, contrast, with_holm

LEVELS = 5
"""Levels of help of the codebook, from 0 to 4."""


class HelpedSession(NamedTuple):
    """A session with the highest settled level of its messages, the mean of both reviewers.

    `neutral` is the share of the neutral arm's chains on the problem that are right within the session's number of
    generations; None without such chains.
    """

    problem: str
    solved: bool
    highest: float
    neutral: float | None = None


@dataclass(frozen=True)
class CurvePoint:
    """The sessions whose highest level is at most `level`: the mean over problems of the share of solved ones.

    `neutral` is the same mean of the neutral arm on the `compared` sessions with neutral chains.
    """

    level: int
    sessions: int
    problems: int
    solved: int
    rate: float
    interval: NamedInterval
    neutral: float | None
    compared: int


def help_curve(sessions: Sequence[HelpedSession]) -> list[CurvePoint]:
    """Return a point for each level with sessions whose highest level is at most that level.

    The curve is descriptive: tutors chose the levels, and help harder problems more.
    """
    points = []
    for level in range(LEVELS):
        chosen = [one for one in sessions if one.highest <= level]
        if not chosen:
            continue
        shares = _by_problem([(one.problem, float(one.solved)) for one in chosen])
        neutral = [(one.problem, one.neutral) for one in chosen if one.neutral is not None]
        points.append(
            CurvePoint(
                level=level,
                sessions=len(chosen),
                problems=len(shares),
                solved=sum(one.solved for one in chosen),
                rate=fmean(shares),
                interval=rate_interval(shares, single=len(shares) == len(chosen)),
                neutral=fmean(_by_problem(neutral)) if neutral else None,
                compared=len(neutral),
            )
        )
    return points


def misorders(curve: Sequence[CurvePoint]) -> bool:
    """Return whether the curve falls from its lowest to its highest level."""
    return len(curve) > 1 and curve[-1].rate < curve[0].rate


def _by_problem(values: Sequence[tuple[str, float]]) -> list[float]:
    grouped: dict[str, list[float]] = {}
    for problem, value in values:
        grouped.setdefault(problem, []).append(value)
    return [fmean(one) for one in grouped.values()]


@dataclass(frozen=True)
class CapComparison:
    """The arms of a study by level cap, lowest cap first.

    `fitted` are the rates of the monotone line. `steps` are the differences of neighbouring caps, higher minus lower,
    and `gains` those of each cap and the neutral arm. `least` is the smallest cap whose lower bound on the gain exceeds
    0: None if none is shown.
    """

    caps: tuple[int, ...]
    rates: tuple[ArmRate, ...]
    fitted: tuple[float | None, ...]
    steps: tuple[Contrast, ...]
    gains: tuple[Contrast, ...]
    least: int | None


def compare_caps(
    arms: Mapping[int, tuple[str, Outcomes]], neutral: tuple[str, Outcomes] | None = None
) -> CapComparison:
    """Return the comparison of arms by cap: name and outcomes by problem of each, by assignment."""
    caps = tuple(sorted(arms))
    rates = tuple(arm_rate(*arms[cap]) for cap in caps)
    steps = [_difference(arms[higher], arms[lower]) for lower, higher in pairwise(caps)]
    gains = {cap: _difference(arms[cap], neutral) if neutral else None for cap in caps}
    least = next((cap for cap, gain in gains.items() if gain is not None and gain.low > 0), None)
    return CapComparison(
        caps=caps,
        rates=rates,
        fitted=_fitted(rates),
        steps=tuple(with_holm(one for one in steps if one is not None)),
        gains=tuple(with_holm(one for one in gains.values() if one is not None)),
        least=least,
    )


def _difference(first: tuple[str, Outcomes], second: tuple[str, Outcomes]) -> Contrast | None:
    return contrast((first[0], second[0]), first[1], second[1])


def _fitted(rates: Sequence[ArmRate]) -> tuple[float | None, ...]:
    known = [(one.rate, one.problems) for one in rates if one.rate is not None]
    line = iter(monotone([rate for rate, _ in known], [problems for _, problems in known]))
    return tuple(None if one.rate is None else next(line) for one in rates)
