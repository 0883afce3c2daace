"""The flow diagram of a study as SVG (as in CONSORT 2025). Every number is a link; the page adds a table."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple
from urllib.parse import urlencode

from tutoring.studies.flow import ANALYSED, WAITING, ArmFlow, Flow

COLUMN, GAP = 208, 20
"""Width of an arm's column, and the space between columns, in pixels."""

LINE, PADDING = 19, 9
"""Height of a line of text, and the space above and below the lines of a box, in pixels."""

_ARROW = 22


class Line(NamedTuple):
    """One line of a box: a number with its words. `query` selects the counted assignments; None: no link."""

    number: int
    text: str
    query: str | None = None


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


def flow_svg(flow: Flow, assignments_url: str, problems_url: str) -> str:
    """Return the diagram as an <svg> element with all texts escaped."""
    columns = [arm_boxes(arm) for arm in flow.arms]
    width = max(len(columns) * (COLUMN + GAP) - GAP, 2 * COLUMN + GAP) + 2
    top = Box("", [Line(flow.considered, "problems considered", "")])
    out = Box("Not eligible", [Line(number, reason) for reason, number in flow.left_out.items()])
    eligible = Box(
        "", [Line(flow.eligible, "problems eligible", ""), Line(flow.assigned, "sessions and chains", "*")]
    )
    middle = width / 2
    parts: list[str] = []
    y = 1.0

    def link(line: Line) -> str:
        if line.query is None:
            return ""
        if line.query == "":
            return problems_url
        return assignments_url if line.query == "*" else f"{assignments_url}?{line.query}"

    def box(one: Box, left: float) -> None:
        parts.append(f'<rect x="{left:.0f}" y="{y:.0f}" width="{COLUMN}" height="{one.height}" rx="6"/>')
        baseline = y + PADDING + 14
        if one.heading:
            parts.append(
                f'<text class="head" x="{left + 10:.0f}" y="{baseline:.0f}">{html.escape(one.heading)}</text>'
            )
            baseline += LINE
        for line in one.lines:
            parts.append(_line_svg(line, link(line), left + 10, baseline))
            baseline += LINE

    def arrow(x: float, start: float, end: float) -> None:
        parts.append(f'<path class="arrow" d="M{x:.0f} {start:.0f}V{end - 1:.0f}m-4 -5l4 5l4 -5"/>')

    box(top, middle - COLUMN / 2 if not flow.left_out else middle - COLUMN - GAP / 2)
    if flow.left_out:
        box(out, middle + GAP / 2)
    first = y + top.height
    y += max(top.height, out.height if flow.left_out else 0) + _ARROW
    arrow(middle if not flow.left_out else middle - COLUMN / 2 - GAP / 2, first, y)
    box(eligible, middle - COLUMN / 2 if not flow.left_out else middle - COLUMN - GAP / 2)
    start = y + eligible.height
    y += eligible.height + 2 * _ARROW
    spread = len(columns) * (COLUMN + GAP) - GAP
    lefts = [(width - spread) / 2 + number * (COLUMN + GAP) for number in range(len(columns))]
    centres = [left + COLUMN / 2 for left in lefts]
    stem = middle if not flow.left_out else middle - COLUMN / 2 - GAP / 2
    parts.append(
        f'<path class="arrow" d="M{stem:.0f} {start:.0f}V{start + _ARROW:.0f}'
        f'M{min(stem, *centres):.0f} {start + _ARROW:.0f}H{max(stem, *centres):.0f}"/>'
    )
    for centre in centres:
        arrow(centre, start + _ARROW, y)
    rows = list(zip(*columns, strict=True))
    for number, row in enumerate(rows):
        tallest = max(one.height for one in row)
        for one, left, centre in zip(row, lefts, centres, strict=True):
            box(Box(one.heading, one.lines), left)
            if number < len(rows) - 1:
                arrow(centre, y + one.height, y + tallest + _ARROW)
        y += tallest + _ARROW
    height = y - _ARROW + 2
    label = "Flow of the study; the table below has the same numbers"
    return (
        f'<svg class="flow" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}" '
        f'role="group" aria-label="{label}">{"".join(parts)}</svg>'
    )


def _line_svg(line: Line, address: str, x: float, y: float) -> str:
    number = f'<tspan class="count">{line.number}</tspan>'
    if address:
        label = html.escape(f"{line.number} {line.text}")
        number = f'<a href="{html.escape(address)}" aria-label="{label}">{number}</a>'
    return f'<text x="{x:.0f}" y="{y:.0f}">{number} {html.escape(_cut(line.text))}</text>'


def _cut(text: str) -> str:
    return text if len(text) <= 26 else f"{text[:25]}…"
