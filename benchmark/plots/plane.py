"""Planes: points with an interval of the second value over the first value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap

from benchmark.plots.drawing import Drawing, curve_class, curve_mark, line, mark, step_of, ticks, titled
from benchmark.plots.forest import Scale
from benchmark.plots.plot import Plot, Row

_WIDTH, _HEIGHT = 400, 280
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 22, 24, 42
"""The space around the axes: texts must be readable on a small screen, so the drawing is narrow."""

_LEGEND_LINE, _LEGEND_LETTERS = 16, 50
"""The height of a line of the legend and its letters."""


@dataclass(frozen=True)
class PlanePoint:
    """A named point: `y` with its interval, from `n` problems."""

    name: str
    x: float
    y: float
    low: float
    high: float
    n: int


@dataclass(frozen=True, kw_only=True)
class PlanePlot(Plot):
    """Points with numbers, which the legend explains; there is at least one. The x axis begins at 0.

    The y values are shown by `scale`, whose value without a difference is a line. `x_form` formats an x value.
    """

    points: Sequence[PlanePoint]
    scale: Scale
    x_name: str
    y_name: str
    x_form: str
    of: str = "problems"

    def drawing(self) -> Drawing:
        """Return the plane with its legend."""
        legends = [wrap(self._described(point), _LEGEND_LETTERS) for point in self.points]
        height = _HEIGHT + _LEGEND_LINE * sum(map(len, legends)) + 8
        drawing = Drawing(_WIDTH, height, "chart forest", self._label())
        axes = _PlaneAxes(self.points, self.scale)
        self._draw_axes(drawing, axes)
        y = _HEIGHT + 8.0
        for number, (point, lines) in enumerate(zip(self.points, legends, strict=True)):
            drawing.add(self._point(number, point, axes))
            drawing.text(10, y + 4, f"{number + 1}", anchor="middle")
            drawing.add(curve_mark(number, 24, y))
            for text in lines:
                drawing.text(36, y + 4, text, "forest-name")
                y += _LEGEND_LINE
        return drawing

    def _draw_axes(self, drawing: Drawing, axes: _PlaneAxes) -> None:
        for value in ticks(axes.low, axes.high, 8):
            y = axes.down(value)
            drawing.line("grid", _LEFT, y, _WIDTH - _RIGHT, y)
            drawing.text(_LEFT - 6, y + 4, self.scale.tick(value), anchor="end")
        if self.scale.no_difference is not None:
            y = axes.down(self.scale.no_difference)
            drawing.line("no-difference", _LEFT, y, _WIDTH - _RIGHT, y)
        for value in ticks(0, axes.right, 4):
            drawing.text(axes.across(value), _HEIGHT - _BOTTOM + 18, f"{value:.6g}", anchor="middle")
        drawing.text((_WIDTH + _LEFT - _RIGHT) / 2, _HEIGHT - 6, self.x_name, anchor="middle")
        drawing.text(4, 12, self.y_name)

    def _point(self, number: int, point: PlanePoint, axes: _PlaneAxes) -> str:
        x, y = axes.across(point.x), axes.down(point.y * self.scale.factor)
        low, high = (axes.down(end * self.scale.factor) for end in (point.low, point.high))
        label = f'<text class="tick" x="{x + 7:.1f}" y="{y - 6:.1f}">{number + 1}</text>'
        drawn = titled(self._described(point), line("error", x, low, x, high), mark(number, x, y), label)
        return f'<g class="{curve_class(number)}">{drawn}</g>'

    def _described(self, point: PlanePoint) -> str:
        value, low, high = (
            self.scale.text(one * self.scale.factor) for one in (point.y, point.low, point.high)
        )
        return f"{point.name}: {value} [{low}, {high}] at {self.x_form.format(point.x)}"

    def _label(self) -> str:
        points = "; ".join(map(self._described, self.points))
        return f"{self.title}. {self.y_name} over {self.x_name}: {points}."

    def rows(self) -> Iterator[Row]:
        """Return a row for each point. Header: name, the names of both axes, low, high, the number of `of`."""
        yield ("name", self.x_name, self.y_name, "low", "high", self.of)
        for point in self.points:
            values = (point.y, point.low, point.high)
            shown = (float(f"{value * self.scale.factor:.15g}") for value in values)
            yield (point.name, point.x, *shown, point.n)


class _PlaneAxes:
    """The axes: x from 0 to the highest value, y over all intervals and the value without a difference."""

    def __init__(self, points: Sequence[PlanePoint], scale: Scale) -> None:
        ends = [end * scale.factor for point in points for end in (point.low, point.high)]
        if scale.no_difference is not None:
            ends.append(scale.no_difference)
        step = step_of((max(ends) - min(ends)) or 1)
        self.low, self.high = min(ends) - step / 4, max(ends) + step / 4
        self.right = 1.1 * max(point.x for point in points) or 1.0

    def across(self, x: float) -> float:
        """Return the horizontal place of a value."""
        return _LEFT + x / self.right * (_WIDTH - _LEFT - _RIGHT)

    def down(self, y: float) -> float:
        """Return the vertical place of a shown value."""
        share = (y - self.low) / (self.high - self.low)
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)
