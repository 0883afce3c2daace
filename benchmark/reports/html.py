"""A report as one HTML file that needs nothing else: no scripts, no links, its style inside."""

import json
from collections.abc import Sequence
from pathlib import Path

from django.template import Context, Engine

from benchmark.reports.figures import RunFigures
from benchmark.reports.wording import interval, intervals_used, percent, token_count


def as_html(runs: Sequence[RunFigures]) -> str:
    """The page, everything escaped by the template engine."""
    source = Path(__file__).with_name("report.html").read_text(encoding="utf-8")
    return Engine(autoescape=True).from_string(source).render(Context({"runs": [_run(r) for r in runs]}))


def _run(figures: RunFigures) -> dict[str, object]:
    return {
        "figures": figures,
        "ks": [figure.k for figure in figures.groups[0].pass_at],
        "interval": intervals_used(figures),
        "groups": [
            (group, [(percent(figure.value), interval(figure)) for figure in group.pass_at])
            for group in figures.groups
        ],
        "verdicts": [(verdict, n, percent(n / figures.done)) for verdict, n in figures.verdicts.items()],
        "tokens": [(t.kind.replace("_", " "), token_count(t, figures.generations)) for t in figures.tokens],
        "manifest": json.dumps(
            {"parameters": figures.parameters, **figures.manifest}, indent=2, ensure_ascii=False
        ),
    }
