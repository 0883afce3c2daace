"""The plot of a growth curve: CPU seconds by size on two logarithmic axes, the fit, the limit and the bound."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, floor, log10

from benchmark.growth import Growth, MeasuredSeries
from benchmark.growth.wording import number, seconds, slope_text
from benchmark.plots import Drawing, Plot, curve_class, mark
from benchmark.plots.drawing import titled
from benchmark.plots.plot import Row

_WIDTH, _HEIGHT = 480, 340
"""The size of the plot: narrow, because its texts must be readable on a small screen."""

_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 14, 34, 50

_STEPS = 24
"""Segments of the drawn fit, which the start-up bends."""

_SHORTEST = 1e-4
"""The CPU seconds that shorter times are drawn as."""


_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True, kw_only=True)
class GrowthPlot(Plot):
    """The measured times of one size argument; there is at least one."""

    series: MeasuredSeries
    growth: Growth

    def drawing(self) -> Drawing:
        """Return the drawing."""
        series, limit = self.series, self.growth.time_limit
        slope = slope_text(series) or "no slope"
        label = f"CPU seconds by {series.parameter}: {slope}; time limit {limit:g} s"
        drawing, axes = Drawing(_WIDTH, _HEIGHT, "chart growth-chart", label), _Axes(series, limit)
        _draw_grid(drawing, axes)
        y = axes.down(limit)
        drawing.line("limit", _LEFT, y, _WIDTH - _RIGHT, y)
        drawing.text(_LEFT + 6, y - 6, f"time limit {limit:g} s", "tick limit-label")
        drawing.add(*self._fit(axes), f'<g class="{curve_class(0)}">')
        for point in series.points:
            title = f"{series.parameter} = {number(point.size)}: {point.seconds:.3f} s"
            drawing.add(titled(title, mark(0, axes.across(point.size), axes.down(point.seconds))))
        drawing.add("</g>")
        drawing.text((_WIDTH + _LEFT) / 2, _HEIGHT - 6, series.parameter, anchor="middle")
        drawing.text(4, 16, "CPU s")
        return drawing

    def _fit(self, axes: "_Axes") -> Iterator[str]:
        """Yield the fit with the start-up, from the first size that it uses to the bound."""
        fit, series = self.series.fit, self.series
        if fit is None:
            return
        start, end = fit.sizes[0], series.largest
        sizes = [start * (end / start) ** (step / _STEPS) for step in range(_STEPS + 1)]
        values = [series.start_up + fit.seconds(size) for size in sizes]
        places = " ".join(
            f"{axes.across(size):.1f},{axes.down(value):.1f}"
            for size, value in zip(sizes, values, strict=True)
        )
        title = f"fit at the bound {series.parameter} = {number(end)}: {seconds(values[-1])}"
        yield f'<g class="{curve_class(2)}"><polyline class="track fit" points="{places}"/>'
        yield titled(title, mark(3, axes.across(end), axes.down(values[-1])))
        yield "</g>"

    def rows(self) -> Iterator[Row]:
        """Return a row for each size: the fastest and the slowest run, and the number of runs."""
        yield (self.series.parameter, "CPU seconds", "low", "high", "runs", "used by the fit")
        used = self.series.fit.sizes if self.series.fit else ()
        for point in self.series.points:
            slowest = max(point.times)
            yield (
                point.size, point.seconds, point.seconds, slowest, len(point.times),
                "yes" if point.size in used else "no",
            )  # fmt: skip


class _Axes:
    """Two logarithmic axes that contain all times, the limit and the bound."""

    def __init__(self, series: MeasuredSeries, limit: float) -> None:
        times = [max(point.seconds, _SHORTEST) for point in series.points]
        sizes = [point.size for point in series.points]
        self.x = (log10(min(sizes)), log10(max(*sizes, series.largest)))
        lowest = floor(log10(min(times)))
        highest = max(*times, limit, series.prediction or 0)
        self.y = (lowest, max(ceil(log10(highest)), lowest + 1))

    def across(self, size: float) -> float:
        """Return the horizontal place of a size."""
        low, high = self.x
        return _LEFT + (log10(size) - low) / ((high - low) or 1) * (_WIDTH - _LEFT - _RIGHT)

    def down(self, value: float) -> float:
        """Return the vertical place of a time."""
        low, high = self.y
        share = (log10(max(value, _SHORTEST)) - low) / (high - low)
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)


def _draw_grid(drawing: Drawing, axes: _Axes) -> None:
    for power in range(axes.y[0], axes.y[1] + 1):
        y = axes.down(10.0**power)
        drawing.line("grid", _LEFT, y, _WIDTH - _RIGHT, y)
        drawing.text(_LEFT - 6, y + 4, _power(power), anchor="end")
    low, high = axes.x
    for power in range(ceil(low), floor(high) + 1):
        x = axes.across(10.0**power)
        drawing.line("grid", x, _TOP, x, _HEIGHT - _BOTTOM)
        anchor = "end" if x > _WIDTH - _RIGHT - 24 else "middle"
        drawing.text(x, _HEIGHT - _BOTTOM + 20, _power(power), anchor=anchor)


def _power(exponent: int) -> str:
    """Return a power of ten as a short label."""
    if abs(exponent) >= 4:
        return "10" + str(exponent).translate(_SUPERSCRIPTS)
    return f"{10.0**exponent:g}"
