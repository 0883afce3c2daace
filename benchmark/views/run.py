"""One run: its figures, progress, dependencies, and downloads."""

import json
from dataclasses import dataclass
from itertools import groupby
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from accounts.roles import Role, requires_role
from benchmark.models import Batch, Run
from benchmark.models.faults import FAULTS
from benchmark.models.finishes import FINISHES
from benchmark.reports import FORMATS
from benchmark.reports.cached_report import run_report
from benchmark.reports.formatting import (
    GROUP_HEADINGS,
    format_price,
    group_name,
    headline,
    intervals_used,
    verdict_heading,
)
from benchmark.reports.progress import RunProgress, run_progress
from benchmark.reports.run_metrics import format_metrics
from benchmark.reports.usage import Usage, measure_usage
from benchmark.views.access import find_run
from benchmark.views.downloads import file_download
from benchmark.views.plots import PagePlots
from benchmark.views.run_plots import reflection_plot

MEDIA_TYPES = {"csv": "text/csv", "json": "application/json", "html": "text/html"}


@require_safe
@requires_role(Role.RESEARCHER)
def run(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Show the run. The page of an open run polls its progress."""
    found = find_run(run_id)
    figures = run_report(found)
    plots, reflections = PagePlots(request), reflection_plot(figures)
    return plots.render(
        "benchmark/runs/run.html",
        {
            "run": found,
            "figures": figures,
            "intervals": intervals_used(figures),
            "price": format_price(figures),
            "reflections": plots.show(reflections) if reflections else None,
            "metrics": format_metrics(figures.metrics),
            "draw_numbers": figures.depends_on["draw_numbers"],
            "headline": headline(figures) if figures.headline else "",
            "verdicts": verdict_heading(figures),
            "finishes": [(kind, FINISHES[kind], count) for kind, count in figures.finishes.items()],
            "parts": [
                (GROUP_HEADINGS[by], [(group, group_name(group, figures)) for group in groups])
                for by, groups in groupby(figures.groups, key=lambda group: group.by)
            ],
            "manifest": json.dumps(figures.depends_on, indent=2, ensure_ascii=False),
            "live": _live(found),
        },
    )


@dataclass(frozen=True)
class LiveRun:
    """The progress of a run with what only its page shows.

    `batches` are those that the provider has not finished, `waits` the reasons for which calls wait before a retry.
    """

    progress: RunProgress
    failures: list[tuple[str, str, int]]
    usage: Usage
    batches: list[Batch]
    waits: list[str]


@require_safe
@requires_role(Role.RESEARCHER)
def progress(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Show the part of the page that is polled."""
    found = find_run(run_id)
    response = render(request, "benchmark/runs/_progress.html", {"run": found, "live": _live(found)})
    if found.state != Run.State.OPEN:
        response["HX-Refresh"] = "true"  # the page now has final figures
    return response


def _live(found: Run) -> LiveRun:
    live = run_progress(found, timezone.now())
    return LiveRun(
        live,
        [(kind, FAULTS[kind], count) for kind, count in live.failures.most_common()],
        measure_usage(found),
        list(found.batches.filter(ended_at=None)) if found.in_batches else [],
        list(found.runners.exclude(waiting="").values_list("waiting", flat=True)),
    )


@require_safe
@requires_role(Role.RESEARCHER)
def export(_request: HttpRequest, run_id: UUID, form: str) -> HttpResponse:
    """Download the report of `manage.py report` as a file."""
    if form not in MEDIA_TYPES:
        raise Http404(f"There is no report in the format {form}.")
    found = find_run(run_id)
    return file_download(FORMATS[form]([run_report(found)]), MEDIA_TYPES[form], f"run-{found.pk}.{form}")
