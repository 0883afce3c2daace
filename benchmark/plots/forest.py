"""Forest plots: estimates with their intervals below each other on one axis, with the line of no difference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, isfinite, log10
from textwrap import wrap

from benchmark.plots.drawing import Drawing, curve_class, line, mark, ticks, titled
from benchmark.plots.plot import Plot, Row
from benchmark.text.numbers import with_minus

_WIDTH, _EDGE = 400, 12
"""The width, narrow because texts must be readable on a small screen, and the space beside the axis."""

_LINE, _INTERVAL, _AXIS = 15, 24, 40
"""The height of a line of a name, of an interval, and of the axis with its name."""

_NAME = 34
"""The most letters in a line of a name."""

_ARROW = 6


@dataclass(frozen=True)
class ValueScale:
    """The format of values: times `factor`, formatted by `form`, with `unit` after the estimate.

    `limits` are the ends of the axis, in shown values; None: those of the values. `no_difference` is the value that
    means no difference; None for values that are not differences.
    """

    factor: float
    form: str
    unit: str = ""
    logarithmic: bool = False
    limits: tuple[float, float] | None = None
    no_difference: float | None = None

    def text(self, value: float) -> str:
        """Format a shown value without its unit."""
        if not isfinite(value):
            return "∞" if value > 0 else "−∞"
        if value == 0:
            return "0"
        return with_minus(f"{value:{self.form}}")

    def tick(self, value: float) -> str:
        """Format a value of the axis without needless digits."""
        sign = "+" if "+" in self.form and value > 0 else ""
        return with_minus(f"{sign}{value:.6g}")


SHARES = ValueScale(100, "z.0f", " %", limits=(0, 100))
"""Shares from 0 to 1, shown in percent."""

POINTS = ValueScale(100, "+z.1f", no_difference=0)
"""Differences of shares, shown in percentage points."""

RATIOS = ValueScale(100, "z.0f", " %", no_difference=100)
"""Ratios of shares, shown in percent."""

SLOPES = ValueScale(1, "+z.2f", no_difference=0)
"""Differences of slopes."""

FACTORS = ValueScale(1, ".3g", logarithmic=True, no_difference=1)
"""Ratios of times, on a logarithmic axis."""


@dataclass(frozen=True)
class ForestRow:
    """A named estimate from `n` problems. An end of its interval may be infinite; both are None without an interval.

    `method` names the interval, `kind` is the number of the mark and colour.
    """

    name: str
    value: float
    low: float | None
    high: float | None
    n: int
    method: str = ""
    kind: int = 0


@dataclass(frozen=True, kw_only=True)
class ForestPlot(Plot):
    """A forest plot; there is at least one row. `axis` names the values with their unit, `of` what `n` counts."""

    estimates: Sequence[ForestRow]
    scale: ValueScale
    axis: str
    of: str = "problems"

    def drawing(self) -> Drawing:
        """Return the drawing."""
        names = [wrap(row.name, _NAME) or [""] for row in self.estimates]
        bottom = sum(_LINE * len(lines) + _INTERVAL for lines in names) + 4
        drawing = Drawing(_WIDTH, bottom + _AXIS, "chart forest", self._label())
        axis = _Axis(self.scale, [value for row in self.estimates for value in self._shown(row)])
        self._draw_axis(drawing, axis, bottom)
        top = 0.0
        for row, lines in zip(self.estimates, names, strict=True):
            # On paper, so that no line crosses the texts: a crossed minus looks like a plus.
            height = _LINE * len(lines) + 1
            drawing.add(f'<rect class="plot-page" y="{top + 1:.1f}" width="{_WIDTH}" height="{height}"/>')
            for number, text in enumerate(lines):
                drawing.text(_EDGE, top + _LINE * number + 14, text, "forest-name")
            drawing.text(_WIDTH - _EDGE, top + 14, self._numbers(row), anchor="end")
            top += _LINE * len(lines)
            drawing.add(self._interval(row, axis, top + 11))
            top += _INTERVAL
        return drawing

    def _draw_axis(self, drawing: Drawing, axis: _Axis, bottom: float) -> None:
        for value in axis.ticks():
            x = axis.across(value)
            drawing.line("grid", x, 4, x, bottom)
            anchor = "start" if x < _EDGE + 12 else "end" if x > _WIDTH - _EDGE - 24 else "middle"
            place = {"start": 2.0, "end": _WIDTH - 2.0}.get(anchor, x)
            drawing.text(place, bottom + 16, f"{self.scale.tick(value)}{self.scale.unit}", anchor=anchor)
        if self.scale.no_difference is not None:
            x = axis.across(self.scale.no_difference)
            drawing.line("no-difference", x, 4, x, bottom)
        drawing.text(_WIDTH / 2, bottom + 34, self.axis, anchor="middle")

    def _interval(self, row: ForestRow, axis: _Axis, y: float) -> str:
        value, *bounds = self._shown(row)
        parts = []
        if bounds:
            (left, cut_left), (right, cut_right) = (axis.cut(bound) for bound in bounds)
            parts.append(line("error", left, y, right, y))
            for x, cut, side in ((left, cut_left, 1), (right, cut_right, -1)):
                if cut:
                    arrow = f"M{x + side * _ARROW:.1f} {y - 4:.1f}L{x:.1f} {y:.1f}l{side * _ARROW} 4"
                    parts.append(f'<path class="cut" d="{arrow}"/>')
        parts.append(mark(row.kind, axis.cut(value)[0], y))
        drawn = titled(f"{row.name}: {self._numbers(row)}", *parts)
        return f'<g class="{curve_class(row.kind)}">{drawn}</g>'

    def _shown(self, row: ForestRow) -> list[float]:
        """Return the estimate, and the ends of its interval if there is one, as shown."""
        values = [row.value]
        if row.low is not None and row.high is not None:
            values += [row.low, row.high]
        return [value * self.scale.factor for value in values]

    def _numbers(self, row: ForestRow) -> str:
        value, *bounds = self._shown(row)
        shown = f"{self.scale.text(value)}{self.scale.unit}"
        return f"{shown} [{', '.join(map(self.scale.text, bounds))}]" if bounds else f"{shown}, no interval"

    def _label(self) -> str:
        rows = "; ".join(f"{row.name}: {self._numbers(row)}" for row in self.estimates)
        reference = (
            ""
            if self.scale.no_difference is None
            else (f" No difference is {self.scale.text(self.scale.no_difference)}{self.scale.unit}.")
        )
        return f"{self.title}. {self.axis}: {rows}.{reference}"

    def rows(self) -> Iterator[Row]:
        """Return a row for each estimate. Header: name, `axis`, low, high, the number of `of`, method."""
        yield ("name", self.axis, "low", "high", self.of, "method")
        for row in self.estimates:
            value, *bounds = [float(f"{shown:.15g}") for shown in self._shown(row)]
            low, high = bounds or (None, None)
            yield (row.name, value, low, high, row.n, row.method)


class _Axis:
    """The axis from the lowest to the highest finite value, with the value that means no difference."""

    def __init__(self, scale: ValueScale, values: Sequence[float]) -> None:
        self._logarithmic = scale.logarithmic
        finite = [value for value in values if isfinite(value) and (value > 0 or not scale.logarithmic)]
        if scale.no_difference is not None:
            finite.append(scale.no_difference)
        if scale.limits:
            self.low, self.high = scale.limits
        elif scale.logarithmic:
            self.low, self.high = min(*finite, scale.no_difference or 1) / 1.1, max(finite) * 1.1
        else:
            margin = 0.06 * ((max(finite) - min(finite)) or 1)
            self.low, self.high = min(finite) - margin, max(finite) + margin

    def _place(self, value: float) -> float:
        return log10(value) if self._logarithmic else value

    def across(self, value: float) -> float:
        """Return the horizontal position of a value on the axis."""
        low, high = self._place(self.low), self._place(self.high)
        return _EDGE + (self._place(value) - low) / (high - low) * (_WIDTH - 2 * _EDGE)

    def cut(self, value: float) -> tuple[float, bool]:
        """Return the position of a value, at most at an end of the axis, and whether the value lies beyond the axis."""
        within = min(max(value, self.low), self.high)
        return self.across(within), within != value

    def ticks(self) -> Iterator[float]:
        """Yield the values of the grid lines."""
        if (self.low, self.high) == (0, 100):
            yield from (0, 25, 50, 75, 100)
        elif self._logarithmic:
            yield from self._logarithmic_ticks()
        else:
            yield from ticks(self.low, self.high, 8)

    def _logarithmic_ticks(self) -> Iterator[float]:
        powers = range(floor(log10(self.low)), ceil(log10(self.high)) + 1)
        digits = (1, 2, 5) if len(powers) <= 3 else (1,)
        for power in powers:
            for digit in digits:
                if self.low <= digit * 10.0**power <= self.high:
                    yield digit * 10.0**power
