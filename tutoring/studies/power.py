"""The power of a design, from simulated studies that its own estimator analyses (docs/studies.md)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from math import lgamma, log, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics import (
    FEWEST_TESTED_PROBLEMS,
    SIGNIFICANCE,
    Interval,
    mcnemar,
    paired_proportions,
    t_quantile,
    wilson,
)
from benchmark.metrics.small_samples import zero_spread
from tutoring.studies.design import FEWEST_E_VALUE, Design, StoppingRule
from tutoring.studies.estimation import too_few_problems

Values = NDArray[np.float64]
Numbers = NDArray[np.int64]

STUDIES = 2_000
_SEED = 2026
_ROUNDING = 1e-12


class PowerError(ValueError):
    """Inputs from which no power can be computed. The message says what to change."""


@dataclass(frozen=True)
class PowerInputs:
    """The inputs of a simulated study. Rates and the effect are shares, `spread` is in logits.

    `control_rate` and `effect` have no default: they must be typed. `compliance` is the share of sessions of the first
    arm that can count as solved: those that are finished and, where the outcome asks for it, compliant. Both
    compliances are 1 for chains, which are always finished and break no rule.
    """

    problems: int
    control_rate: float
    effect: float
    sessions_per_cell: int = 1
    control_sessions: int | None = None
    """Sessions or chains per problem of the second arm; None: as many as of the first."""
    spread: float = 1.0
    """Standard deviation between problems."""
    compliance: float = 1.0
    control_compliance: float = 1.0
    """The same of the second arm."""
    rule: StoppingRule = "fixed"
    threshold: float = FEWEST_E_VALUE
    minutes_per_session: float | None = None
    human_sessions: int | None = None
    """Sessions of tutors per problem, of all human arms; None: those of both arms."""

    @classmethod
    def of_design(
        cls,
        design: Design,
        *,
        problems: int,
        control_rate: float,
        effect: float,
        spread: float,
        compliance: float,
        minutes_per_session: float | None,
    ) -> PowerInputs:
        """Return the inputs of the primary contrast. `compliance` is that of the human arms."""
        automatic = {arm.name for arm in design.automatic_arms}
        first, second = design.primary_contrast
        return cls(
            problems=problems,
            control_rate=control_rate,
            effect=effect,
            sessions_per_cell=design.sessions_of(first),
            control_sessions=design.sessions_of(second),
            spread=spread,
            compliance=1.0 if first in automatic else compliance,
            control_compliance=1.0 if second in automatic else compliance,
            rule=design.stopping.rule,
            threshold=design.stopping.threshold,
            minutes_per_session=minutes_per_session,
            human_sessions=design.tutors_per_problem,
        )

    def check(self) -> None:
        """Raise PowerError for the first input out of range."""
        treated = self.control_rate + self.effect
        for fails, sentence in (
            (
                self.problems < FEWEST_TESTED_PROBLEMS,
                f"A contrast is tested from {FEWEST_TESTED_PROBLEMS} problems; the design has {self.problems}.",
            ),
            (not 0 < self.control_rate < 1, "The control rate is a share between 0 and 1, such as 0.3."),
            (
                not 0 < treated < 1,
                f"The control rate plus the effect is {treated:g}; it must lie between 0 and 1.",
            ),
            (self.spread < 0, "The spread between problems is 0 or more logits."),
            (
                not (0 < self.compliance <= 1 and 0 < self.control_compliance <= 1),
                "The compliance is a share above 0, at most 1.",
            ),
            (self.sessions_per_cell < 1, "A cell has at least one session."),
            (
                self.control_sessions is not None and self.control_sessions < 1,
                "A cell has at least one session.",
            ),
            (self.threshold < FEWEST_E_VALUE, f"The threshold is {FEWEST_E_VALUE} or more."),
            (
                self.minutes_per_session is not None and self.minutes_per_session <= 0,
                "The minutes of a session are more than 0.",
            ),
        ):
            if fails:
                raise PowerError(sentence)


@dataclass(frozen=True)
class Power:
    """The power of a design. `half_width` is the mean half-width of the interval over the pairs that each study uses.

    `hours` are human hours of all tutors, None if the minutes of a session are unknown. `pairs_used` is the mean number
    of problems after which the studies stopped.
    """

    power: float
    low: float
    high: float
    studies: int
    half_width: float
    sessions: int
    hours: float | None
    pairs_used: float
    warning: str
    """Why a study of this size can have no result; blank otherwise."""

    def to_json(self) -> dict[str, Any]:
        """Return all fields by name."""
        return dict(vars(self))


def simulate_power(inputs: PowerInputs, studies: int = STUDIES) -> Power:
    """Return the power of the design with the Monte Carlo interval of 95 % (Wilson's). Raises PowerError.

    The same inputs give the same power: the seed is fixed.
    """
    inputs.check()
    generator = np.random.default_rng(_SEED)
    compared, (one, other) = simulated_means(inputs, generator, studies)
    differences = one - other
    single = inputs.sessions_per_cell == 1 and inputs.control_sessions in (None, 1)
    pairs = np.full(studies, inputs.problems)
    if inputs.rule == "sign e-value":
        found, pairs = _e_value_stops(compared, inputs.threshold)
    elif single:
        found = _mcnemar(differences)
    else:
        found = _t_test(differences)
    half_widths = _half_widths(one, other, pairs, single=single)
    count = int(found.sum())
    low, high = wilson(count, studies)
    both = inputs.sessions_per_cell + (inputs.control_sessions or inputs.sessions_per_cell)
    sessions = inputs.problems * (both if inputs.human_sessions is None else inputs.human_sessions)
    minutes = inputs.minutes_per_session
    return Power(
        power=count / studies,
        low=low,
        high=high,
        studies=studies,
        half_width=float(half_widths.mean()),
        sessions=sessions,
        hours=None if minutes is None else sessions * minutes / 60,
        pairs_used=float(pairs.mean()),
        warning=too_few_problems(inputs.rule, inputs.threshold, inputs.problems),
    )


def simulated_means(
    inputs: PowerInputs, generator: np.random.Generator, studies: int
) -> tuple[Values, tuple[Values, Values]]:
    """Return the differences that the e-value compares, and the mean outcomes of both arms.

    Each has one row per study and one column per problem. The e-value compares equally many sessions of both arms. The
    effect of a problem is normal on the logit scale and the same in both arms.
    """
    shape = (studies, inputs.problems)
    problems = generator.normal(0, inputs.spread, shape)
    sizes = inputs.sessions_per_cell, inputs.control_sessions or inputs.sessions_per_cell
    compared, means = [], []
    rates = inputs.control_rate + inputs.effect, inputs.control_rate
    compliances = inputs.compliance, inputs.control_compliance
    for rate, compliance, sessions in zip(rates, compliances, sizes, strict=True):
        chances = compliance / (1 + np.exp(-(logit_of_mean(rate, inputs.spread) + problems)))
        solved = generator.binomial(min(sizes), chances)
        compared.append(solved)
        means.append((solved + generator.binomial(sessions - min(sizes), chances)) / sessions)
    return (compared[0] - compared[1]).astype(float), (means[0], means[1])


@lru_cache(maxsize=100)
def logit_of_mean(rate: float, spread: float) -> float:
    """Return the logit of an average problem for which the mean over problems is `rate`, by bisection."""
    places, weights = np.polynomial.hermite_e.hermegauss(80)
    weights = weights / weights.sum()
    low, high = -40.0, 40.0
    for _ in range(80):
        middle = (low + high) / 2
        mean = float(weights @ (1 / (1 + np.exp(-(middle + spread * places)))))
        low, high = (middle, high) if mean < rate else (low, middle)
    return (low + high) / 2


def _mcnemar(differences: Values) -> NDArray[np.bool_]:
    won, lost = (differences > 0).sum(1), (differences < 0).sum(1)
    p = {pair: mcnemar(*pair) for pair in set(zip(won.tolist(), lost.tolist(), strict=True))}
    return np.array([p[pair] < SIGNIFICANCE for pair in zip(won.tolist(), lost.tolist(), strict=True)])


def _t_test(differences: Values) -> NDArray[np.bool_]:
    problems = differences.shape[1]
    error = np.sqrt(differences.var(1, ddof=1) / problems)
    spread = error > sqrt(_ROUNDING)
    return np.asarray(spread & (np.abs(differences.mean(1)) > t_quantile(problems - 1) * error))


def _half_widths(one: Values, other: Values, pairs: Numbers, *, single: bool) -> Values:
    """Return the half-width of the interval over the first pairs of each study.

    It is Newcombe's for single binary pairs, else t, or the bound.
    """
    used = np.arange(one.shape[1]) < pairs[:, None]
    differences = np.where(used, one - other, 0)
    mean = differences.sum(1) / pairs
    deviations = np.where(used, differences - mean[:, None], 0)
    if single:
        first, second = one > 0, other > 0
        tables = zip(
            (used & first & second).sum(1).tolist(),
            (used & first & ~second).sum(1).tolist(),
            (used & ~first & second).sum(1).tolist(),
            (used & ~first & ~second).sum(1).tolist(),
            strict=True,
        )
        counted = list(tables)
        widths = {table: _width(paired_proportions(*table)) for table in Counter(counted)}
        found = np.array([widths[table] for table in counted])
    else:
        error = np.sqrt((deviations**2).sum(1) / (pairs - 1) / pairs)
        reach = np.array([t_quantile(number - 1) for number in pairs.tolist()]) * error
        found = (np.minimum(mean + reach, 1) - np.maximum(mean - reach, -1)) / 2
    alike = np.abs(deviations).max(1) <= _ROUNDING
    return np.asarray(np.where(alike, [zero_spread(number) for number in pairs.tolist()], found))


def _width(interval: Interval) -> float:
    return (interval.high - interval.low) / 2


def _e_value_stops(differences: Values, threshold: float) -> tuple[NDArray[np.bool_], Numbers]:
    """Return whether the e-value of each study reaches the threshold at some pair, and the pairs it uses."""
    highest = logarithmic_e_values(differences)
    reached = highest >= log(threshold)
    found = np.asarray(reached.any(1))
    problems = differences.shape[1]
    return found, np.where(found, reached.argmax(1) + 1, problems)


def logarithmic_e_values(differences: Values) -> Values:
    """Return the logarithm of the sign e-value of each study after each problem (benchmark.metrics.sign_e_value)."""
    won, lost = (differences > 0).cumsum(1), (differences < 0).cumsum(1)
    factorials = np.array([lgamma(1 + number) for number in range(differences.shape[1] + 2)])
    pairs = won + lost
    return np.asarray(factorials[won] + factorials[lost] - factorials[pairs + 1] + pairs * log(2))
