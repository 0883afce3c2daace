"""The page of arms: sessions of people compared with the control arms of the same problems."""

from __future__ import annotations

from collections.abc import Sequence

from django.core.exceptions import BadRequest
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from accounts.paging import query_without_page
from accounts.roles import Role, requires_role
from benchmark.models import Run
from benchmark.plots import POINTS, SHARES, ForestPlot, ForestRow
from benchmark.providers.worlds import StoppingRule
from benchmark.reports.formatting import INTERVAL_NAMES
from benchmark.text.numbers import with_minus
from benchmark.views.access import MAXIMUM_RUNS, listed_runs, runs_from_query
from benchmark.views.plots import PagePlots
from tutoring.arms.figures import ArmFigures, ArmsError, Contrast, arm_figures, equivalent_set, ratio_text
from tutoring.arms.figures.figures import CEILINGS
from tutoring.arms.figures.rows import PEOPLE
from tutoring.arms.human_sessions import FORM
from tutoring.arms.methods import POLICIES
from tutoring.arms.stopping import STOPPING_RULES
from tutoring.views.review_requests import requested_rule_set

PAGE_LENGTH = 25
"""Problems on a page of the matrix, which has up to nine columns."""


@require_GET
@requires_role(Role.RESEARCHER)
def arms(request: HttpRequest) -> HttpResponse:
    """Show the figures of arms.

    Query: run (several), people (a filter of sessions of people; default: all), rule (the stopping rule of the arms;
    default: perfect), rule_set (whose review outcomes count), page (of the matrix).
    """
    text = request.GET.get("people", "all").strip() or "all"
    rule = requested_rule(request)
    runs = runs_from_query(request)
    figures: ArmFigures | None = None
    refusal = ""
    if runs:
        try:
            rules = requested_rule_set(request)
            figures = arm_figures(text, runs, rule_set=rules.version, rule=rule)
        except ArmsError as error:
            refusal = str(error)
    context = {
        "text": text,
        "form": FORM,
        "rule": rule,
        "rules": STOPPING_RULES,
        "most": MAXIMUM_RUNS,
        "chosen": {run.pk for run in runs},
        "runs": listed_runs(Run.objects.filter(method__in=list(POLICIES))),
        "refusal": refusal,
        "figures": figures,
        "query": query_without_page(request).urlencode(),
    }
    plots = PagePlots(request)
    if figures:
        page = Paginator(figures.matrix.problems, PAGE_LENGTH).get_page(request.GET.get("page"))
        ladder = _ladder(figures)
        context |= {
            "ladder_plot": plots.show(ladder) if ladder else None,
            "ratios": [(one, with_minus(ratio_text(one))) for one in figures.shares],
            "equivalent": equivalent_set(figures.equivalent) if figures.equivalent else "",
            "contrasts": [
                (heading, name, found, plots.show(_differences(heading, name, found)))
                for heading, name, found in (
                    ("Guidance gain", "gains", figures.gains),
                    ("Ladder", "ladder", figures.ladder),
                    ("Yoked comparisons", "yoked", figures.yoked),
                )
                if found
            ],
            "page": page,
            "rows": [
                (problem, zip(figures.matrix.columns, figures.matrix.cells(problem), strict=True))
                for problem in page.object_list
            ],
        }
    return plots.render("tutoring/arms.html", context, status=400 if refusal else 200)


def requested_rule(request: HttpRequest) -> StoppingRule:
    """Return the stopping rule of the address, by default perfect. Raises BadRequest."""
    wanted = request.GET.get("rule", "perfect")
    for rule in STOPPING_RULES:
        if rule == wanted:
            return rule
    raise BadRequest(f"There is no stopping rule {wanted!r}. There are: {', '.join(STOPPING_RULES)}.")


def _ladder(figures: ArmFigures) -> ForestPlot | None:
    """Return the solve rates of the ladder: controls, people and ceilings differ in mark and colour."""
    estimates = []
    for name, one in figures.ladder_rates:
        if one.share is not None and one.interval is not None:
            kind = 2 if name == PEOPLE else 3 if name in CEILINGS else 0
            shown = name if name == PEOPLE else f"{name}/{figures.rule}"
            method = INTERVAL_NAMES[one.interval.method]
            estimates.append(ForestRow(shown, one.share, *one.interval.interval, one.problems, method, kind))
    if not estimates:
        return None
    return ForestPlot(
        name="ladder-rates",
        title="Solve rates of the arms with 95 % intervals",
        estimates=estimates,
        scale=SHARES,
        axis="solve rate in percent",
    )


def _differences(title: str, name: str, contrasts: Sequence[Contrast]) -> ForestPlot:
    """Return the contrasts of one table; there is at least one."""
    return ForestPlot(
        name=f"{name}-differences",
        title=title,
        estimates=[
            ForestRow(
                f"{one.title}: {one.first} − {one.second}, {one.selection}"
                if name != "ladder"
                else f"{one.first} − {one.second}",
                one.difference.mean,
                *one.difference.interval,
                one.problems,
                INTERVAL_NAMES[one.difference.method],
            )
            for one in contrasts
        ],
        scale=POINTS,
        axis="first − second, percentage points",
    )
