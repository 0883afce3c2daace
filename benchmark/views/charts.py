"""Charts as SVG from the server. Curves differ in mark and dash as well as colour; each page adds a table."""

import html
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log10

WIDTH, HEIGHT = 640, 320
LEFT, RIGHT, TOP, BOTTOM = 48, 12, 16, 40
KINDS = 5
"""The number of marks and dashes; a sixth curve looks like the first."""


@dataclass(frozen=True)
class ChartPoint:
    """A point of a curve: `y` and its interval in percent. `run` is the id of the run to link to, or blank."""

    x: int
    y: float
    low: float | None = None
    high: float | None = None
    run: str = ""


@dataclass(frozen=True)
class ChartCurve:
    """A named curve, its points in the order of x."""

    name: str
    points: tuple[ChartPoint, ...]


def curve_svg(curves: Sequence[ChartCurve], x_name: str, y_name: str) -> str:
    """Return the curves with their intervals as an <svg> element with all texts escaped. The y axis begins at 0."""
    points = [point for curve in curves for point in curve.points]
    columns = sorted({point.x for point in points})
    step = _step(max(point.high or point.y for point in points) or 1)
    top = step * max(1, ceil(max(point.high or point.y for point in points) / step))

    def across(x: float) -> float:
        span = (columns[-1] - columns[0]) or 1
        return LEFT + 24 + (x - columns[0]) / span * (WIDTH - LEFT - RIGHT - 48)

    def down(y: float) -> float:
        return HEIGHT - BOTTOM - y / top * (HEIGHT - TOP - BOTTOM)

    parts = [
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{html.escape(y_name)} by {html.escape(x_name)}; the table below lists the values">'
    ]
    for number in range(round(top / step) + 1):
        y = down(number * step)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(
            f'<text class="tick" x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{number * step:g}</text>'
        )
    for x in columns:
        parts.append(
            f'<text class="tick" x="{across(x):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{x}</text>'
        )
    parts.append(
        f'<text class="tick" x="{(WIDTH + LEFT) / 2:.0f}" y="{HEIGHT - 4}" text-anchor="middle">'
        f"{html.escape(x_name)}</text>"
    )
    for number, curve in enumerate(curves):
        shift = (number - (len(curves) - 1) / 2) * 5  # intervals at the same x must not cover each other
        places = [(across(point.x) + shift, down(point.y), point) for point in curve.points]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in places)
        parts.append(f'<g class="curve curve-{number % KINDS + 1}"><polyline points="{line}"/>')
        for place, y, point in places:
            if point.low is not None and point.high is not None:
                parts.append(
                    f'<line class="error" x1="{place:.1f}" x2="{place:.1f}" y1="{down(point.low):.1f}" '
                    f'y2="{down(point.high):.1f}"/>'
                )
            title = f"{curve.name}, {x_name} = {point.x}: {point.y:.2f}"
            parts.append(f"<g><title>{html.escape(title)}</title>{mark(number, place, y)}</g>")
        parts.append("</g>")
    return "".join([*parts, "</svg>"])


LADDER_WIDTH, LADDER_ROW, LADDER_EDGE = 400, 42, 10
"""The size of a ladder: narrow, because its texts must be readable on a small screen."""


@dataclass(frozen=True)
class LadderRow:
    """A named rate of a ladder with its interval, all from 0 to 1. `kind` is the number of its mark and colour."""

    name: str
    value: float
    low: float
    high: float
    kind: int


def ladder_svg(rows: Sequence[LadderRow], label: str) -> str:
    """Return the rates below each other on one axis from 0 to 100 % as an <svg> element with all texts escaped."""
    bottom = len(rows) * LADDER_ROW + 6

    def across(share: float) -> float:
        return LADDER_EDGE + share * (LADDER_WIDTH - 2 * LADDER_EDGE)

    parts = [
        f'<svg class="chart ladder" viewBox="0 0 {LADDER_WIDTH} {bottom + 22}" role="img" '
        f'aria-label="{html.escape(label)}; the table below lists the values">'
    ]
    for percent in (0, 25, 50, 75, 100):
        x = across(percent / 100)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="4" y2="{bottom}"/>')
        anchor = {0: "start", 100: "end"}.get(percent, "middle")
        place = {0: 0, 100: LADDER_WIDTH}.get(percent, x)
        parts.append(
            f'<text class="tick" x="{place:.1f}" y="{bottom + 16}" text-anchor="{anchor}">{percent} %</text>'
        )
    for number, row in enumerate(rows):
        top = number * LADDER_ROW
        y = top + 30
        value = f"{100 * row.value:.0f} % [{100 * row.low:.0f}, {100 * row.high:.0f}]"
        parts += [
            f'<text class="ladder-name" x="{LADDER_EDGE}" y="{top + 18}">{html.escape(row.name)}</text>',
            f'<text class="tick" x="{LADDER_WIDTH - LADDER_EDGE}" y="{top + 18}" text-anchor="end">{value}</text>',
            f'<g class="curve curve-{row.kind % KINDS + 1}"><title>{html.escape(row.name)}: {value}</title>'
            f'<line class="error" x1="{across(row.low):.1f}" x2="{across(row.high):.1f}" y1="{y}" y2="{y}"/>'
            f"{mark(row.kind, across(row.value), y)}</g>",
        ]
    return "".join([*parts, "</svg>"])


def mark_svg(number: int) -> str:
    """Return the mark of a curve as an <svg> element for its table row."""
    return (
        f'<svg class="chart-mark" viewBox="0 0 16 16" aria-hidden="true"><g class="curve curve-{number % KINDS + 1}">'
        f"{mark(number, 8, 8)}</g></svg>"
    )


def mark(number: int, x: float, y: float) -> str:
    """Return the SVG of a circle, square, triangle, diamond or cross around a point."""
    match number % KINDS:
        case 0:
            return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5"/>'
        case 1:
            return f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8"/>'
        case 2:
            return f'<path d="M{x:.1f} {y - 5:.1f}l5 9h-10z"/>'
        case 3:
            return f'<path d="M{x:.1f} {y - 6:.1f}l6 6l-6 6l-6 -6z"/>'
    return f'<path class="open" d="M{x - 4:.1f} {y - 4:.1f}l8 8m0 -8l-8 8"/>'


def _step(highest: float) -> float:
    """Return the distance of grid lines: 1, 2 or 5 times a power of ten that gives four to ten lines."""
    power = 10.0 ** (ceil(log10(highest)) - 2)
    return next(power * factor for factor in (1, 2, 5, 10, 20) if highest / (power * factor) <= 6)
