"""Refine@1 … K of one run, its chains, and the runs that it can be set beside."""

from django.core.exceptions import BadRequest
from django.core.paginator import Paginator
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.safestring import mark_safe
from django.views.decorators.http import require_safe

from benchmark.methods import methods_scored_by
from benchmark.metrics import TooFewAttempts
from benchmark.models import Run
from benchmark.reports.refinement import NotRefined, attempts_allowed, beside, curve_of, refinements_of
from benchmark.views.access import find_run, for_researchers
from benchmark.views.charts import Curve, Point, curve_svg

PAGE_LENGTH = 100


@require_safe
@for_researchers
def refinement(request: HttpRequest, run_id: object) -> HttpResponse:
    """The page of a run of the method refine. `against` in the address names a run with independent attempts."""
    run = find_run(run_id)
    try:
        refinements = refinements_of(run, failures=run.failures)
    except NotRefined as error:
        raise Http404(str(error)) from None
    k = attempts_allowed(run)
    curve = curve_of(refinements, k) if refinements else None
    svg = ""
    if curve:
        points = tuple(
            Point(one.k, 100 * one.value, 100 * one.interval.low, 100 * one.interval.high)
            for one in curve.points
        )
        svg = mark_safe(curve_svg([Curve("Refine@k", points)], "k", "Refine@k in percent"))  # noqa: S308
    others = Run.objects.filter(dataset=run.dataset, attempts__gte=k).exclude(
        method__in=[*methods_scored_by("refine"), *methods_scored_by("none")]
    )
    compared, fault = None, ""
    if name := request.GET.get("against"):
        try:
            compared = beside(run, find_run(name), failures=run.failures)
        except (NotRefined, TooFewAttempts) as error:
            fault = str(error)
        except ValueError as error:
            raise BadRequest(str(error)) from None
    items = run.items.select_related("problem", "judgement").annotate(replies=Count("generations"))
    page = Paginator(items.order_by("problem__external_id", "chain"), PAGE_LENGTH).get_page(
        request.GET.get("page")
    )
    return render(
        request,
        "benchmark/refinement.html",
        {
            "run": run,
            "k": k,
            "curve": curve,
            "svg": svg,
            "others": others[:20],
            "compared": compared,
            "fault": fault,
            "against": request.GET.get("against", ""),
            "page": page,
        },
    )
