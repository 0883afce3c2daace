"""A report as one HTML file that needs nothing else: no scripts, no links, its style inside."""

import json
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from django.template import Context, Engine

from benchmark.reports.figures import RunFigures
from benchmark.reports.groups import Group
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


def as_html(runs: Sequence[RunFigures]) -> str:
    """The page, everything escaped by the template engine."""
    source = Path(__file__).with_name("report.html").read_text(encoding="utf-8")
    return Engine(autoescape=True).from_string(source).render(Context({"runs": [_run(r) for r in runs]}))


def _run(figures: RunFigures) -> dict[str, object]:
    return {
        "figures": figures,
        "ks": [figure.k for figure in figures.groups[0].pass_at],
        "interval": intervals_used(figures),
        "epochs": epochs_told(figures),
        "parts": [
            (HEADINGS[by], [_group(group, figures) for group in groups])
            for by, groups in groupby(figures.groups, key=lambda group: group.by)
        ],
        "verdicts": [(verdict, n, percent(n / figures.done)) for verdict, n in figures.verdicts.items()],
        "used": [
            *(
                (f"{t.kind.replace('_', ' ')} tokens", token_count(t, figures.generations))
                for t in figures.tokens
            ),
            ("cost", money(figures)),
            ("price", price_words(figures)),
            ("calls that broke off, possibly billed", figures.calls_broken_off),
            ("time of the calls", duration(figures.seconds)),
            ("from start to end", duration(figures.wall_seconds)),
        ],
        "after": [(one.i, percent(one.value), interval(one), one.unjudged) for one in figures.after],
        "manifest": json.dumps(figures.depends_on, indent=2, ensure_ascii=False),
    }


def _group(group: Group, figures: RunFigures) -> dict[str, object]:
    return {
        "name": group_name(group, figures),
        "group": group,
        "figures": [
            (percent(pass_at.value), interval(pass_at), contest_interval(pass_at), tests_share(tests_at))
            for pass_at, tests_at in zip(group.pass_at, group.tests_at, strict=True)
        ],
    }
