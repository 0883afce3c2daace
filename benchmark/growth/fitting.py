"""The growth of a running time: least squares of log time on log size (docs/slow-programs.md)."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import exp, log, sqrt
from statistics import fmean, median
from typing import Any, Self

from benchmark.metrics import t_quantile

LEAST_SECONDS = 0.02
"""CPU seconds, without the start-up, above which a point is used."""

MOST_POINTS, FEWEST_POINTS = 5, 3
"""Maximum and minimum number of points of a fit, which uses the last ones."""

SMALLEST = 3
"""The smallest sizes, whose median time counts as the start-up."""

_LARGEST_RESIDUAL = 0.35
"""The largest standard deviation of log seconds around the line of a stable growth."""

_LARGEST_SPREAD = 1.6
"""The largest median over sizes of the ratio of the median to the fastest run in a stable growth."""

_WIDEST, _LEAST_GROWTH = 2.0, 3.0
"""Largest width of the interval of a clear slope, and the factor by which the used times differ at least."""


@dataclass(frozen=True)
class Point:
    """The CPU seconds of the runs on one input."""

    size: int
    times: tuple[float, ...]

    @property
    def seconds(self) -> float:
        """The least time: other work slows a program down, and nothing speeds it up."""
        return min(self.times)


@dataclass(frozen=True)
class Fit:
    """A line through log seconds over log size: slope with its 95 % interval, intercept, residual, sizes used."""

    slope: float
    low: float
    high: float
    intercept: float
    residual: float
    sizes: tuple[int, ...]

    def seconds(self, size: float) -> float:
        """Return the fitted CPU seconds at a size, without the start-up."""
        return exp(self.intercept + self.slope * log(size))

    def to_json(self) -> dict[str, Any]:
        """Return all fields by name."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Self:
        """Return the fit that `to_json` stored."""
        return cls(**{**document, "sizes": tuple(document["sizes"])})


def start_up(points: Sequence[Point]) -> float:
    """Return the median CPU seconds of the smallest sizes; 0 without points."""
    smallest = sorted(points, key=lambda point: point.size)[:SMALLEST]
    return median(point.seconds for point in smallest) if smallest else 0.0


def used_points(points: Sequence[Point]) -> list[Point]:
    """Return the last points whose time without the start-up is long enough to be fitted."""
    base = start_up(points)
    return [point for point in points if point.seconds - base >= LEAST_SECONDS][-MOST_POINTS:]


def fit(points: Sequence[Point]) -> Fit | None:
    """Return the line through the last points; None if there are fewer than three, or if they do not fit a line."""
    used, base = used_points(points), start_up(points)
    if len(used) < FEWEST_POINTS or _spread(used, base) > _LARGEST_SPREAD:
        return None
    line = least_squares([log(point.size) for point in used], [log(point.seconds - base) for point in used])
    if line.residual > _LARGEST_RESIDUAL:
        return None
    margin = t_quantile(len(used) - 2) * line.error
    sizes = tuple(point.size for point in used)
    return Fit(line.slope, line.slope - margin, line.slope + margin, line.intercept, line.residual, sizes)


def is_clear(found: Fit, points: Sequence[Point]) -> bool:
    """Return whether the fit of these points is more than noise: a narrow interval, and times that grow enough.

    Where a program reaches the bound soon after 20 ms, its times differ by little more than their noise.
    """
    base = start_up(points)
    seconds = [point.seconds - base for point in used_points(points)]
    return found.high - found.low <= _WIDEST and max(seconds) >= _LEAST_GROWTH * min(seconds)


def _spread(used: Sequence[Point], base: float) -> float:
    """Return the median over sizes of the ratio of the median to the fastest run."""
    return median((median(point.times) - base) / (point.seconds - base) for point in used)


@dataclass(frozen=True)
class Line:
    """A least-squares line, the standard error of its slope, and the standard deviation of its residuals."""

    slope: float
    intercept: float
    error: float
    residual: float


def least_squares(x: Sequence[float], y: Sequence[float]) -> Line:
    """Return the line through at least three points with different x."""
    mean_x, mean_y = fmean(x), fmean(y)
    squares = sum((one - mean_x) ** 2 for one in x)
    slope = sum((one - mean_x) * (other - mean_y) for one, other in zip(x, y, strict=True)) / squares
    intercept = mean_y - slope * mean_x
    left = sum((other - intercept - slope * one) ** 2 for one, other in zip(x, y, strict=True))
    residual = sqrt(left / (len(x) - 2))
    return Line(slope, intercept, residual / sqrt(squares), residual)
