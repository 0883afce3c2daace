"""The flow diagram of a study (as in CONSORT 2025). Every number is a link; the page adds a table."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple
from urllib.parse import urlencode

from benchmark.plots import Drawing, Plot
from benchmark.plots.plot import Row
from tutoring.studies.flow import ANALYSED, WAITING, ArmFlow, Flow

COLUMN, GAP = 208, 20
"""Width of an arm's column, and the space between columns, in pixels."""

LINE, PADDING = 19, 9
"""Height of a line of text, and the space above and below the lines of a box, in pixels."""

_ARROW = 22


class Line(NamedTuple):
    """One line of a box: a number with its words.

    `target` is an address, or the query that selects the counted assignments; empty: no link.
    """

    number: int
    text: str
    target: str = ""


@dataclass(frozen=True)
class Box:
    """A box of the diagram: a heading, then lines."""

    heading: str
    lines: Sequence[Line]

    @property
    def height(self) -> int:
        """Return the height in pixels."""
        return 2 * PADDING + LINE * (len(self.lines) + bool(self.heading))


def arm_boxes(arm: ArmFlow) -> list[Box]:
    """Return the boxes of one arm from top to bottom. Empty lines of ended assignments are left out."""
    name, in_box = f"arm={arm.arm}", partial(box_query, arm.arm)
    human = arm.kind == "human"
    words = "sessions" if human else "chains"
    assigned = [Line(arm.assigned, f"{words} assigned", name)]
    if arm.replacements:
        assigned.append(Line(arm.replacements, "of them replacements", f"{name}&passage=replacement"))
    passages = [Line(arm.offered, "offered", f"{name}&passage=offered")] if human else []
    passages += [
        Line(arm.started, "started", f"{name}&passage=started"),
        Line(arm.completed, "ended", f"{name}&passage=ended"),
    ]
    out = [Line(arm.expired, "expired", in_box("expired"))] if human else []
    out += [
        Line(number, _words(f"excluded: {reason}"), in_box(f"excluded: {reason}"))
        for reason, number in arm.excluded.items()
    ]
    out += [
        Line(number, _words(reason), in_box(f"not analysed: {reason}"))
        for reason, number in arm.not_analysed.items()
    ]
    waiting = [Line(arm.boxes[box], box, in_box(box)) for box in WAITING if arm.boxes[box]]
    return [
        Box(arm.arm, assigned),
        Box("", passages),
        Box("Not analysed", out or [Line(0, "left out")]),
        Box("Not ended", waiting or [Line(0, "waiting")]),
        Box("", [Line(arm.boxes[ANALYSED], "analysed", in_box(ANALYSED))]),
    ]


def box_query(arm: str, box: str) -> str:
    """Return the query of the address that lists the assignments of an arm in one box of the flow."""
    return urlencode({"arm": arm, "box": box})


def _words(reason: str) -> str:
    return reason.replace("_", " ")


