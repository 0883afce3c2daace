"""The page of the ladder of help."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.safestring import mark_safe
from django.views.decorators.http import require_GET

from accounts.roles import Role, requires_role
from benchmark.models import Run
from benchmark.plots import (
    POINTS,
    SHARES,
    Curve,
    CurvePlot,
    CurvePoint,
    ForestPlot,
    ForestRow,
    Plot,
    mark_svg,
)
from benchmark.reports.formatting import INTERVAL_NAMES
from benchmark.views.access import listed_runs, runs_from_query
from benchmark.views.downloads import file_download
from benchmark.views.plots import PagePlots, simulated_mark
from tutoring.arms.human_sessions import FORM
from tutoring.arms.methods import NEUTRAL
from tutoring.ladder.documents import figures_csv, figures_document, least_help
from tutoring.ladder.figures import LadderError, LadderFigures, ladder_figures
from tutoring.views.review_requests import requested_rule_set


@require_GET
@requires_role(Role.RESEARCHER)
def ladder(request: HttpRequest) -> HttpResponse:
    """Show the figures of the ladder of help.

    Query: people (a filter of sessions of people; without it only the form), base (a run of the neutral arm), rule_set.
    """
    text = request.GET.get("people", "").strip()
    runs = runs_from_query(request)
    figures: LadderFigures | None = None
    refusal = ""
    if text:
        try:
            rules = requested_rule_set(request)
            figures = ladder_figures(text, rule_set=rules.version, neutral=runs[0] if runs else None)
        except LadderError as error:
            refusal = str(error)
    if figures and request.GET.get("as") == "json" and "plot" not in request.GET:
        return JsonResponse(figures_document(figures))
    if figures and request.GET.get("as") == "csv" and "plot" not in request.GET:
        return file_download(figures_csv(figures), "text/csv", "ladder.csv")
    plots = PagePlots(request)
    context: dict[str, Any] = {
        "text": text,
        "download": request.GET.urlencode(),
        "form": FORM,
        "refusal": refusal,
        "figures": figures,
        "runs": listed_runs(Run.objects.filter(method=NEUTRAL)),
        "chosen": runs[0].pk if runs else None,
        "least": least_help(figures) if figures else "",
        "shown": {plot.name: plots.show(plot) for plot in _plots(figures)} if figures else {},
    }
    if figures:
        context["marks"] = [mark_safe(mark_svg(number)) for number in range(2)]  # noqa: S308  (no text of people)
        context["intended"] = [
            [(f"{column / 2:g}", count) for column, count in enumerate(row)] for row in figures.intended.table
        ]
        context["curve"] = list(zip(figures.curve, figures.addresses, strict=True))
        if comparison := figures.comparison:
            context["caps"] = list(zip(figures.arms, comparison.rates, comparison.fitted, strict=True))
            context["contrasts"] = [
                ("Steps between caps", "steps", comparison.steps),
                ("Gain over the neutral arm", "gains", comparison.gains),
            ]
    return plots.render("tutoring/ladder.html", context, status=400 if refusal else 200)


def _plots(figures: LadderFigures) -> list[Plot]:
    """Return the plots of the figures that have values; their names are the keys in the template."""
    plots: list[Plot] = []
    mark = simulated_mark(figures.simulated)
    if figures.curve:
        points = tuple(
            CurvePoint(one.level, one.rate, *one.interval.interval, one.problems) for one in figures.curve
        )
        neutral = tuple(
            CurvePoint(one.level, one.neutral, n=one.problems)
            for one in figures.curve
            if one.neutral is not None
        )
        curves = [Curve("people", points), *([Curve("neutral", neutral)] if neutral else [])]
        plots.append(
            CurvePlot(
                name="curve",
                title=f"Help curve{mark}",
                curves=curves,
                x_name="highest level of help at most",
                y_name="share of sessions solved",
            )
        )
    if comparison := figures.comparison:
        rows = [
            ForestRow(
                f"cap {cap}: {rate.arm}", rate.rate, rate.low, rate.high, rate.problems, _method(rate.method)
            )
            for cap, rate in zip(comparison.caps, comparison.rates, strict=True)
            if rate.rate is not None and rate.low is not None and rate.high is not None
        ]
        differences = [
            ForestRow(
                f"{one.first} − {one.second}",
                one.difference,
                one.low,
                one.high,
                one.problems,
                _method(one.method),
            )
            for one in (*comparison.steps, *comparison.gains)
        ]
        if rows:
            plots.append(
                ForestPlot(
                    name="caps",
                    title=f"Rates by level cap{mark}",
                    estimates=rows,
                    scale=SHARES,
                    axis="rate in percent",
                )
            )
        if differences:
            plots.append(
                ForestPlot(
                    name="differences",
                    title=f"Differences by level cap{mark}",
                    estimates=differences,
                    scale=POINTS,
                    axis="first − second, percentage points",
                )
            )
    return plots


def _method(method: str | None) -> str:
    return INTERVAL_NAMES[method] if method else ""
