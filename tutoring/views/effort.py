"""The page of effort: a tutor's own minutes, and the figures of groups for researchers and admins."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import BadRequest
from django.core.paginator import Paginator
from django.db.models import Sum
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from accounts.roles import Role, has_role, requires_role
from benchmark.plots import DOLLARS, POINTS, PlanePlot, PlanePoint, PlaneValue
from benchmark.text.numbers import whole_number
from benchmark.views.downloads import file_download
from benchmark.views.plots import PagePlots, simulated_mark
from tutoring.arms.human_sessions import FORM
from tutoring.effort.documents import figures_csv, ratio
from tutoring.effort.figures import FEWEST_PEOPLE, EffortError, EffortFigures, effort_figures
from tutoring.effort.projection import VERSION
from tutoring.models import SessionEffort, Study
from tutoring.sessions.visible_outcomes import own_sessions
from tutoring.views.requests import PAGE_SIZE, person_of


@require_GET
@requires_role(Role.TUTOR, Role.RESEARCHER)
def effort(request: HttpRequest) -> HttpResponse:
    """Show the person's own active minutes, and to researchers and admins the figures of groups.

    Query: people (a filter of sessions) or study (its primary key), wage (US dollars per hour), as (csv), page.
    Groups of fewer than 5 people are shown to admins only. A GET writes nothing: workers measure closed sessions.
    """
    person = person_of(request)
    reads = has_role(person, Role.RESEARCHER)
    own = SessionEffort.objects.filter(session__in=own_sessions(person), version=VERSION)
    listed = own.select_related("session__problem__dataset").order_by("-session__closed_at", "pk")
    figures, refusal = _requested(request) if reads else (None, "")
    if figures and request.GET.get("as") == "csv" and "plot" not in request.GET:
        return file_download(figures_csv(figures), "text/csv", "effort.csv")
    plots = PagePlots(request)
    plane = _plane(figures) if figures else None
    context: dict[str, Any] = {
        "plane": plots.show(plane) if plane else None,
        "own": Paginator(listed, PAGE_SIZE).get_page(request.GET.get("page")),
        "own_minutes": (own.aggregate(seconds=Sum("seconds"))["seconds"] or 0) / 60,
        "reads": reads,
        "figures": figures,
        "groups": [
            (one, ratio(one.minutes_per_solved), ratio(one.dollars_per_solved)) for one in figures.groups
        ]
        if figures
        else [],
        "refusal": refusal,
        "form": FORM,
        "fewest": FEWEST_PEOPLE,
        "text": request.GET.get("people", ""),
        "wage": request.GET.get("wage", ""),
        "chosen": request.GET.get("study", ""),
        "studies": Study.objects.exclude(design_hash="").order_by("name", "-version") if reads else [],
        "query": request.GET.urlencode(),
    }
    return plots.render("tutoring/effort.html", context, status=400 if refusal else 200)


def _plane(figures: EffortFigures) -> PlanePlot | None:
    """Return the cost plane of the arms whose dollars are known; None without any."""
    points = [
        PlanePoint(
            one.arm,
            PlaneValue(one.dollars),
            PlaneValue(one.gain.difference, one.gain.low, one.gain.high),
            one.gain.problems,
        )
        for one in figures.plane
        if one.dollars is not None
    ]
    if not points:
        return None
    return PlanePlot(
        name="cost-plane",
        title=f"Cost plane{simulated_mark(figures.simulated)}",
        points=points,
        x_scale=DOLLARS,
        y_scale=POINTS,
        x_name="US dollars per session",
        y_name="gain over the neutral arm, points",
    )


def _requested(request: HttpRequest) -> tuple[EffortFigures | None, str]:
    """Return the figures of the request, if it selects sessions, and the refusal. Raises BadRequest, Http404."""
    text, chosen = request.GET.get("people", "").strip(), request.GET.get("study", "")
    if not text and not chosen:
        return None, ""
    options: dict[str, Any] = {
        "wage": _wage(request.GET.get("wage", "")), "sees_all": has_role(person_of(request), Role.ADMIN)
    }  # fmt: skip
    if chosen:
        study = Study.objects.exclude(design_hash="").filter(pk=whole_number(chosen) or 0).first()
        if study is None:
            raise Http404("There is no such study.")
        options["study"] = study
    try:
        return effort_figures(text, **options), ""
    except EffortError as error:
        return None, str(error)


def _wage(text: str) -> float | None:
    try:
        value = float(text) if text.strip() else None
    except ValueError:
        value = -1.0
    if value is not None and not 0 <= value < 10_000:
        raise BadRequest("The wage must be a number of US dollars per hour, from 0 to 9999.")
    return value
