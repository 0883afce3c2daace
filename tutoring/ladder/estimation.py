"""Estimators of the ladder of help, without a database (docs/ladder.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from typing import NamedTuple

import numpy as np

from benchmark.metrics import SIGNIFICANCE, Interval, NamedInterval, monotone, problem_t, rate_interval
from tutoring.review.coefficients import alpha_ordinal, interval, resampling_weights
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
    and `gains` those of each cap and the neutral arm. `least` is the smallest cap with a positive gain whose Holm p is
    below 5 %: None if none is shown.
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
    found = {cap: _difference(arms[cap], neutral) for cap in caps} if neutral else {}
    known = {cap: gain for cap, gain in found.items() if gain is not None}
    gains = dict(zip(known, with_holm(known.values()), strict=True))
    return CapComparison(
        caps=caps,
        rates=rates,
        fitted=_fitted(rates),
        steps=tuple(with_holm(one for one in steps if one is not None)),
        gains=tuple(gains.values()),
        least=next((cap for cap, gain in gains.items() if _is_shown(gain)), None),
    )


def _is_shown(gain: Contrast) -> bool:
    return gain.holm is not None and gain.holm < SIGNIFICANCE and gain.difference > 0


def _difference(first: tuple[str, Outcomes], second: tuple[str, Outcomes]) -> Contrast | None:
    return contrast((first[0], second[0]), first[1], second[1])


def _fitted(rates: Sequence[ArmRate]) -> tuple[float | None, ...]:
    known = [(one.rate, one.problems) for one in rates if one.rate is not None]
    line = iter(monotone([rate for rate, _ in known], [problems for _, problems in known]))
    return tuple(None if one.rate is None else next(line) for one in rates)


class LevelPair(NamedTuple):
    """The intended and the settled level of a message, the latter as the mean of both reviewers."""

    session: str
    problem: str
    intended: int
    settled: float
    late: bool
    """Whether the session is in the second half of its tutor's sessions."""


@dataclass(frozen=True)
class Drift:
    """The mean over problems of settled minus intended level, with its interval. `name` says of which messages."""

    name: str
    messages: int
    problems: int
    mean: float
    interval: NamedInterval


@dataclass(frozen=True)
class IntendedLevels:
    """The agreement of intended and settled levels: the table, Krippendorff's ordinal α and the drift.

    `table` has a row for each intended level and a column for each half step of the settled level. The interval of α
    is a percentile bootstrap over sessions; None for a single session.
    """

    messages: int
    table: tuple[tuple[int, ...], ...]
    alpha: float | None
    alpha_interval: Interval | None
    drifts: tuple[Drift, ...]


def intended_levels(pairs: Sequence[LevelPair]) -> IntendedLevels:
    """Return the agreement of the pairs. A mean of two levels lies between them, so levels count in half steps."""
    steps = 2 * LEVELS - 1
    sessions = {name: number for number, name in enumerate(dict.fromkeys(one.session for one in pairs))}
    counts = np.zeros((len(sessions), steps, steps), dtype=np.int32)
    for one in pairs:
        counts[sessions[one.session], 2 * one.intended, round(2 * one.settled)] += 1
    table = counts.sum(0)
    alpha = float(alpha_ordinal(table)) if pairs else float("nan")
    known = not np.isnan(alpha)
    drawn = None
    if known and len(sessions) > 1:
        weights = resampling_weights(len(sessions)) @ counts.reshape(len(sessions), -1).astype(np.float32)
        drawn = interval(alpha_ordinal(weights.reshape(-1, steps, steps).astype(float)))
    return IntendedLevels(
        messages=len(pairs),
        table=tuple(tuple(int(count) for count in row) for row in table[::2]),
        alpha=alpha if known else None,
        alpha_interval=drawn,
        drifts=tuple(_drifts(pairs)),
    )


def _drifts(pairs: Sequence[LevelPair]) -> list[Drift]:
    chosen = {
        "all messages": pairs,
        "first half of each tutor's sessions": [one for one in pairs if not one.late],
        "second half of each tutor's sessions": [one for one in pairs if one.late],
    }
    drifts = []
    for name, found in chosen.items():
        if found:
            means = _by_problem([(one.problem, one.settled - one.intended) for one in found])
            scaled = problem_t([mean / (LEVELS - 1) for mean in means], lowest=-1)  # t of values from -1 to 1
            low, high = (end * (LEVELS - 1) for end in scaled.interval)
            interval_of_mean = NamedInterval(Interval(low, high), scaled.method)
            drifts.append(Drift(name, len(found), len(means), fmean(means), interval_of_mean))
    return drifts
