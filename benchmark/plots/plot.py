"""The base class of plots, and their files."""

from __future__ import annotations

import csv
import html
import io
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from textwrap import wrap

from benchmark.plots.drawing import Drawing

Row = Sequence[object]

_MARGIN, _TITLE_LINE = 10, 20
"""White space around the drawing of a file, and the height of a line of its title, in units of the drawing."""

_LETTER = 9.0
"""The estimated width of a letter of the title, in units of the drawing."""


@dataclass(frozen=True, kw_only=True)
class Plot(ABC):
    """A plot with its data. `name` is part of addresses and file names, and unique on a page."""

    name: str
    title: str

    @abstractmethod
    def drawing(self) -> Drawing:
        """Return the drawing for a page, with all texts escaped."""

    def file_drawing(self) -> Drawing:
        """Return the drawing for a file, which has no links and explains itself."""
        return self.drawing()

    @abstractmethod
    def rows(self) -> Iterable[Row]:
        """Return the header of the data, then one row for each point."""

    def csv(self) -> str:
        """Return the data as CSV. Unknown values are blank, and numbers have all their digits."""
        file = io.StringIO()
        csv.writer(file, lineterminator="\n").writerows(self.rows())
        return file.getvalue()

    def svg_file(self, style: str) -> str:
        """Return the drawing as the text of an SVG file on white with its title. `style` is a plain style sheet."""
        drawing = self.file_drawing()
        lines = wrap(self.title, max(12, int(drawing.width / _LETTER)))
        top = _MARGIN + _TITLE_LINE * len(lines)
        width, height = drawing.width + 2 * _MARGIN, drawing.height + top + _MARGIN
        heading = "".join(
            f'<text class="plot-title" x="{_MARGIN}" y="{_MARGIN + _TITLE_LINE * number + 12}">'
            f"{html.escape(line)}</text>"
            for number, line in enumerate(lines)
        )
        return (
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            f'<svg xmlns="http://www.w3.org/2000/svg" class="{drawing.classes}" width="{width:.0f}" '
            f'height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" role="img">'
            f"<title>{html.escape(self.title)}</title><desc>{html.escape(drawing.label)}</desc>"
            f"<style>{html.escape(style, quote=False)}</style>"
            f'<rect class="plot-page" width="{width:.0f}" height="{height:.0f}"/>{heading}'
            f'<g transform="translate({_MARGIN} {top})">{"".join(drawing.parts)}</g></svg>\n'
        )
