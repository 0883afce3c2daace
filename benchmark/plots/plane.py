"""Planes: points with a value in each direction, each with a number that a legend explains."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import NamedTuple

from benchmark.plots.drawing import Drawing, curve_class, curve_mark, line, mark, step_of, ticks, titled
from benchmark.plots.forest import ValueScale
from benchmark.plots.plot import Plot, Row

_WIDTH, _HEIGHT = 400, 280
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 22, 24, 42
"""The space around the axes: texts must be readable on a small screen, so the drawing is narrow."""

_LEGEND_LINE, _LEGEND_LETTERS = 16, 50
"""The height of a line of the legend, and the most letters in it."""

DOLLARS = ValueScale(1, ".3g", " dollars")


class PlaneValue(NamedTuple):
    """A value with the ends of its interval, which are None for a value without an interval."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class PlanePoint:
    """A named point from `n` problems. `kind` is the number of its mark and colour; None: its place in the list."""

    name: str
    x: PlaneValue
    y: PlaneValue
    n: int
    kind: int | None = None


@dataclass(frozen=True, kw_only=True)
class PlanePlot(Plot):
    """Points in a plane; there is at least one. Both axes contain 0. The value that means no difference is a line."""

    points: Sequence[PlanePoint]
    x_scale: ValueScale
    y_scale: ValueScale
    x_name: str
    y_name: str
    of: str = "problems"

    def drawing(self) -> Drawing:
        """Return the plane with its legend."""
        legends = [wrap(self._described(point), _LEGEND_LETTERS) for point in self.points]
        height = _HEIGHT + _LEGEND_LINE * sum(map(len, legends)) + 8
        drawing = Drawing(_WIDTH, height, "chart forest", self._label())
        across = _Axis([point.x for point in self.points], self.x_scale, _LEFT, _WIDTH - _RIGHT)
        down = _Axis([point.y for point in self.points], self.y_scale, _HEIGHT - _BOTTOM, _TOP)
        self._draw_axes(drawing, across, down)
        y = _HEIGHT + 8.0
        for number, (point, lines) in enumerate(zip(self.points, legends, strict=True)):
            kind = number if point.kind is None else point.kind
            drawing.add(self._point(number, kind, point, across, down))
            drawing.text(10, y + 4, f"{number + 1}", anchor="middle")
            drawing.add(curve_mark(kind, 24, y))
            for text in lines:
                drawing.text(36, y + 4, text, "forest-name")
                y += _LEGEND_LINE
        return drawing

    def _draw_axes(self, drawing: Drawing, across: _Axis, down: _Axis) -> None:
        bottom = _HEIGHT - _BOTTOM
        for value, place in across.ticks(5):
            drawing.text(place, bottom + 18, self.x_scale.tick(value), anchor="middle")
        for value, place in down.ticks(8):
            drawing.line("grid", _LEFT, place, _WIDTH - _RIGHT, place)
            drawing.text(_LEFT - 6, place + 4, self.y_scale.tick(value), anchor="end")
        if self.x_scale.no_difference is not None:
            x = across.place(self.x_scale.no_difference)
            drawing.line("no-difference", x, _TOP, x, bottom)
        if self.y_scale.no_difference is not None:
            y = down.place(self.y_scale.no_difference)
            drawing.line("no-difference", _LEFT, y, _WIDTH - _RIGHT, y)
        drawing.text((_WIDTH + _LEFT - _RIGHT) / 2, _HEIGHT - 6, self.x_name, anchor="middle")
        drawing.text(4, 12, self.y_name)

    def _point(self, number: int, kind: int, point: PlanePoint, across: _Axis, down: _Axis) -> str:
        x, y = across.of(point.x.value), down.of(point.y.value)
        parts = [mark(kind, x, y)]
        if point.x.low is not None and point.x.high is not None:
            parts.insert(0, line("error", across.of(point.x.low), y, across.of(point.x.high), y))
        if point.y.low is not None and point.y.high is not None:
            parts.insert(0, line("error", x, down.of(point.y.low), x, down.of(point.y.high)))
        label = f'<text class="tick" x="{x + 7:.1f}" y="{y - 6:.1f}">{number + 1}</text>'
        return f'<g class="{curve_class(kind)}">{titled(self._described(point), *parts, label)}</g>'

    def _described(self, point: PlanePoint) -> str:
        return f"{point.name}: {_shown(point.y, self.y_scale)} at {_shown(point.x, self.x_scale)}"

    def _label(self) -> str:
        points = "; ".join(map(self._described, self.points))
        return f"{self.title}. {self.y_name} over {self.x_name}: {points}."

    def rows(self) -> Iterator[Row]:
        """Return a row for each point. Header: name, each axis with low and high, the number of `of`."""
        yield ("name", self.x_name, "low", "high", self.y_name, "low", "high", self.of)
        for point in self.points:
            yield (point.name, *_scaled(point.x, self.x_scale), *_scaled(point.y, self.y_scale), point.n)


def _scaled(one: PlaneValue, scale: ValueScale) -> Iterator[float | str]:
    for value in one:
        yield "" if value is None else float(f"{value * scale.factor:.15g}")


def _shown(one: PlaneValue, scale: ValueScale) -> str:
    value = f"{scale.text(one.value * scale.factor)}{scale.unit}"
    if one.low is None or one.high is None:
        return value
    return f"{value} [{scale.text(one.low * scale.factor)}, {scale.text(one.high * scale.factor)}]"


class _Axis:
    """An axis over all intervals and 0, between two positions in the drawing."""

    def __init__(self, estimates: Sequence[PlaneValue], scale: ValueScale, first: float, last: float) -> None:
        ends = [0.0, *(end * scale.factor for one in estimates for end in one if end is not None)]
        margin = step_of((max(ends) - min(ends)) or 1) / 4
        self._low, self._high = min(ends), max(ends) + margin
        if self._low < 0 or scale.no_difference is not None:
            self._low -= margin
        self._first, self._last, self._factor = first, last, scale.factor

    def ticks(self, most: int) -> Iterator[tuple[float, float]]:
        """Yield the shown value and the position of each grid line."""
        for value in ticks(self._low, self._high, most):
            yield value, self.place(value)

    def of(self, value: float) -> float:
        """Return the position of a value."""
        return self.place(value * self._factor)

    def place(self, shown: float) -> float:
        """Return the position of a shown value."""
        share = (shown - self._low) / (self._high - self._low)
        return self._first + share * (self._last - self._first)
