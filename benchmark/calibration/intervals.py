"""Coverage of the intervals over few problems (docs/spec.md 9.1), compared with the percentile bootstrap.

Problem effects are normal on the logit scale. Each state of a problem, such as a wrong program before a hint, adds an
effect; each arm has the same number of draws at each state.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from benchmark.calibration.registry import Cell, Covered, calibrates
from benchmark.metrics import (
    Interval,
    Range,
    independent_difference,
    paired_difference,
    problem_t,
    ratio_set,
    sign_e_value,
    wilson,
)
from benchmark.metrics.intervals import SEED

Values = NDArray[np.float64]
"""A row for each study, a column for each problem."""

SIZES = (8, 12, 18, 40, 60)
PAIRS = (10, 12, 18, 40, 59)
"""Numbers of pairs of binary outcomes; from 60 pairs on, the interval is the percentile bootstrap."""
EFFECTS = (0.0, 0.5, 1.0, 2.0, 3.0)
"""Logits that the first arm gains over the second."""
DRAWS = 4
_PROBLEM_SPREAD, _STATE_SPREAD, _EFFECT_SPREAD = 1.0, 0.5, 0.5
"""Standard deviations in logits: of problems, of states within a problem, and of the effect over problems."""
_RESAMPLES = 2_000
_LOOKS = 200
"""Pairs of outcomes; the e-value is computed after each of them."""
_E_VALUE_TO_STOP = 20


@dataclass(frozen=True)
class ArmPair:
    """Two arms: the logit of an average problem in the second arm, and the gain of the first."""

    base: float
    effect: float
    states: tuple[int, int] = (1, 4)
    draws: int = DRAWS

    @property
    def rates(self) -> tuple[float, float]:
        """Return the expected rates of both arms."""
        variance = _PROBLEM_SPREAD**2 + _STATE_SPREAD**2
        first = _mean_rate(self.base + self.effect, variance + _EFFECT_SPREAD**2)
        return first, _mean_rate(self.base, variance)

    def studies(self, generator: np.random.Generator, studies: int, problems: int) -> tuple[Values, Values]:
        """Return the mean outcome of each problem in the first and in the second arm."""
        least, most = self.states
        shape = (studies, problems, most)
        logits = generator.normal(self.base, _PROBLEM_SPREAD, (studies, problems, 1))
        logits = logits + generator.normal(0, _STATE_SPREAD, shape)
        gains = generator.normal(self.effect, _EFFECT_SPREAD, (studies, problems, 1))
        counted = np.arange(most) < generator.integers(least, most + 1, (studies, problems, 1))
        arms = []
        for chances in (_rate(logits + gains), _rate(logits)):
            shares = generator.binomial(self.draws, chances) / self.draws
            arms.append((shares * counted).sum(2) / counted.sum(2))
        return arms[0], arms[1]


def _rate(logits: Values) -> Values:
    return 1 / (1 + np.exp(-logits))


def _mean_rate(logit: float, variance: float) -> float:
    """Return the expected rate of a normal logit, by Gauss–Hermite quadrature."""
    places, weights = _quadrature()
    return float(weights @ _rate(logit + np.sqrt(variance) * places) / weights.sum())


def _differences() -> Iterator[Cell]:
    expected = {8: "94–97 %", 12: "94–96 %", 18: "94–95 %", 40: "94–95 %", 60: "94–95 %"}
    worlds = {
        "1 state": ArmPair(-1.0, 1.0, states=(1, 1)),
        "4 states": ArmPair(-1.0, 1.0, states=(4, 4)),
        "1–4 states": ArmPair(-1.0, 1.0),
    }
    for inside, world in worlds.items():
        for problems in SIZES:
            yield _difference(world, problems, f"{inside}, {DRAWS} draws an arm", expected[problems])
    rare = ArmPair(-6.0, 1.0, states=(1, 1))
    for problems in SIZES:
        yield _difference(rare, problems, "1 state, rare: most outcomes alike", "≥ 93 %")


def _difference(world: ArmPair, problems: int, inside: str, expected: str) -> Cell:
    first, second = world.rates
    truth = first - second

    def simulate(generator: np.random.Generator, studies: int) -> Covered:
        one, other = world.studies(generator, studies, problems)
        intervals = [problem_t(row, lowest=-1).interval for row in (one - other).tolist()]
        return _counted(intervals, one - other, truth)

    return Cell("t, or bound without spread", problems, inside, truth, expected, simulate)


def _binary_pairs() -> Iterator[Cell]:
    for problems in PAIRS:
        for effect in EFFECTS:
            yield _binary_pair(ArmPair(-0.5, effect, states=(1, 1), draws=1), problems)


def _binary_pair(world: ArmPair, problems: int) -> Cell:
    rates = world.rates
    truth = rates[0] - rates[1]

    def simulate(generator: np.random.Generator, studies: int) -> Covered:
        one, other = world.studies(generator, studies, problems)
        rows = zip(one.tolist(), other.tolist(), strict=True)
        intervals = [paired_difference(first, second, binary=True).interval for first, second in rows]
        return _counted(intervals, one - other, truth)

    inside = "1 outcome an arm"
    return Cell("Newcombe, or bound without spread", problems, inside, truth, "≥ 93.7 %", simulate)


def _ratios() -> Iterator[Cell]:
    """Yield the cells of the share of remaining failures that the first arm removes."""
    world = ArmPair(-1.0, 1.0)
    first, second = world.rates
    truth = (first - second) / (1 - second)

    def simulation(problems: int) -> Callable[[np.random.Generator, int], Covered]:
        def simulate(generator: np.random.Generator, studies: int) -> Covered:
            one, other = world.studies(generator, studies, problems)
            rows = zip((one - other).tolist(), (1 - other).tolist(), strict=True)
            sets = [ratio_set(gains, failures).ranges for gains, failures in rows]
            return Covered(sum(_holds(ranges, truth) for ranges in sets))

        return simulate

    for problems in SIZES:
        inside = f"1–4 states, {DRAWS} draws an arm"
        yield Cell("ratio by test inversion", problems, inside, truth, "95 %", simulation(problems))


def _holds(ranges: Sequence[Range], truth: float) -> bool:
    return any(
        (one.low is None or one.low <= truth) and (one.high is None or truth <= one.high) for one in ranges
    )


def _rates() -> Iterator[Cell]:
    for problems in SIZES:
        yield _rate_of_one_arm(problems, base=-0.5)
    for problems in SIZES:
        yield _rate_of_one_arm(problems, base=2.5, near_the_end=True)
    for problems in SIZES:
        yield _wilson_over_sessions(problems)


def _rate_of_one_arm(problems: int, base: float, *, near_the_end: bool = False) -> Cell:
    """Return the cell of the mean of problem means. Near 0 and 1 these are skewed, and t covers less."""
    world = ArmPair(base, 0.0, states=(1, 3), draws=1)
    truth = world.rates[1]

    def simulate(generator: np.random.Generator, studies: int) -> Covered:
        _, means = world.studies(generator, studies, problems)
        return _counted([problem_t(row).interval for row in means.tolist()], means, truth)

    expected = "88–100 %" if near_the_end else "≥ 93 %"
    name = "rate: t on problem means"
    return Cell(name, problems, "1–3 sessions", truth, expected, simulate, claims=not near_the_end)


def _wilson_over_sessions(problems: int, sessions: int = 6) -> Cell:
    """Return a cell for comparison, which counts sessions of one problem as independent. Reports do not use it."""
    world = ArmPair(-0.5, 0.0, states=(1, 1), draws=sessions)
    truth = world.rates[1]

    def simulate(generator: np.random.Generator, studies: int) -> Covered:
        _, means = world.studies(generator, studies, problems)
        solved = np.rint(means.sum(1) * sessions).astype(int).tolist()
        return Covered(_covering([wilson(count, problems * sessions) for count in solved], truth))

    inside = f"{sessions} sessions"
    return Cell("not used: Wilson over sessions", problems, inside, truth, "< 93 %", simulate, claims=False)


def _contests() -> Iterator[Cell]:
    for contests in SIZES:
        yield _over_contests(contests)


def _over_contests(contests: int) -> Cell:
    """Return the cell of differences with an effect of each contest, with 3 to 6 problems per contest."""
    least, most, spread = 3, 6, 0.15

    def simulate(generator: np.random.Generator, studies: int) -> Covered:
        sizes = generator.integers(least, most + 1, contests)
        names = np.repeat(np.arange(contests), sizes)
        shared = generator.normal(0, spread, (studies, contests))[:, names]
        values = np.clip(shared + generator.normal(0, 2 * spread, (studies, len(names))), -1, 1)
        clusters = names.tolist()
        intervals = [problem_t(row, clusters, lowest=-1).interval for row in values.tolist()]
        weights = _weights(contests)
        totals = np.add.reduceat(values, np.flatnonzero(np.diff(names, prepend=-1)), axis=1)
        return Covered(
            _covering(intervals, 0.0), _drawn(weights @ totals.T / (weights @ sizes)[:, None], 0.0)
        )

    return Cell("t over contests", contests, f"{least}–{most} problems a contest", 0.0, "≥ 93 %", simulate)


def _independent() -> Iterator[Cell]:
    for problems in SIZES:
        yield _before_and_after(problems)


def _before_and_after(problems: int) -> Cell:
    """Return the cell of two groups of problems, of which a share is remembered: two thirds in one, none in the other.

    Both have scores of completions that are mostly near zero, in the form of memory probes.
    """
    share, spread, other = 2 / 3, 0.05, max(2, problems // 2)
    truth = share * 0.8

    def simulate(generator: np.random.Generator, studies: int) -> Covered:
        remembered = generator.random((studies, problems)) < share
        before = generator.normal(0, spread, remembered.shape) + remembered * generator.normal(
            0.8, 2 * spread, remembered.shape
        )
        after = generator.normal(0, spread, (studies, other))
        intervals = []
        for one, two in zip(before.tolist(), after.tolist(), strict=True):
            first, second = problem_t(one, lowest=-1).interval, problem_t(two, lowest=-1).interval
            intervals.append(independent_difference(fmean(one), first, fmean(two), second))
        return Covered(_covering(intervals, truth))

    inside = f"{other} others, two thirds remembered"
    return Cell("difference of independent groups", problems, inside, truth, "≥ 93 %", simulate)


def _e_value() -> Iterator[Cell]:
    def simulate(generator: np.random.Generator, studies: int) -> Covered:
        for_first = generator.integers(0, 2, (studies, _LOOKS)).cumsum(1)
        highest = np.array([_most_without_stop(pairs) for pairs in range(1, _LOOKS + 1)])
        unequal = np.maximum(for_first, np.arange(1, _LOOKS + 1) - for_first)
        return Covered(int((unequal <= highest).all(1).sum()))

    inside = "tested after each pair, no difference"
    yield Cell("sign e-value: no false positive", _LOOKS, inside, 0.0, "≥ 95 %", simulate)


@lru_cache(maxsize=1)
def _quadrature() -> tuple[Values, Values]:
    return np.polynomial.hermite_e.hermegauss(80)


@lru_cache(maxsize=1_000)
def _most_without_stop(pairs: int) -> int:
    """Return the largest number of pairs for one arm whose e-value does not stop the study."""
    return max(x for x in range(pairs // 2, pairs + 1) if sign_e_value(x, pairs - x) < _E_VALUE_TO_STOP)


def _counted(intervals: Sequence[Interval], values: Values, truth: float) -> Covered:
    """Return how many intervals, and how many percentile bootstraps of the same studies, contain the truth."""
    problems = values.shape[1]
    return Covered(_covering(intervals, truth), _drawn(_weights(problems) @ values.T / problems, truth))


def _covering(intervals: Sequence[Interval], truth: float) -> int:
    return sum(low <= truth <= high for low, high in intervals)


def _drawn(means: Values, truth: float) -> int:
    """Return the number of columns with the truth between the 2.5 % and 97.5 % quantiles of the resampled means."""
    low, high = np.quantile(means, [0.025, 0.975], axis=0)
    return int(((low <= truth + 1e-12) & (truth - 1e-12 <= high)).sum())


@lru_cache(maxsize=10)
def _weights(units: int) -> Values:
    """Return how often each unit is drawn in each resample."""
    draws = np.random.default_rng(SEED).integers(0, units, (_RESAMPLES, units))
    return np.stack([np.bincount(row, minlength=units) for row in draws]).astype(float)


@calibrates("intervals", "95 % intervals over few problems")
def cells() -> Sequence[Cell]:
    """Return the cells: differences, pairs, ratios, rates of one arm, contests, independent groups, the e-value."""
    return [
        *_differences(),
        *_binary_pairs(),
        *_ratios(),
        *_rates(),
        *_contests(),
        *_independent(),
        *_e_value(),
    ]
