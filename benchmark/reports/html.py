"""A report as one self-contained HTML file without scripts and links."""

import json
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from django.template import Context, Engine

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
)
from benchmark.reports.groups import GroupFigures
from benchmark.reports.rows import (
    answered_and_planned,
    cost_rows,
    finish_rows,
    reflection_rows,
    token_rows,
    verdict_rows,
)
from benchmark.reports.run_metrics import format_metrics


def as_html(runs: Sequence[RunFigures]) -> str:
    """Return the page. The template engine escapes all texts."""
    source = Path(__file__).with_name("report.html").read_text(encoding="utf-8")
    return Engine(autoescape=True).from_string(source).render(Context({"runs": [_run(r) for r in runs]}))


def _run(figures: RunFigures) -> dict[str, object]:
    return {
        "figures": figures,
        "counts": [name.capitalize() for name, _ in count_columns(figures)],
        "scores": [
            (figures.figure_name(point.k), tests, detailed)
            for point, tests, detailed in score_columns(figures.groups[0])
        ],
        "headline": headline(figures) if figures.headline else "",
        "name": figures.figure_name(figures.headline.k) if figures.headline else "",
        "interval": intervals_used(figures),
        "memory": has_memory_column(figures),
        "epochs": format_epochs(figures),
        "groups": [
            (GROUP_HEADINGS[by], [_group(group, figures) for group in groups])
            for by, groups in groupby(figures.groups, key=lambda group: group.by)
        ],
        "verdicts": verdict_rows(figures),
        "finishes": finish_rows(figures),
        "used": [*((f"{kind} tokens", number) for kind, number in token_rows(figures)), *cost_rows(figures)],
        "metrics": format_metrics(figures.metrics),
        "after": reflection_rows(figures),
        "manifest": json.dumps(figures.depends_on, indent=2, ensure_ascii=False),
    }


def _group(group: GroupFigures, figures: RunFigures) -> dict[str, object]:
    return {
        "name": group_name(group, figures),
        "counts": [count(group) for _, count in count_columns(figures)],
        "figures": [
            (
                percent(point.value),
                [interval(point), contest_interval(point)] if detailed else [],
                tests_share(tests) if tests else "",
            )
            for point, tests, detailed in score_columns(group)
        ],
        "both": answered_and_planned(group, figures),
        "memory": [memory_score(group, figures)] * has_memory_column(figures),
    }
