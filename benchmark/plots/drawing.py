"""Drawings as SVG: their parts, marks and axes."""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import ceil, floor, log10

KINDS = 5
"""The number of marks and dashes; a sixth curve looks like the first."""


@dataclass
class Drawing:
    """The parts of a drawing, in units of its view box. `label` is its text alternative.

    `fixed`: the drawing keeps its size in pixels. `interactive`: it contains links, which screen readers must reach.
    """

    width: float
    height: float
    classes: str
    label: str
    fixed: bool = False
    interactive: bool = False
    parts: list[str] = field(default_factory=list)

    def add(self, *parts: str) -> None:
        """Append elements, whose texts are escaped."""
        self.parts.extend(parts)

    def text(self, x: float, y: float, text: str, classes: str = "tick", anchor: str = "") -> None:
        """Append a text at its baseline. `anchor` is blank for start."""
        anchored = f' text-anchor="{anchor}"' if anchor else ""
        self.add(f'<text class="{classes}" x="{x:.1f}" y="{y:.1f}"{anchored}>{html.escape(text)}</text>')

    def line(self, classes: str, x1: float, y1: float, x2: float, y2: float) -> None:
        """Append a line."""
        self.add(line(classes, x1, y1, x2, y2))

    def svg(self) -> str:
        """Return the drawing as an <svg> element of a page."""
        size = f' width="{self.width:.0f}" height="{self.height:.0f}"' if self.fixed else ""
        role = "group" if self.interactive else "img"
        return (
            f'<svg class="{self.classes}" viewBox="0 0 {self.width:.0f} {self.height:.0f}"{size} role="{role}" '
            f'aria-label="{html.escape(self.label)}">{"".join(self.parts)}</svg>'
        )


def line(classes: str, x1: float, y1: float, x2: float, y2: float) -> str:
    """Return a <line> element."""
    return f'<line class="{classes}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def mark_svg(number: int) -> str:
    """Return the mark of a curve as an <svg> element for its table row."""
    return f'<svg class="chart-mark" viewBox="0 0 16 16" aria-hidden="true">{curve_mark(number, 8, 8)}</svg>'


def curve_class(number: int) -> str:
    """Return the classes that give a curve its colour and dash."""
    return f"curve curve-{number % KINDS + 1}"


def curve_mark(number: int, x: float, y: float) -> str:
    """Return the mark of a curve in its colour."""
    return f'<g class="{curve_class(number)}">{mark(number, x, y)}</g>'


def mark(number: int, x: float, y: float) -> str:
    """Return the SVG of a circle, square, triangle, diamond or cross around a point."""
    match number % KINDS:
        case 0:
            return f'<circle class="mark" cx="{x:.1f}" cy="{y:.1f}" r="4.5"/>'
        case 1:
            return f'<rect class="mark" x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8"/>'
        case 2:
            return f'<path class="mark" d="M{x:.1f} {y - 5:.1f}l5 9h-10z"/>'
        case 3:
            return f'<path class="mark" d="M{x:.1f} {y - 6:.1f}l6 6l-6 6l-6 -6z"/>'
    return f'<path class="mark open" d="M{x - 4:.1f} {y - 4:.1f}l8 8m0 -8l-8 8"/>'


def titled(title: str, *parts: str) -> str:
    """Return the elements as a group with a title, which browsers show on hover."""
    return f"<g><title>{html.escape(title)}</title>{''.join(parts)}</g>"


def step_of(span: float, most: int = 6) -> float:
    """Return the distance of grid lines: 1, 2 or 5 times a power of ten that gives at most `most` steps."""
    power = 10.0 ** (ceil(log10(span)) - 2)
    return next(power * factor for factor in (1, 2, 5, 10, 20, 50, 100) if span / (power * factor) <= most)


def ticks(low: float, high: float, most: int = 6) -> Iterator[float]:
    """Yield the grid lines that lie from low to high."""
    step = step_of((high - low) or 1, most)
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    yield from (number * step for number in range(first, last + 1))
