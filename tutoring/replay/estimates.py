"""Estimators of replayed hints, without a database: gains, receptivity, portability, harm and uptake (docs/replay.md).

A problem's value is the mean over its placements, and all problems have equal weight. The intervals are those of
`benchmark.metrics` over problems.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Literal

from benchmark.metrics import (
    FEWEST_TESTED_PROBLEMS,
    NamedInterval,
    PairedContrast,
    RatioSet,
    holm,
    paired_contrast,
    problem_t,
    ratio_set,
)

Arm = Literal["hint", "neutral", "verdict", "sham"]
Fit = Literal["same", "near", "other", "unknown"]
"""How well a hint fits a program for which it was not written, by the failure signatures of both programs."""

Uptake = Literal["unchanged", "changed, tests the same", "better", "mixed", "worse", "solved", "unknown"]
UPTAKES: tuple[Uptake, ...] = (
    "unchanged",
    "changed, tests the same",
    "better",
    "mixed",
    "worse",
    "solved",
    "unknown",
)

DIMENSIONS = ("level", "stage", "move")
"""The settled labels of a card by which gains are compared."""


@dataclass(frozen=True)
class Placed:
    """A card at a placement, with the share of right programs of each arm that has draws.

    `fit` is None for a transplant, which fits by construction. `applies` is the reviewers' label: yes, partly or no;
    blank without one. `kinds` are the settled labels of the card, by dimension.
    """

    problem: str
    rates: Mapping[Arm, float]
    fit: Fit | None = None
    applies: str = ""
    kinds: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @property
    def fits(self) -> bool:
        """Whether the hint fits the program: a transplant, the same failure signature, or labelled yes."""
        return self.fit in (None, "same") or self.applies == "yes"


@dataclass(frozen=True)
class Gain:
    """The mean over problems of p(right | first arm) - p(right | second arm), with its 95 % interval.

    `interval` is None for a single problem. `p` is None for fewer than 6 problems. `adjusted` is p with Holm's
    correction for the contrasts of its table; None outside such a table. `detectable` is the difference that these
    problems find with a power of 80 %.
    """

    name: str
    first: str
    second: str
    problems: int
    placements: int
    mean: float
    interval: NamedInterval | None
    p: float | None
    detectable: float
    adjusted: float | None = None


@dataclass(frozen=True)
class Share:
    """The mean over problems of a share of placements or draws, with its interval (None for a single problem)."""

    problems: int
    placements: int
    mean: float
    interval: NamedInterval | None


@dataclass(frozen=True)
class Receptivity:
    """The share of the remaining failures that the hint removes: gain / (1 - mean p(neutral)), with its 95 % set."""

    problems: int
    placements: int
    found: RatioSet


CONTRASTS: Mapping[str, tuple[Arm, Arm]] = {
    "gain": ("hint", "neutral"),
    "content gain": ("hint", "sham"),
    "verdict gain": ("verdict", "neutral"),
}
"""The gains by name, each as two arms: a gain is the rate of the first arm less that of the second."""


def gain(name: str, placed: Iterable[Placed]) -> Gain | None:
    """Return the gain of this name over the placements that have draws of both arms; None without any."""
    first, second = CONTRASTS[name]
    rows = [one for one in placed if first in one.rates and second in one.rates]
    if not rows:
        return None
    one = _problem_means(rows, lambda row: row.rates[first])
    other = _problem_means(rows, lambda row: row.rates[second])
    contrast = paired_contrast([*one.values()], [*other.values()])
    return _gain(name, (first, second), len(rows), len(one), contrast)


def receptivity(placed: Iterable[Placed]) -> Receptivity | None:
    """Return the receptivity over the placements that have draws after hint and neutral sentence; None without any."""
    rows = [one for one in placed if "hint" in one.rates and "neutral" in one.rates]
    if not rows:
        return None
    gains = _problem_means(rows, lambda row: row.rates["hint"] - row.rates["neutral"])
    failures = _problem_means(rows, lambda row: 1 - row.rates["neutral"])
    return Receptivity(len(gains), len(rows), ratio_set([*gains.values()], [*failures.values()]))


def misfit_harm(placed: Iterable[Placed]) -> Gain | None:
    """Return the gain of hints at programs with another failure signature; it may be negative. None without any."""
    found = gain("gain", [one for one in placed if one.fit == "other"])
    return None if found is None else replace(found, name="misfit harm")


def history_gain(transplanted: Iterable[Placed], own: Iterable[Placed]) -> Gain | None:
    """Return the gain of transplants less that at own programs with the same failure signature, on common problems.

    It shows whether a model uses hints differently after the dialogue of another model. None without a common problem.
    """
    groups = [transplanted, (one for one in own if one.fit == "same")]
    counted = [[one for one in group if "hint" in one.rates and "neutral" in one.rates] for group in groups]
    first, second = (_problem_means(rows, _gain_of) for rows in counted)
    common = sorted(first.keys() & second.keys())
    if not common:
        return None
    contrast = paired_contrast([first[one] for one in common], [second[one] for one in common])
    placements = sum(one.problem in common for rows in counted for one in rows)
    return _gain("history", ("transplant", "own program"), placements, len(common), contrast)


def portability(placed: Iterable[Placed]) -> Share | None:
    """Return the share of own-program placements whose program the hint fits; None without such placements.

    Placements of which this is unknown count as placements that do not fit.
    """
    return _share([(one.problem, float(one.fits)) for one in placed if one.fit is not None])


def kind_gains(placed: Iterable[Placed]) -> list[Gain]:
    """Return for each level, stage and move its gain less that of the other cards of the same problems.

    Only problems with cards of the kind and with others count, so differences between problems cannot explain a
    contrast. p has Holm's correction for all contrasts. Observational: tutors chose the kinds of their hints.
    """
    rows = [one for one in placed if "hint" in one.rates and "neutral" in one.rates]
    found = []
    for dimension in DIMENSIONS:
        labelled = [one for one in rows if one.kinds.get(dimension)]
        for value in sorted({value for one in labelled for value in one.kinds[dimension]}):
            of_kind = [one for one in labelled if value in one.kinds[dimension]]
            others = [one for one in labelled if value not in one.kinds[dimension]]
            first, second = (_problem_means(group, _gain_of) for group in (of_kind, others))
            if common := sorted(first.keys() & second.keys()):
                contrast = paired_contrast([first[one] for one in common], [second[one] for one in common])
                counted = sum(one.problem in common for one in labelled)
                found.append(_gain(dimension, (value, f"other {dimension}s"), counted, len(common), contrast))
    adjusted = iter(holm([one.p for one in found if one.p is not None]))
    return [one if one.p is None else replace(one, adjusted=next(adjusted)) for one in found]


def uptake_profile(draws: Iterable[tuple[str, Uptake]]) -> dict[Uptake, Share]:
    """Return the share of each kind of uptake among draws, given as problem and kind, all problems weighted equally."""
    counted: dict[str, Counter[Uptake]] = {}
    for problem, uptake in draws:
        counted.setdefault(problem, Counter())[uptake] += 1
    return {
        uptake: _of_means(
            [of[uptake] / of.total() for of in counted.values()], sum(of.total() for of in counted.values())
        )
        for uptake in UPTAKES
        if counted
    }


def _gain_of(row: Placed) -> float:
    return row.rates["hint"] - row.rates["neutral"]


def _gain(name: str, arms: tuple[str, str], placements: int, problems: int, contrast: PairedContrast) -> Gain:
    found = contrast.difference
    return Gain(
        name,
        *arms,
        problems,
        placements,
        found.mean,
        NamedInterval(found.interval, found.method) if problems > 1 else None,
        contrast.p if problems >= FEWEST_TESTED_PROBLEMS else None,
        contrast.detectable,
    )


def _problem_means(rows: Sequence[Placed], value: Callable[[Placed], float]) -> dict[str, float]:
    """Return the mean over the placements of each problem, in the order of the problems' first placements."""
    values: dict[str, list[float]] = {}
    for row in rows:
        values.setdefault(row.problem, []).append(value(row))
    return {problem: fmean(found) for problem, found in values.items()}


def _share(values: Sequence[tuple[str, float]]) -> Share | None:
    by_problem: dict[str, list[float]] = {}
    for problem, value in values:
        by_problem.setdefault(problem, []).append(value)
    return _of_means([fmean(found) for found in by_problem.values()], len(values)) if values else None


def _of_means(means: Sequence[float], placements: int) -> Share:
    interval = problem_t(means) if len(means) > 1 else None
    return Share(len(means), placements, fmean(means), interval)
