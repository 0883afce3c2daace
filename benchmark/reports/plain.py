"""A report as text for terminals, in aligned columns."""

import json
from collections.abc import Iterable, Sequence

from benchmark.reports.figures import RunFigures
from benchmark.reports.formatting import (
    GROUP_HEADINGS,
    contest_interval,
    count_columns,
    format_epochs,
    group_name,
    has_memory_column,
    headline,
    interval,
    intervals_used,
    memory_score,
    percent,
    score_columns,
    tests_share,
    verdict_heading,
)
from benchmark.reports.rows import (
    answered_and_planned,
    cost_rows,
    finish_rows,
    reflection_rows,
    token_rows,
    verdict_rows,
)
from benchmark.reports.run_metrics import format_metrics


def as_text(runs: Sequence[RunFigures]) -> str:
    """Return the report with a block for each run."""
    return "\n\n".join(_run(figures) for figures in runs)


def _run(figures: RunFigures) -> str:
    lines = [
        f"Run {figures.run}",
        f"  {figures.method} with {figures.model} on {figures.dataset}: "
        f"{figures.state}, {figures.done:,} of {figures.total:,} items done",
        *([f"  {headline(figures)}"] if figures.headline else []),
        *(f"  ! {warning}" for warning in figures.warnings),
        "",
        *_groups(figures),
        *([f"  {intervals_used(figures)}"] if figures.headline else []),
        *(f"  {line}" for line in format_epochs(figures)),
        "",
        *_verdicts(figures),
        *_table(["replies", "", "share"], finish_rows(figures)),
        "",
        *_table(["tokens", f"of {figures.generations:,} generations"], token_rows(figures)),
        "",
        *_table(["cost and time", ""], cost_rows(figures)),
    ]
    if figures.metrics:
        lines += ["", *_table(["metric", ""], format_metrics(figures.metrics))]
    if figures.after:
        header = ["reflections allowed", "pass@1", "pass@1", "not judged"]
        lines += ["", *_table(header, reflection_rows(figures))]
    if figures.faults:
        lines += [
            "",
            f"  {figures.failed:,} items failed because of the provider or the judge; --resume retries them:",
        ]
        lines += [f"    {count:,} x {fault}" for fault, count in figures.faults.items()]
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
    with_memory = has_memory_column(figures)
    header += ["memory probes"] * with_memory
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
        row += answered_and_planned(group, figures)
        row += [memory_score(group, figures)] * with_memory
        rows.append(row)
    return _table(header, rows)


def _verdicts(figures: RunFigures) -> list[str]:
    """Return the table of verdicts, or of the states of the verifiers that a run built."""
    if figures.scoring == "none":
        header = ["verifiers", "problems", "share"]
    else:
        chains = "chains" if figures.scoring == "refine" else "attempts"
        header = [verdict_heading(figures), chains, "share"]
    return [*_table(header, verdict_rows(figures)), ""]


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


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Align the first column to the left and the others to the right. A repeated heading is printed once."""
    shown = [name if name not in header[:place] or not name else "" for place, name in enumerate(header)]
    lines = [shown, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    return [
        "  "
        + "  ".join(
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