@dataclass(frozen=True, kw_only=True)
class FlowPlot(Plot):
    """The flow diagram: the problems are at the top, then each arm has a column.

    `problems_url` is the link of the numbers of problems.
    """

    flow: Flow
    assignments_url: str
    problems_url: str

    def drawing(self) -> Drawing:
        """Return the diagram with its links."""
        return self._drawing(linked=True)

    def file_drawing(self) -> Drawing:
        """Return the diagram without links."""
        return self._drawing(linked=False)

    def _drawing(self, *, linked: bool) -> Drawing:
        flow = self.flow
        columns = [arm_boxes(arm) for arm in flow.arms]
        diagram = _Diagram(self.assignments_url, linked=linked)
        spread = len(columns) * (COLUMN + GAP) - GAP
        width = max(spread, 2 * COLUMN + GAP) + 2
        stem = width / 2 - (COLUMN + GAP) / 2 if flow.left_out else width / 2
        out = Box("Not eligible", [Line(number, reason) for reason, number in flow.left_out.items()])
        considered = Box("", [Line(flow.considered, "problems considered", self.problems_url)])
        below = diagram.y + max(considered.height, out.height if flow.left_out else 0) + _ARROW
        if flow.left_out:
            diagram.box(out, stem + (COLUMN + GAP))
        diagram.box(considered, stem)
        diagram.arrow(stem, diagram.y + considered.height, below)
        diagram.y = below
        eligible = Box(
            "",
            [
                Line(flow.eligible, "problems eligible", self.problems_url),
                Line(flow.assigned, "sessions and chains", self.assignments_url),
            ],
        )
        diagram.box(eligible, stem)
        centres = [(width - spread + COLUMN) / 2 + number * (COLUMN + GAP) for number in range(len(columns))]
        diagram.branch(stem, eligible.height, centres)
        rows = list(zip(*columns, strict=True))
        for number, row in enumerate(rows):
            tallest = max(one.height for one in row)
            for one, centre in zip(row, centres, strict=True):
                diagram.box(one, centre)
                if number < len(rows) - 1:
                    diagram.arrow(centre, diagram.y + one.height, diagram.y + tallest + _ARROW)
            diagram.y += tallest + _ARROW
        label = "Flow of the study; the table has the same numbers"
        return Drawing(
            width, diagram.y - _ARROW + 2, "flow", label, fixed=True, interactive=linked, parts=diagram.parts
        )

    def rows(self) -> Iterator[Row]:
        """Return a row for each number of the diagram: its arm (blank for problems), its box and what it counts."""
        flow = self.flow
        yield ("arm", "box", "what", "number")
        yield ("", "", "problems considered", flow.considered)
        for reason, number in flow.left_out.items():
            yield ("", "Not eligible", reason, number)
        yield ("", "", "problems eligible", flow.eligible)
        yield ("", "", "sessions and chains", flow.assigned)
        for arm in flow.arms:
            for box in arm_boxes(arm):
                for line in box.lines:
                    yield (arm.arm, "" if box.heading == arm.arm else box.heading, line.text, line.number)


@dataclass
class _Diagram:
    """The parts of the diagram so far. The next boxes begin at `y`. `linked`: numbers are links."""

    assignments_url: str
    linked: bool = True
    y: float = 1.0
    parts: list[str] = field(default_factory=list)

    def box(self, one: Box, centre: float) -> None:
        """Draw a box with its texts around a vertical line."""
        left = centre - COLUMN / 2
        self.parts.append(
            f'<rect x="{left:.0f}" y="{self.y:.0f}" width="{COLUMN}" height="{one.height}" rx="6"/>'
        )
        baseline = self.y + PADDING + 14
        if one.heading:
            heading = html.escape(_cut(one.heading))
            self.parts.append(f'<text class="head" x="{left + 10:.0f}" y="{baseline:.0f}">{heading}</text>')
            baseline += LINE
        for line in one.lines:
            self.parts.append(self._line(line, left + 10, baseline))
            baseline += LINE

    def _line(self, line: Line, x: float, y: float) -> str:
        number = f'<tspan class="count">{line.number}</tspan>'
        if line.target and self.linked:
            address = line.target if line.target.startswith("/") else f"{self.assignments_url}?{line.target}"
            label = html.escape(f"{line.number} {line.text}")
            number = f'<a href="{html.escape(address)}" aria-label="{label}">{number}</a>'
        return f'<text x="{x:.0f}" y="{y:.0f}">{number} {html.escape(_cut(line.text))}</text>'

    def arrow(self, x: float, start: float, end: float) -> None:
        """Draw a vertical arrow."""
        self.parts.append(f'<path class="arrow" d="M{x:.0f} {start:.0f}V{end - 1:.0f}m-4 -5l4 5l4 -5"/>')

    def branch(self, stem: float, height: float, centres: Sequence[float]) -> None:
        """Draw the arrows from a box of this height to the columns, and move below them."""
        start, middle = self.y + height, self.y + height + _ARROW
        self.y = middle + _ARROW
        left, right = min(stem, *centres), max(stem, *centres)
        self.parts.append(
            f'<path class="arrow" d="M{stem:.0f} {start:.0f}V{middle:.0f}M{left:.0f} {middle:.0f}H{right:.0f}"/>'
        )
        for centre in centres:
            self.arrow(centre, middle, self.y)


def _cut(text: str) -> str:
    return text if len(text) <= 26 else f"{text[:25]}…"
