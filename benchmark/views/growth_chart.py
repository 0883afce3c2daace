"""The chart of a growth curve: CPU seconds by size on two logarithmic axes, the fit, the limit and the bound."""

import html
from collections.abc import Iterator
from math import ceil, floor, log10

from benchmark.growth import Growth, Measured
from benchmark.growth.wording import number, seconds, slope_text
from benchmark.views.charts import mark

_WIDTH, _HEIGHT = 480, 340
"""The size of the chart: narrow, because its texts must be readable on a small screen."""

_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 14, 34, 50


def growth_svg(series: Measured, growth: Growth) -> str:
    """Return the curve as an <svg> element with all texts escaped; empty without points. A table must list them."""
    return _Chart(series, growth).svg() if series.points else ""


_STEPS = 24
"""Segments of the drawn fit, which the start-up bends."""


class _Chart:
    def __init__(self, series: Measured, growth: Growth) -> None:
        self._series, self._growth = series, growth
        self._points = [(point.size, max(point.seconds, 1e-4)) for point in series.points]
        values = [*(value for _, value in self._points), growth.time_limit, series.prediction or 0]
        sizes = [size for size, _ in self._points]
        self._x = (log10(min(sizes)), log10(max(*sizes, series.largest)))
        lowest = min(value for _, value in self._points)
        self._y = (floor(log10(lowest)), max(ceil(log10(max(values))), floor(log10(lowest)) + 1))

    def _across(self, size: float) -> float:
        low, high = self._x
        return _LEFT + (log10(size) - low) / ((high - low) or 1) * (_WIDTH - _LEFT - _RIGHT)

    def _down(self, value: float) -> float:
        low, high = self._y
        return _HEIGHT - _BOTTOM - (log10(value) - low) / (high - low) * (_HEIGHT - _TOP - _BOTTOM)

    def svg(self) -> str:
        series, limit = self._series, self._growth.time_limit
        name = html.escape(series.parameter)
        described = slope_text(series) or "no slope"
        parts = [
            f'<svg class="chart growth-chart" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="CPU seconds by '
            f'{name}: {html.escape(described)}; time limit {limit:g} s; the table below lists the values">',
            *self._grid(),
            self._line("limit", _LEFT, self._down(limit), _WIDTH - _RIGHT, self._down(limit)),
            f'<text class="tick limit-label" x="{_LEFT + 6}" y="{self._down(limit) - 6:.1f}">'
            f"time limit {limit:g} s</text>",
            *self._fit(),
            '<g class="curve curve-1">',
        ]
        for size, value in self._points:
            title = f"{series.parameter} = {number(size)}: {value:.3f} s"
            parts.append(f"<g><title>{html.escape(title)}</title>")
            parts.append(f"{mark(0, self._across(size), self._down(value))}</g>")
        parts.append("</g>")
        parts.append(
            f'<text class="tick" x="{(_WIDTH + _LEFT) / 2:.0f}" y="{_HEIGHT - 6}" text-anchor="middle">{name}</text>'
        )
        parts.append('<text class="tick" x="4" y="16">CPU s</text>')
        return "".join([*parts, "</svg>"])

    def _grid(self) -> Iterator[str]:
        for power in range(self._y[0], self._y[1] + 1):
            y = self._down(10.0**power)
            yield self._line("grid", _LEFT, y, _WIDTH - _RIGHT, y)
            yield f'<text class="tick" x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{_power(power)}</text>'
        low, high = self._x
        for power in range(ceil(low), floor(high) + 1):
            x = self._across(10.0**power)
            anchor = "end" if x > _WIDTH - _RIGHT - 24 else "middle"
            yield self._line("grid", x, _TOP, x, _HEIGHT - _BOTTOM)
            yield (
                f'<text class="tick" x="{x:.1f}" y="{_HEIGHT - _BOTTOM + 20}" text-anchor="{anchor}">'
                f"{_power(power)}</text>"
            )

    def _fit(self) -> Iterator[str]:
        """Yield the fit with the start-up, from the first size that it uses to the bound."""
        fit, series = self._series.fit, self._series
        if fit is None:
            return
        start, end = fit.sizes[0], series.largest
        sizes = [start * (end / start) ** (step / _STEPS) for step in range(_STEPS + 1)]
        values = [series.start_up + fit.seconds(size) for size in sizes]
        places = " ".join(
            f"{self._across(size):.1f},{self._down(value):.1f}"
            for size, value in zip(sizes, values, strict=True)
        )
        last = values[-1]
        yield f'<g class="curve curve-3"><polyline class="fit" points="{places}"/>'
        title = f"fit at the bound {series.parameter} = {number(end)}: {seconds(last)}"
        yield f"<g><title>{html.escape(title)}</title>{mark(3, self._across(end), self._down(last))}</g></g>"

    @staticmethod
    def _line(name: str, *place: float) -> str:
        x1, y1, x2, y2 = place
        return f'<line class="{name}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _power(exponent: int) -> str:
    """Return a power of ten as a short label."""
    if exponent >= 4:
        return f"10{''.join('⁰¹²³⁴⁵⁶⁷⁸⁹'[int(digit)] for digit in str(exponent))}"
    return f"{10.0**exponent:g}"
