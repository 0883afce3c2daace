"""A report as one self-contained HTML file without scripts and links."""

import json
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from django.template import Context, Engine

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
)
from benchmark.reports.groups import GroupFigures
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
        "epochs": format_epochs(figures),
        "groups": [
            (GROUP_HEADINGS[by], [_group(group, figures) for group in groups])
            for by, groups in groupby(figures.groups, key=lambda group: group.by)
        ],
        "verdicts": [
            (name, n, percent(n / figures.done))
            for name, n in (figures.verdicts or figures.verifiers).items()
        ],
        "finishes": [
            (FINISHES[kind], n, percent(n / figures.generations if figures.generations else None))
            for kind, n in figures.finishes.items()
        ],
        "used": [
            *(
                (f"{t.kind.replace('_', ' ')} tokens", token_count(t, figures.generations))
                for t in figures.tokens
            ),
            ("cost", money(figures)),
            ("price", format_price(figures)),
            ("interrupted calls, possibly billed", figures.calls_broken_off),
            ("total time of calls", duration(figures.seconds)),
            ("wall time", duration(figures.wall_seconds)),
        ],
        "metrics": format_metrics(figures.metrics),
        "after": [(one.i, percent(one.value), interval(one), one.unjudged) for one in figures.after],
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
        "both": [
            percent(points[headline_index(group)].value) for points in (group.answered_at, group.planned_at)
        ]
        if figures.rejected and figures.headline
        else [],
    }
