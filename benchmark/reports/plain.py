"""A report for terminals: aligned columns, nothing but text."""

import json
from collections.abc import Sequence

from benchmark.reports.figures import RunFigures
from benchmark.reports.wording import (
    HEADINGS,
    contest_interval,
    duration,
    epochs_told,
    group_name,
    interval,
    intervals_used,
    money,
    percent,
    price_words,
    tests_share,
    token_count,
)


def as_text(runs: Sequence[RunFigures]) -> str:
    """One block a run."""
    return "\n\n".join(_run(figures) for figures in runs)


def _run(figures: RunFigures) -> str:
    lines = [
        f"Run {figures.run}",
        f"  {figures.method} with {figures.model} on {figures.dataset}: "
        f"{figures.state}, {figures.done} of {figures.total} items done",
        *(f"  ! {caveat}" for caveat in figures.caveats),
        "",
        *_groups(figures),
        f"  {intervals_used(figures)}",
        *(f"  {line}" for line in epochs_told(figures)),
        "",
        *_table(
            ["verdict", "attempts", "share"],
            [[verdict, str(n), percent(n / figures.done)] for verdict, n in figures.verdicts.items()],
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
                ["price", price_words(figures)],
                ["calls that broke off, possibly billed", str(figures.calls_broken_off)],
                ["calls together", duration(figures.seconds)],
                ["from start to end", duration(figures.wall_seconds)],
            ],
        ),
    ]
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
            f"  {figures.failed} items failed by faults that are not the model's; --resume tries them again:",
        ]
        lines += [f"    {count} x {fault}" for fault, count in figures.faults.items()]
    if figures.published:
        lines += [
            "",
            "  published for this method (other models, other problems: no target)",
            *_published(figures),
        ]
    lines += ["", "  parameters and manifest"]
    document = json.dumps(figures.depends_on, indent=2, ensure_ascii=False)
    lines += [f"    {line}" for line in document.splitlines()[1:-1]]
    return "\n".join(lines)


def _groups(figures: RunFigures) -> list[str]:
    """One table, its parts under headings of their own."""
    first = figures.groups[0]
    header = ["", "problems", "attempts", "solved"]
    for pass_at, tests_at in zip(first.pass_at, first.tests_at, strict=True):
        header += [f"pass@{pass_at.k}"] * 2 + [f"over contests (k={pass_at.k})", f"tests@{tests_at.k}"]
    rows: list[list[str]] = []
    by = "all"
    for group in figures.groups:
        if group.by not in (by, "tier"):
            rows.append([f"({HEADINGS[group.by]})", *[""] * (len(header) - 1)])
        by = group.by
        row = [group_name(group, figures), str(group.problems), str(group.attempts), str(group.solved)]
        for pass_at, tests_at in zip(group.pass_at, group.tests_at, strict=True):
            row += [
                percent(pass_at.value),
                interval(pass_at),
                contest_interval(pass_at),
                tests_share(tests_at),
            ]
        rows.append(row)
    return _table(header, rows)


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
    """The first column to the left, the others to the right; a heading said twice covers both columns."""
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
