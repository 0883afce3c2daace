"""Refine@1 … Refine@K of a run, its chains, and runs of independent attempts to compare it with."""

from django.core.exceptions import BadRequest
from django.core.paginator import Paginator
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from accounts.roles import Role, requires_role
from benchmark.methods import methods_scored_by
from benchmark.metrics import TooFewAttemptsError
from benchmark.models import Run
from benchmark.reports.refinement import (
    NotRefineRunError,
    attempts_allowed,
    compare_with_resampling,
    curve_of,
    differing_settings,
    refinements_of,
)
from benchmark.views.access import find_run
from benchmark.views.plots import PagePlots
from benchmark.views.run_plots import refinement_plot

PAGE_LENGTH = 100


@require_safe
@requires_role(Role.RESEARCHER)
def refinement(request: HttpRequest, run_id: object) -> HttpResponse:
    """Show a run of the method refine. Query: against (a run of independent attempts), page."""
    run = find_run(run_id)
    try:
        refinements = refinements_of(run, failures=run.failures)
    except NotRefineRunError as error:
        raise Http404(str(error)) from None
    k = attempts_allowed(run)
    curve = curve_of(refinements, k) if refinements else None
    plots = PagePlots(request)
    others = Run.objects.filter(dataset=run.dataset, attempts__gte=k).exclude(
        method__in=[*methods_scored_by("refine"), *methods_scored_by("none")]
    )
    compared, fault, differing = None, "", []
    if name := request.GET.get("against"):
        try:
            other = find_run(name)
            compared = compare_with_resampling(run, other, failures=run.failures)
            differing = differing_settings(run, other)
        except (NotRefineRunError, TooFewAttemptsError) as error:
            fault = str(error)
        except ValueError as error:
            raise BadRequest(str(error)) from None
    items = run.items.select_related("problem", "judgement").annotate(replies=Count("generations"))
    page = Paginator(items.order_by("problem__external_id", "chain"), PAGE_LENGTH).get_page(
        request.GET.get("page")
    )
    return plots.render(
        "benchmark/refinement.html",
        {
            "run": run,
            "k": k,
            "curve": curve,
            "plot": plots.show(refinement_plot(curve, run.model_spec)) if curve else None,
            "others": others[:20],
            "compared": compared,
            "differing": differing,
            "fault": fault,
            "against": request.GET.get("against", ""),
            "page": page,
        },
    )
