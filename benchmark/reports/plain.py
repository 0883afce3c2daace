"""A report for terminals: aligned columns, nothing but text."""

import json
from collections.abc import Sequence

from benchmark.reports.figures import RunFigures
from benchmark.reports.wording import interval, intervals_used, percent, token_count


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
        *_table(
            [
                "",
                "problems",
                "attempts",
                "solved",
                *(f"pass@{f.k}" for f in figures.groups[0].pass_at for _ in "12"),
            ],
            [
                [
                    group.name,
                    str(group.problems),
                    str(group.attempts),
                    str(group.solved),
                    *(text for figure in group.pass_at for text in (percent(figure.value), interval(figure))),
                ]
                for group in figures.groups
            ],
        ),
        f"  {intervals_used(figures)}",
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
    ]
    if figures.faults:
        lines += [
            "",
            f"  {figures.failed} items failed by faults that are not the model's; --resume tries them again:",
        ]
        lines += [f"    {count} x {fault}" for fault, count in figures.faults.items()]
    lines += ["", "  parameters and manifest"]
    document = {"parameters": figures.parameters, **figures.manifest}
    lines += [f"    {line}" for line in json.dumps(document, indent=2, ensure_ascii=False).splitlines()[1:-1]]
    return "\n".join(lines)


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
