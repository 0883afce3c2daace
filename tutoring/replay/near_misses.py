"""Validity of near misses: whether scores of a program before a hint predict a right program after it (docs/replay.md).

Each score is one number, for example the share of passed tests. Functions import numpy themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import exp
from statistics import fmean, stdev

from benchmark.metrics import Interval, t_quantile

BANDS = 5
"""Rows of a calibration table: equal ranges of the predicted chance."""

_RIDGE = 0.01
"""The penalty of the squared slope, which keeps it finite where a score separates right from wrong."""
_STEPS = 25


@dataclass(frozen=True)
class Scored:
    """A program before a hint with its score, and the draws after the hint: how many are right, how many there are."""

    problem: str
    score: float
    right: int
    draws: int


@dataclass(frozen=True)
class Band:
    """The draws whose predicted chance lies in one range: the mean prediction and the share that was right."""

    low: float
    high: float
    predicted: float
    observed: float
    draws: int


@dataclass(frozen=True)
class Validity:
    """The quality of the predictions of a score.

    `auc` is the chance that a right draw has the higher score of a right and a wrong one (ties count half), with its
    95 % interval by the jackknife over problems. `brier` is the mean squared error of the chance that a logistic
    regression on the other problems predicts, `reference` that of the other problems' rate. All problems have equal
    weight in both.
    """

    problems: int
    draws: int
    auc: float
    auc_interval: Interval | None
    brier: float
    reference: float
    bands: tuple[Band, ...]


def validity(rows: Iterable[Scored]) -> Validity | None:
    """Return the validity of a score; None for fewer than two problems, one score, or one outcome."""
    scored = [row for row in rows if row.draws]
    problems = sorted({row.problem for row in scored})
    area = auc(scored)
    if len(problems) < 2 or area is None or len({row.score for row in scored}) < 2:
        return None
    left_out = {name: [row for row in scored if row.problem != name] for name in problems}
    predicted: list[tuple[Scored, float]] = []
    errors, references = [], []
    for name in problems:
        others, own = left_out[name], [row for row in scored if row.problem == name]
        intercept, slope = _logistic(others)
        rate = _rate(others)
        chances = [_chance(intercept + slope * row.score) for row in own]
        predicted += zip(own, chances, strict=True)
        errors.append(_squared_error(own, chances))
        references.append(_squared_error(own, [rate] * len(own)))
    return Validity(
        len(problems),
        sum(row.draws for row in scored),
        area,
        _jackknife(area, [auc(rows) for rows in left_out.values()]),
        fmean(errors),
        fmean(references),
        tuple(_bands(predicted)),
    )


def auc(rows: Sequence[Scored]) -> float | None:
    """Return the area under the ROC curve of the score; None if all draws have one outcome."""
    right, wrong = sum(row.right for row in rows), sum(row.draws - row.right for row in rows)
    if not right or not wrong:
        return None
    ordered: dict[float, list[int]] = {}
    for row in rows:
        counts = ordered.setdefault(row.score, [0, 0])
        counts[0] += row.right
        counts[1] += row.draws - row.right
    below, won = 0, 0.0
    for score in sorted(ordered):
        of_right, of_wrong = ordered[score]
        won += of_right * (below + of_wrong / 2)
        below += of_wrong
    return won / (right * wrong)


def _jackknife(value: float, left_out: Sequence[float | None]) -> Interval | None:
    """Return the t interval of the pseudovalues; None if a value cannot be computed without one of the problems."""
    known = [one for one in left_out if one is not None]
    if len(known) < len(left_out):
        return None
    number = len(known)
    pseudo = [number * value - (number - 1) * one for one in known]
    half = t_quantile(number - 1) * stdev(pseudo) / number**0.5
    return Interval(max(0.0, value - half), min(1.0, value + half))


def _logistic(rows: Sequence[Scored]) -> tuple[float, float]:
    """Return intercept and slope of the logistic regression of right draws on the score, by Newton's method."""
    import numpy as np

    scores = np.array([row.score for row in rows])
    right = np.array([row.right for row in rows], dtype=float)
    draws = np.array([row.draws for row in rows], dtype=float)
    centre, spread = float(scores.mean()), float(scores.std()) or 1.0
    design = np.stack([np.ones(len(rows)), (scores - centre) / spread], 1)
    penalty = np.diag([_RIDGE, _RIDGE])
    weights = np.zeros(2)
    for _ in range(_STEPS):
        chances = 1 / (1 + np.exp(-np.clip(design @ weights, -30, 30)))
        slope = design.T @ (right - draws * chances) - penalty @ weights
        curvature = (design * (draws * chances * (1 - chances))[:, None]).T @ design + penalty
        step = np.linalg.solve(curvature, slope)
        weights = weights + np.clip(step, -5, 5)
        if float(np.abs(step).max()) < 1e-8:
            break
    slope_of_score = float(weights[1]) / spread
    return float(weights[0]) - slope_of_score * centre, slope_of_score


def _chance(logit: float) -> float:
    return 1 / (1 + exp(-max(-30.0, min(30.0, logit))))


def _rate(rows: Sequence[Scored]) -> float:
    return sum(row.right for row in rows) / sum(row.draws for row in rows)


def _squared_error(rows: Sequence[Scored], chances: Sequence[float]) -> float:
    total = sum(
        row.right * (1 - chance) ** 2 + (row.draws - row.right) * chance**2
        for row, chance in zip(rows, chances, strict=True)
    )
    return total / sum(row.draws for row in rows)


def _bands(predicted: Sequence[tuple[Scored, float]]) -> list[Band]:
    found = []
    for number in range(BANDS):
        low, high = number / BANDS, (number + 1) / BANDS
        inside = [(row, chance) for row, chance in predicted if min(int(chance * BANDS), BANDS - 1) == number]
        if draws := sum(row.draws for row, _ in inside):
            mean = sum(row.draws * chance for row, chance in inside) / draws
            found.append(Band(low, high, mean, sum(row.right for row, _ in inside) / draws, draws))
    return found
