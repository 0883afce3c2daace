"""The page of slow programs: each arm compared with `slow-told` over the same start programs."""

from dataclasses import dataclass

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from accounts.paging import query_without_page
from accounts.roles import Role, requires_role
from benchmark.growth.starts import ARM_PREFIX
from benchmark.models import Run
from benchmark.reports.slow import (
    BASE,
    NOTE,
    FigureText,
    SlowComparedArm,
    SlowFigure,
    SlowOutcome,
    SlowReport,
    SlowRow,
    SlowRunsError,
    figure_text,
    shown_slow_report,
)
from benchmark.views.access import MAXIMUM_RUNS, listed_runs, runs_from_query
from benchmark.views.plots import PagePlots, ShownPlot
from benchmark.views.run_plots import slow_plots

PAGE_LENGTH = 50
"""Start programs on a page of the table."""


@dataclass(frozen=True)
class ShownArm:
    """An arm with its figures in words, and their plots."""

    arm: SlowComparedArm
    plots: list[ShownPlot]
    figures: list[tuple[SlowFigure, FigureText | None]]


@require_safe
@requires_role(Role.RESEARCHER)
def slow_programs(request: HttpRequest) -> HttpResponse:
    """Show the figures of `manage.py slow report`. Query: run (several, one of slow-told), page (of the programs)."""
    runs = runs_from_query(request)
    report: SlowReport | None = None
    refusal = ""
    if runs:
        try:
            report = shown_slow_report(runs)
        except SlowRunsError as error:
            refusal = str(error)
    query = query_without_page(request)
    context = {
        "base": BASE,
        "chosen": {run.pk for run in runs},
        "most": MAXIMUM_RUNS,
        "runs": listed_runs(Run.objects.filter(method__startswith=ARM_PREFIX)),
        "refusal": refusal,
        "report": report,
        "note": NOTE,
        "query": query.urlencode(),
    }
    plots = PagePlots(request)
    if report:
        columns = [(report.base_run, BASE), *((arm.run, arm.arm) for arm in report.arms)]
        page = Paginator(report.rows, PAGE_LENGTH).get_page(request.GET.get("page"))
        context |= {
            "model": runs[0].model_spec,
            "dataset": runs[0].dataset.name,
            "arms": [
                ShownArm(
                    arm,
                    [plots.show(plot) for plot in slow_plots(arm, f"arm-{number}")],
                    [(one, figure_text(one)) for one in arm.figures],
                )
                for number, arm in enumerate(report.arms, 1)
            ],
            "columns": columns,
            "left_out": _left_out(report),
            "page": page,
            "rows": [(row, _outcomes(row, columns)) for row in page.object_list],
        }
    return plots.render("benchmark/runs/slow.html", context, status=400 if refusal else 200)


def _left_out(report: SlowReport) -> list[tuple[str, str, str, int]]:
    """Return the chains that no figure counts: arm, address of the run's items, reason and number."""
    arms = [(BASE, report.base_run, report.base_left_out)]
    arms += [(arm.arm, arm.run, arm.left_out) for arm in report.arms]
    return [
        (name, reverse("run_items", args=[run]), reason, count)
        for name, run, counts in arms
        for reason, count in counts.items()
    ]


def _outcomes(row: SlowRow, columns: list[tuple[str, str]]) -> list[tuple[str, SlowOutcome | None]]:
    """Return the name of each arm with its outcome at the start program; None without a finished chain."""
    return [(name, row.outcomes.get(run)) for run, name in columns]
