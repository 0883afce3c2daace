"""The growth curve of a program: the measured times, the fit, the prediction and the limit."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.safestring import mark_safe
from django.views.decorators.http import require_http_methods

from accounts.roles import Role, requires_role
from benchmark.growth import Growth, NoSizesError, enqueue_curve, growth_of, request_curve
from benchmark.growth.wording import limit_text, number, outcome_text, verdict_text
from benchmark.models import Submission
from benchmark.rendering import highlight
from benchmark.views.growth_plot import GrowthPlot
from benchmark.views.plots import PagePlots, ShownPlot


@dataclass(frozen=True)
class GrowthRow:
    """A size, its CPU seconds, its runs, and whether the fit uses it."""

    size: str
    seconds: float
    runs: int
    used: bool


@dataclass(frozen=True)
class GrowthSeries:
    """A series of one size argument, ready for a page."""

    parameter: str
    text: str
    plot: ShownPlot | None
    rows: Sequence[GrowthRow]


@dataclass(frozen=True)
class GrowthSummary:
    """A measured growth, ready for a page."""

    verdict: str
    limit: str
    slow: bool
    series: Sequence[GrowthSeries]


def growth_summary(growth: Growth, plots: PagePlots, name: str) -> GrowthSummary:
    """Return what pages show of a growth, the steepest series first. `name` begins the names of its plots."""
    ordered = sorted(growth.series, key=lambda one: one is not growth.steepest)
    found = []
    for position, one in enumerate(ordered, 1):
        used = one.fit.sizes if one.fit else ()
        rows = [GrowthRow(number(p.size), p.seconds, len(p.times), p.size in used) for p in one.points]
        plot = GrowthPlot(
            name=f"{name}-{position}", title=f"CPU seconds by {one.parameter}", series=one, growth=growth
        )
        shown = plots.show(plot) if one.points else None
        found.append(GrowthSeries(one.parameter, outcome_text(one, growth), shown, rows))
    return GrowthSummary(verdict_text(growth), limit_text(growth), growth.slow, found)


@require_http_methods(["GET", "HEAD", "POST"])
@requires_role(Role.RESEARCHER)
def growth(request: HttpRequest, submission_id: int) -> HttpResponse:
    """Show the newest growth curve of a program. POST requests its measurement."""
    submission = get_object_or_404(Submission.objects.select_related("problem__dataset"), pk=submission_id)
    refusal = ""
    if request.method == "POST":
        try:
            enqueue_curve(request_curve(submission))
            return redirect("growth", submission_id)
        except NoSizesError as error:
            refusal = str(error)
    curve = submission.growth_curves.order_by("-pk").first()
    measured = growth_of(curve) if curve else None
    plots = PagePlots(request)
    return plots.render(
        "benchmark/growth.html",
        {
            "curve": curve,
            "refusal": refusal,
            "problem": submission.problem,
            "language": submission.language,
            "growth": growth_summary(measured, plots, "growth") if measured else None,
            # The highlighter escapes the program.
            "program": mark_safe(highlight(submission.source, submission.language)),  # noqa: S308
        },
    )
