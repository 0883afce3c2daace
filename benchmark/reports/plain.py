"""A report as text for terminals, in aligned columns."""

import json
from collections.abc import Sequence

from benchmark.models.finishes import FINISHES
from benchmark.reports.figures import RunFigures
from benchmark.reports.formatting import (
    GROUP_HEADINGS,
    contest_interval,
    count_columns,
    duration,
    format_epochs,
    format_price,
    group_name,
    headline,
    headline_index,
    interval,
    intervals_used,
    money,
    percent,
    score_columns,
    tests_share,
    token_count,
    verdict_heading,
)
from benchmark.reports.run_metrics import format_metrics


def as_text(runs: Sequence[RunFigures]) -> str:
    """Return the report with a block for each run."""
    return "\n\n".join(_run(figures) for figures in runs)


def _run(figures: RunFigures) -> str:
    lines = [
        f"Run {figures.run}",
        f"  {figures.method} with {figures.model} on {figures.dataset}: "
        f"{figures.state}, {figures.done} of {figures.total} items done",
        *([f"  {headline(figures)}"] if figures.headline else []),
        *(f"  ! {warning}" for warning in figures.warnings),
        "",
        *_groups(figures),
        *([f"  {intervals_used(figures)}"] if figures.headline else []),
        *(f"  {line}" for line in format_epochs(figures)),
        "",
        *_verdicts(figures),
        *_table(
            ["replies", "", "share"],
            [
                [FINISHES[kind], str(n), percent(n / figures.generations if figures.generations else None)]
                for kind, n in figures.finishes.items()
            ],
        ),
        "",
        *_table(
            ["tokens", f"of {figures.generations} generations"],
            [[t.kind.replace("_", " "), token_count(t, figures.generations)] for t in figures.tokens],
        ),
        "",
        *_table(
            ["cost and time", ""],
            [
                ["cost", money(figures)],
                ["price", format_price(figures)],
                ["interrupted calls, possibly billed", str(figures.calls_broken_off)],
                ["total time of calls", duration(figures.seconds)],
                ["wall time", duration(figures.wall_seconds)],
            ],
        ),
    ]
    if figures.metrics:
        rows = [list(row) for row in format_metrics(figures.metrics)]
        lines += ["", *_table(["metric", ""], rows)]
    if figures.after:
        lines += [
            "",
            *_table(
                ["reflections allowed", "pass@1", "pass@1", "not judged"],
                [[str(one.i), percent(one.value), interval(one), str(one.unjudged)] for one in figures.after],
            ),
        ]
    if figures.faults:
        lines += [
            "",
            f"  {figures.failed} items failed because of the provider or the judge; --resume retries them:",
        ]
        lines += [f"    {count} x {fault}" for fault, count in figures.faults.items()]
    if figures.published:
        lines += [
            "",
            "  published for this method (other models, other problems)",
            *_published(figures),
        ]
    lines += ["", "  parameters and manifest"]
    document = json.dumps(figures.depends_on, indent=2, ensure_ascii=False)
    lines += [f"    {line}" for line in document.splitlines()[1:-1]]
    return "\n".join(lines)


def _groups(figures: RunFigures) -> list[str]:
    """Return one table of all groups, with a heading for each kind of group."""
    header = ["", *(name for name, _ in count_columns(figures))]
    for point, tests_at, detailed in score_columns(figures.groups[0]):
        name = figures.figure_name(point.k)
        header += [name, *([name, f"over contests (k={point.k})"] if detailed else [])]
        header += [f"tests@{tests_at.k}"] if tests_at else []
    if figures.rejected and figures.headline:
        name = figures.figure_name(figures.headline.k)
        header += [f"{name} of answered", f"{name} of planned"]
    rows: list[list[str]] = []
    by = "all"
    for group in figures.groups:
        if group.by not in (by, "tier"):
            rows.append([f"({GROUP_HEADINGS[group.by]})", *[""] * (len(header) - 1)])
        by = group.by
        row = [group_name(group, figures), *(str(count(group)) for _, count in count_columns(figures))]
        for point, tests_at, detailed in score_columns(group):
            row += [percent(point.value), *([interval(point), contest_interval(point)] if detailed else [])]
            row += [tests_share(tests_at)] if tests_at else []
        if figures.rejected and figures.headline:
            row += [
                percent(points[headline_index(group)].value)
                for points in (group.answered_at, group.planned_at)
            ]
        rows.append(row)
    return _table(header, rows)


def _verdicts(figures: RunFigures) -> list[str]:
    """Return the table of verdicts, or of the states of the verifiers that a run built."""
    if figures.scoring == "none":
        counts, words = figures.verifiers, ["verifiers", "problems", "share"]
    else:
        counts, words = (
            figures.verdicts,
            [verdict_heading(figures), "chains" if figures.scoring == "refine" else "attempts", "share"],
        )
    return [*_table(words, [[name, str(n), percent(n / figures.done)] for name, n in counts.items()]), ""]


def _published(figures: RunFigures) -> list[str]:
    marks = list(dict.fromkeys(mark for one in figures.published for mark in one.marks))
    lines = _table(
        ["table", "row", "as printed", "of", ""],
        [
            [
                one.table,
                one.row,
                one.cells,
                one.figure,
                " ".join(f"!{marks.index(mark) + 1}" for mark in one.marks),
            ]
            for one in figures.published
        ],
    )
    return lines + [f"  !{number} {mark}" for number, mark in enumerate(marks, 1)]


def _table(header: list[str], rows: list[list[str]]) -> list[str]:
    """Align the first column to the left and the others to the right. A repeated heading is printed once."""
    shown = [name if name not in header[:place] or not name else "" for place, name in enumerate(header)]
    widths = [max(len(row[column]) for row in [shown, *rows]) for column in range(len(header))]
    return [
        "  "
        + "  ".join(
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in [shown, *rows]
    ]
