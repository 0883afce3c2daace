"""Simulated checks of slopes, predictions and contrasts of slow programs (`manage.py calibrate slow`)."""

from collections.abc import Callable, Iterator, Sequence
from math import log2

import numpy as np

from benchmark.calibration.registry import Cell, Covered, calibrates
from benchmark.growth.contrasts import PairedValues, SlowContrast, share_contrast
from benchmark.growth.fitting import Point, fit, start_up

NOISE = 0.15
"""The standard deviation of the log of a running time."""

_RUNS, _LIMIT, _START_UP = 3, 1.0, 0.011
_SIZES = (8, 18, 40)
_LOGIT, _SPREAD = -0.5, 1.0
"""Mean and standard deviation over problems of the logit of a conversion after `told`."""
_EFFECT, _REGRESSION = 0.8, 0.2
"""The logit that the other arm adds, and the share of unconverted programs that become wrong."""

Growth = Callable[[float], float]


def _points(generator: np.random.Generator, growth: Growth, seconds: float) -> list[Point]:
    """Return a measured series: `seconds` is the time at size 16, and the series ends after twice the limit."""
    found, size = [], 16
    while True:
        exact = seconds * growth(size) / growth(16)
        noise = np.exp(generator.normal(0, NOISE, _RUNS))
        found.append(Point(size, tuple(_START_UP + exact * noise)))
        if exact > 2 * _LIMIT:
            return found
        size *= 2


def _slopes(growth: Growth, slope: float, tolerance: float) -> Cell:
    def simulate(generator: np.random.Generator, studies: int) -> Covered:
        within = 0
        for _ in range(studies):
            found = fit(_points(generator, growth, 10 ** generator.uniform(-5.5, -4)))
            within += found is not None and abs(found.slope - slope) <= tolerance
        return Covered(within)

    inside = f"slope within {tolerance:g}"
    return Cell("slope of a running time", 1, inside, slope, "at least 95 %", simulate, least=0.95)


def _predictions(exponent: float) -> Cell:
    def simulate(generator: np.random.Generator, studies: int) -> Covered:
        within = 0
        for _ in range(studies):
            seconds = 10 ** generator.uniform(-5.5, -4)
            points = _points(generator, lambda size: size**exponent, seconds)
            found, bound = fit(points), 8 * points[-1].size
            if found is not None:
                exact = _START_UP + seconds * (bound / 16) ** exponent
                within += 0.5 <= (start_up(points) + found.seconds(bound)) / exact <= 2
        return Covered(within)

    inside = "8 times the largest size, within a factor of 2"
    return Cell("prediction at a bound", 1, inside, exponent, "at least 96 %", simulate, least=0.96)


def _chances(logits: np.ndarray) -> np.ndarray:
    return np.asarray(1 / (1 + np.exp(-logits)))


def _truth(effect: float, *, net: bool) -> float:
    """Return the true difference of the arms by Gauss–Hermite quadrature."""
    places, weights = np.polynomial.hermite_e.hermegauss(80)

    def mean(shift: float) -> float:
        chance = _chances(_LOGIT + shift + _SPREAD * places)
        value = chance - _REGRESSION * (1 - chance) if net else chance
        return float(weights @ value / weights.sum())

    return mean(effect) - mean(0.0)


def _study(
    generator: np.random.Generator, problems: int, starts: Sequence[int], effect: float, *, net: bool
) -> SlowContrast | None:
    def outcome(chance: float) -> float:
        if generator.random() < chance:
            return 1.0
        return -1.0 if net and generator.random() < _REGRESSION else 0.0

    pairs = []
    for problem in range(problems):
        logit = _LOGIT + _SPREAD * generator.normal()
        first, second = _chances(np.array([logit + effect, logit]))
        pairs += [
            PairedValues(str(problem), outcome(first), outcome(second))
            for _ in range(generator.choice(np.asarray(starts)))
        ]
    return share_contrast(pairs, lowest=-1.0 if net else 0.0)


def _contrasts(name: str, problems: int, starts: Sequence[int], effect: float, *, net: bool) -> Cell:
    truth = _truth(effect, net=net)

    def simulate(generator: np.random.Generator, studies: int) -> Covered:
        within = 0
        for _ in range(studies):
            found = _study(generator, problems, starts, effect, net=net)
            within += (
                found is not None
                and found.low is not None
                and found.high is not None
                and (found.low <= truth <= found.high)
            )
        return Covered(within)

    inside = f"{starts[0]}–{starts[-1]} starts" if len(starts) > 1 else "1 start"
    return Cell(name, problems, inside, truth, "94–97 %", simulate)


def _cells() -> Iterator[Cell]:
    for exponent, tolerance in ((1.0, 0.15), (1.5, 0.15), (2.0, 0.15), (3.0, 0.3)):
        yield _slopes(lambda size, power=exponent: size**power, exponent, tolerance)  # type: ignore[misc]
    yield _slopes(lambda size: size * log2(size), 1.08, 0.15)
    for exponent in (1.0, 2.0):
        yield _predictions(exponent)
    for problems in _SIZES:
        for effect in (0.0, _EFFECT):
            yield _contrasts("conversion minus told", problems, (1, 2, 3, 4), effect, net=False)
        yield _contrasts("net minus told", problems, (1, 2, 3, 4), _EFFECT, net=True)
    yield _contrasts("conversion minus told", 18, (1,), _EFFECT, net=False)


@calibrates("slow", "Coverage of slopes, predictions and contrasts of slow programs, simulated")
def _slow_cells() -> Sequence[Cell]:
    return [*_cells()]
