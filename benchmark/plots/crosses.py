"""Crosses: points with intervals in both directions, each with a number that a list below explains."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import shorten
from typing import NamedTuple

from benchmark.plots.drawing import Drawing, curve_class, line, mark, ticks, titled
from benchmark.plots.plot import Plot, Row

_WIDTH, _HEIGHT = 400, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 12, 12, 40
_LIST_LINE = 18
_NAME = 54


class Estimate(NamedTuple):
    """A value with the ends of its interval, in shown units."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class CrossPoint:
    """A named point with an estimate in each direction. `kind` is the number of the mark and colour."""

    name: str
    x: Estimate
    y: Estimate
    kind: int = 0


@dataclass(frozen=True, kw_only=True)
class CrossPlot(Plot):
    """Crosses in a plane; there is at least one. Both axes contain 0, at which lines show no difference."""

    points: Sequence[CrossPoint]
    x_name: str
    y_name: str

    def drawing(self) -> Drawing:
        """Return the drawing with the list of names below it."""
        drawing = Drawing(
            _WIDTH,
            _HEIGHT + _LIST_LINE * len(self.points) + 6,
            "chart forest",
            f"{self.title}. {self._listed()}.",
        )
        across = _Axis([value for one in self.points for value in one.x], _LEFT, _WIDTH - _RIGHT)
        down = _Axis([value for one in self.points for value in one.y], _HEIGHT - _BOTTOM, _TOP)
        for value in ticks(across.low, across.high, 6):
            x = across.place(value)
            drawing.line("no-difference" if value == 0 else "grid", x, _TOP, x, _HEIGHT - _BOTTOM)
            drawing.text(x, _HEIGHT - _BOTTOM + 16, _text(value), anchor="middle")
        for value in ticks(down.low, down.high, 6):
            y = down.place(value)
            drawing.line("no-difference" if value == 0 else "grid", _LEFT, y, _WIDTH - _RIGHT, y)
            drawing.text(_LEFT - 6, y + 4, _text(value), anchor="end")
        drawing.text((_LEFT + _WIDTH) / 2, _HEIGHT - 6, self.x_name, anchor="middle")
        drawing.text(_LEFT + 4, _TOP + 10, self.y_name)
        for number, one in enumerate(self.points, 1):
            x, y = across.place(one.x.value), down.place(one.y.value)
            drawn = titled(
                f"{number}. {one.name}",
                line("error", across.place(one.x.low), y, across.place(one.x.high), y),
                line("error", x, down.place(one.y.low), x, down.place(one.y.high)),
                mark(one.kind, x, y),
            )
            drawing.add(f'<g class="{curve_class(one.kind)}">{drawn}</g>')
            drawing.text(x + 7, y - 6, str(number), "forest-name")
            listed = shorten(f"{number}. {one.name}", _NAME, placeholder="…")
            drawing.text(8, _HEIGHT + _LIST_LINE * number - 4, listed)
        return drawing

    def _listed(self) -> str:
        return "; ".join(
            f"{one.name}: {self.x_name} {_text(one.x.value)}, {self.y_name} {_text(one.y.value)}"
            for one in self.points
        )

    def rows(self) -> Iterator[Row]:
        """Return a row for each point. Header: name, both axes with the ends of their intervals."""
        yield ("name", self.x_name, "low", "high", self.y_name, "low", "high")
        for one in self.points:
            yield (one.name, *one.x, *one.y)


def _text(value: float) -> str:
    return f"{value:z.0f}".replace("-", "−")


class _Axis:
    """An axis from the lowest to the highest value, with 0, between two places."""

    def __init__(self, values: Sequence[float], first: float, last: float) -> None:
        low, high = min(*values, 0.0), max(*values, 0.0)
        margin = 0.06 * ((high - low) or 1)
        self.low, self.high = low - margin, high + margin
        self._first, self._last = first, last

    def place(self, value: float) -> float:
        """Return the place of a value."""
        share = (value - self.low) / (self.high - self.low)
        return self._first + share * (self._last - self._first)
