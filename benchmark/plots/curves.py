"""Curves with intervals over whole numbers, and sparklines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil

from benchmark.plots.drawing import Drawing, curve_class, curve_mark, mark, step_of, titled
from benchmark.plots.plot import Plot, Row

_WIDTH, _HEIGHT = 640, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 48, 12, 16, 40
_LEGEND_LINE = 20


@dataclass(frozen=True)
class CurvePoint:
    """A point of a curve: `y` and its interval, from `n` problems or programs; None: unknown.

    `run` is the id of the run to link to, or blank.
    """

    x: int
    y: float
    low: float | None = None
    high: float | None = None
    n: int | None = None
    run: str = ""


@dataclass(frozen=True)
class Curve:
    """A named curve, its points in the order of x."""

    name: str
    points: tuple[CurvePoint, ...]


@dataclass(frozen=True, kw_only=True)
class CurvePlot(Plot):
    """Curves with their intervals; there is at least one point. The y axis begins at 0.

    `of` names what the points count, such as "problems".
    """

    curves: Sequence[Curve]
    x_name: str
    y_name: str
    of: str = "problems"

    def drawing(self) -> Drawing:
        """Return the curves without a legend, which the table of the page has."""
        return self._drawing(standalone=False)

    def file_drawing(self) -> Drawing:
        """Return the curves with a legend below them."""
        return self._drawing(standalone=True)

    def _drawing(self, *, standalone: bool) -> Drawing:
        legend = _LEGEND_LINE * len(self.curves) if standalone else 0
        label = f"{self.y_name} by {self.x_name}"
        drawing = Drawing(
            _WIDTH,
            _HEIGHT + legend,
            "chart",
            label if standalone else f"{label}; the table below lists the values",
        )
        axes = _Axes([point for curve in self.curves for point in curve.points])
        for number in range(round(axes.top / axes.step) + 1):
            y = axes.down(number * axes.step)
            drawing.line("grid", _LEFT, y, _WIDTH - _RIGHT, y)
            drawing.text(_LEFT - 6, y + 4, f"{number * axes.step:g}", anchor="end")
        for x in axes.shown_columns:
            drawing.text(axes.across(x), _HEIGHT - _BOTTOM + 18, f"{x}", anchor="middle")
        drawing.text((_WIDTH + _LEFT) / 2, _HEIGHT - 4, self.x_name, anchor="middle")
        if standalone:
            drawing.text(_LEFT, 10, self.y_name)
        for number, curve in enumerate(self.curves):
            drawing.add(*self._curve(number, curve, axes))
            if standalone:
                y = _HEIGHT + _LEGEND_LINE * number + 12
                drawing.add(curve_mark(number, _LEFT, y))
                drawing.text(_LEFT + 12, y + 4, curve.name)
        return drawing

    def _curve(self, number: int, curve: Curve, axes: _Axes) -> Iterator[str]:
        shift = (number - (len(self.curves) - 1) / 2) * 5  # intervals at the same x must not cover each other
        places = [(axes.across(point.x) + shift, axes.down(point.y), point) for point in curve.points]
        yield f'<g class="{curve_class(number)}">'
        yield f'<polyline class="track" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y, _ in places)}"/>'
        for x, y, point in places:
            if point.low is not None and point.high is not None:
                low, high = axes.down(point.low), axes.down(point.high)
                yield f'<line class="error" x1="{x:.1f}" x2="{x:.1f}" y1="{low:.1f}" y2="{high:.1f}"/>'
            yield titled(f"{curve.name}, {self.x_name} = {point.x}: {point.y:.2f}", mark(number, x, y))
        yield "</g>"

    def rows(self) -> Iterator[Row]:
        """Return a row for each point. Header: curve, the names of both axes, low, high, the number of `of`."""
        yield ("curve", self.x_name, self.y_name, "low", "high", self.of)
        for curve in self.curves:
            for point in curve.points:
                yield (curve.name, point.x, point.y, point.low, point.high, point.n)


class _Axes:
    """The axes of curves: the columns are spread over the width, and the y axis begins at 0."""

    def __init__(self, points: Sequence[CurvePoint]) -> None:
        highest = max(point.high or point.y for point in points)
        self._columns = sorted({point.x for point in points})
        self.step = step_of(highest or 1)
        self.top = self.step * max(1, ceil(highest / self.step))

    @property
    def shown_columns(self) -> Iterator[int]:
        """The columns whose labels do not cover the previous label."""
        last = -1e9
        for x in self._columns:
            if self.across(x) - last >= 7 * len(str(x)) + 6:
                last = self.across(x)
                yield x

    def across(self, x: float) -> float:
        """Return the horizontal position of a column."""
        span = (self._columns[-1] - self._columns[0]) or 1
        return _LEFT + 24 + (x - self._columns[0]) / span * (_WIDTH - _LEFT - _RIGHT - 48)

    def down(self, y: float) -> float:
        """Return the vertical position of a value."""
        return _HEIGHT - _BOTTOM - y / self.top * (_HEIGHT - _TOP - _BOTTOM)


_SPARK_WIDTH, _SPARK_HEIGHT, _SPARK_EDGE = 64, 18, 2


def sparkline(values: Sequence[float], top: float = 1.0) -> str:
    """Return a small curve of values from 0 to `top` as an <svg> element; blank for fewer than two values.

    The numbers must be beside it, because screen readers skip the curve.
    """
    if len(values) < 2:
        return ""
    across = (_SPARK_WIDTH - 2 * _SPARK_EDGE) / (len(values) - 1)
    down = _SPARK_HEIGHT - 2 * _SPARK_EDGE
    places = [
        (_SPARK_EDGE + number * across, _SPARK_HEIGHT - _SPARK_EDGE - value / top * down)
        for number, value in enumerate(values)
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    x, y = places[-1]
    return (
        f'<svg class="sparkline" viewBox="0 0 {_SPARK_WIDTH} {_SPARK_HEIGHT}" aria-hidden="true">'
        f'<polyline points="{line}"/><circle cx="{x:.1f}" cy="{y:.1f}" r="2"/></svg>'
    )
