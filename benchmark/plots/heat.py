"""Heat maps of shares: one row below the other, one column for each problem."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap

from benchmark.plots.drawing import Drawing, titled
from benchmark.plots.plot import Plot, Row

_WIDTH, _LINE, _STRIP, _GAP = 400, 15, 22, 8
"""The width, narrow because texts must be readable on a small screen, and the heights of its parts."""

_WIDEST = 20
"""The maximum width of a column."""

_NAME = 50
"""The most letters in a line of a name."""

LEVELS = ("none", "some", "most", "all")
"""The levels of a share: 0, below a half, at least a half, 1. Colour and height of a cell show them."""

_LEGEND_COLUMNS, _LEGEND_LINE = 3, 20

_LEGEND: dict[float | None, str] = {
    0.0: "none solved",
    0.35: "under half",
    0.65: "half or more",
    1.0: "all solved",
    None: "not tried",
}
"""A share of each level with its text."""


def heat_level(share: float | None) -> str:
    """Return the level of a share, or "untried" for None."""
    if share is None:
        return "untried"
    return LEVELS[0 if share <= 0 else 3 if share >= 1 else 2 if share >= 0.5 else 1]


@dataclass(frozen=True)
class HeatRow:
    """A named row with a share for each column; None where nothing was tried."""

    name: str
    shares: Sequence[float | None]


@dataclass(frozen=True, kw_only=True)
class HeatMap(Plot):
    """Shares by row and column, such as solved attempts by run and problem. Each cell is filled up to its share.

    Columns are ordered by their shares, the highest first. `column_name` names one column, `share_name` the values.
    """

    columns: Sequence[str]
    heat_rows: Sequence[HeatRow]
    column_name: str = "problem"
    share_name: str = "share solved"

    def drawing(self) -> Drawing:
        """Return the drawing."""
        names = [wrap(self._summary(row), _NAME) for row in self.heat_rows]
        height = sum(_LINE * len(lines) + 4 + _STRIP + _GAP for lines in names) + 2 * _LEGEND_LINE + 4
        summaries = "; ".join(self._summary(row) for row in self.heat_rows)
        drawing = Drawing(_WIDTH, height, "chart heat", f"{self.title}. {summaries}.")
        order = self._order()
        width = min(_WIDEST, _WIDTH / max(1, len(order)))
        top = 0.0
        for row, lines in zip(self.heat_rows, names, strict=True):
            for number, text in enumerate(lines):
                drawing.text(0, top + _LINE * number + 12, text, "forest-name")
            top += _LINE * len(lines) + 4
            drawing.add(titled(self._summary(row), *self._strip(row, order, width, top)))
            top += _STRIP + _GAP
        self._draw_legend(drawing, top + 4)
        return drawing

    def _order(self) -> list[int]:
        """Return the columns, those with the highest mean share first, equal ones beside each other."""

        def key(column: int) -> tuple[float, list[float]]:
            shares = [
                -1.0 if row.shares[column] is None else row.shares[column] or 0.0 for row in self.heat_rows
            ]
            return -sum(max(share, 0.0) for share in shares), [-share for share in shares]

        return sorted(range(len(self.columns)), key=key)

    def _strip(self, row: HeatRow, order: Sequence[int], width: float, top: float) -> Iterator[str]:
        """Yield one path for each level, so that many cells take little space in the page."""
        yield f'<rect class="heat-frame" x="0" y="{top:.1f}" width="{width * len(order):.1f}" height="{_STRIP}"/>'
        cells: dict[str, list[str]] = {}
        bottom = top + _STRIP
        for (level, height), (first, last) in _merged([_cell(row.shares[column]) for column in order]):
            place = _path(level, first * width, bottom, (last - first) * width, height)
            cells.setdefault(level, []).append(place)
        for level, paths in cells.items():
            yield f'<path class="heat-{level}" d="{"".join(paths)}"/>'

    def _draw_legend(self, drawing: Drawing, top: float) -> None:
        for number, (share, text) in enumerate(_LEGEND.items()):
            line, column = divmod(number, _LEGEND_COLUMNS)
            x, y = column * _WIDTH / _LEGEND_COLUMNS, top + line * _LEGEND_LINE
            level, height = _cell(share, 14)
            drawing.add(f'<rect class="heat-frame" x="{x:.1f}" y="{y:.1f}" width="14" height="14"/>')
            drawing.add(f'<path class="heat-{level}" d="{_path(level, x, y + 14, 14, height)}"/>')
            drawing.text(x + 19, y + 11, text)

    def _summary(self, row: HeatRow) -> str:
        tried = [share for share in row.shares if share is not None]
        mean = f", {sum(tried) / len(tried):.1%} solved".replace("%", " %") if tried else ""
        return f"{row.name}: {len(tried)} {self.column_name}{'' if len(tried) == 1 else 's'} tried{mean}"

    def rows(self) -> Iterator[Row]:
        """Return a row for each cell. Header: row, the name of a column, the name of the values."""
        yield ("run", self.column_name, self.share_name)
        for row in self.heat_rows:
            for column, share in zip(self.columns, row.shares, strict=True):
                yield (row.name, column, share)


def _cell(share: float | None, full: float = _STRIP) -> tuple[str, float]:
    """Return the level and the height of a cell."""
    return heat_level(share), full if share is None else max(share * full, 2.0)


def _path(level: str, x: float, bottom: float, width: float, height: float) -> str:
    """Return the path of a cell: filled up to its height, or a line in the middle for cells that were not tried."""
    if level == "untried":
        return f"M{x:.1f} {bottom - height / 2:.1f}h{width:.1f}"
    return f"M{x:.1f} {bottom:.1f}v{-height:.1f}h{width:.1f}v{height:.1f}z"


def _merged(cells: Sequence[tuple[str, float]]) -> Iterator[tuple[tuple[str, float], tuple[int, int]]]:
    """Yield each sequence of equal cells with its first column and the one after its last."""
    first = 0
    for number in range(1, len(cells) + 1):
        if number == len(cells) or cells[number] != cells[first]:
            yield cells[first], (first, number)
            first = number
