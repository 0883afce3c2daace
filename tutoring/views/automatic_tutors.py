"""The page of automatic tutors."""

from __future__ import annotations

from collections.abc import Sequence

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_GET

from accounts.roles import Role, requires_role
from benchmark.models import Run
from benchmark.plots import POINTS, PlanePlot, PlanePoint, PlaneValue
from benchmark.views.access import MAXIMUM_RUNS, listed_runs, runs_from_query
from benchmark.views.downloads import file_download
from benchmark.views.plots import PagePlots, simulated_mark
from tutoring.arms.human_sessions import FORM
from tutoring.arms.stopping import STOPPING_RULES
from tutoring.automatic_tutors.documents import counts_text, decisions_text, figures_csv, figures_document
from tutoring.automatic_tutors.figures import (
    TUTOR_METHOD,
    GainMatrix,
    TutorArm,
    TutorFigures,
    TutorsError,
    tutor_figures,
)
from tutoring.views.arms import requested_rule
from tutoring.views.review_requests import requested_rule_set


@require_GET
@requires_role(Role.RESEARCHER)
def automatic_tutors(request: HttpRequest) -> HttpResponse:
    """Show the figures of automatic tutors.

    Query: run (several runs of session-tutor), people (a filter of sessions of people; default: all), rule (the
    stopping rule of gains; default: perfect), rule_set (whose review outcomes count), as (json or csv).
    """
    text = request.GET.get("people", "all").strip() or "all"
    rule = requested_rule(request)
    runs = runs_from_query(request)
    figures: TutorFigures | None = None
    refusal = ""
    if runs:
        try:
            figures = tutor_figures(text, runs, rule_set=requested_rule_set(request).version, rule=rule)
        except TutorsError as error:
            refusal = str(error)
    if figures and request.GET.get("as") == "json" and "plot" not in request.GET:
        return JsonResponse(figures_document(figures))
    if figures and request.GET.get("as") == "csv" and "plot" not in request.GET:
        return file_download(figures_csv(figures), "text/csv", "automatic-tutors.csv")
    plots = PagePlots(request)
    plane = _plane(figures) if figures else None
    context = {
        "text": text,
        "form": FORM,
        "rule": rule,
        "rules": STOPPING_RULES,
        "most": MAXIMUM_RUNS,
        "chosen": {run.pk for run in runs},
        "runs": listed_runs(Run.objects.filter(method=TUTOR_METHOD)),
        "refusal": refusal,
        "figures": figures,
        "plane": plots.show(plane) if plane else None,
        "matrix": _rows(figures.matrix) if figures else [],
        "effects": _effects(figures.matrix) if figures else [],
        "guards": [
            (
                arm,
                decisions_text(arm.guard),
                counts_text(arm.guard.refusals),
                counts_text(arm.guard.levels),
            )
            for arm in (figures.arms if figures else ())
            if arm.guard
        ],
        "download": request.GET.urlencode(),
    }
    return plots.render("tutoring/automatic_tutors.html", context, status=400 if refusal else 200)


def _plane(figures: TutorFigures) -> PlanePlot | None:
    """Return the plane of gain against leak of the arms that have both, or None. People differ in mark and colour."""
    points = []
    for arm in figures.arms:
        if arm.gain is None or arm.leaks is None:
            continue
        leak, gain = arm.leaks.index, arm.gain.difference
        across, down = PlaneValue(leak.mean, *leak.interval.interval), PlaneValue(gain.mean, *gain.interval)
        kind = 2 if arm.is_people else 0
        points.append(PlanePoint(f"{arm.name} → {arm.student}", across, down, arm.gain.problems, kind))
    if not points:
        return None
    return PlanePlot(
        name="plane",
        title=f"Gain against leak with 95 % intervals{simulated_mark(figures.simulated)}",
        points=points,
        x_scale=POINTS,
        y_scale=POINTS,
        x_name="leak index, percentage points",
        y_name="gain over neutral, percentage points",
    )


def _rows(matrix: GainMatrix) -> list[tuple[str, list[tuple[str, TutorArm | None]], float | None]]:
    """Return the rows of the matrix: student, named cells, and the student's effect if there are additive parts."""
    effects: Sequence[float | None] = matrix.parts.students if matrix.parts else [None] * len(matrix.students)
    named = [list(zip(matrix.tutors, cells, strict=True)) for cells in matrix.cells]
    return list(zip(matrix.students, named, effects, strict=True))


def _effects(matrix: GainMatrix) -> list[tuple[str, float]]:
    """Return the effects of the tutors by name if there are additive parts."""
    return list(zip(matrix.tutors, matrix.parts.tutors, strict=True)) if matrix.parts else []
