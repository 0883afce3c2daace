"""Test suites: the list, and one suite with its kill matrix, kill curve and dropped tests. No test is shown."""

from dataclasses import dataclass

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from accounts.roles import Role, requires_role
from benchmark.models import Suite
from benchmark.plots import Curve, CurvePlot, CurvePoint
from benchmark.suites import KillMatrix, TriedProgram, stored_report
from benchmark.views.plots import PagePlots
from judge import Verdict

PAGE_LENGTH = 50
_SIZES = (1, 2, 3, 5, 8, 12, 20, 30, 50, 80, 120, 200, 300, 500)
"""Numbers of tests at which the kill curve is drawn; the size of the suite is added."""


@dataclass(frozen=True)
class ProgramRow:
    """A program and, for each test, the test's name and the verdict (None: not run)."""

    program: TriedProgram
    cells: tuple[tuple[str, Verdict | None], ...]


@require_safe
@requires_role(Role.RESEARCHER)
def suites(request: HttpRequest) -> HttpResponse:
    """Show all suites by problem, the latest version first."""
    rows = Suite.objects.select_related("problem__dataset").order_by(
        "problem__dataset__name", "problem__external_id", "-version"
    )
    texts = ("statement", "statement_html", "analysis", "analysis_html")
    light = rows.defer("provenance", *(f"problem__{text}" for text in texts))
    page = Paginator(light, PAGE_LENGTH).get_page(request.GET.get("page"))
    return render(request, "benchmark/suites.html", {"page": page})


@require_safe
@requires_role(Role.RESEARCHER)
def suite(request: HttpRequest, dataset: str, version: int, external_id: str) -> HttpResponse:
    """Show one suite."""
    found = get_object_or_404(
        Suite.objects.select_related("problem__dataset"),
        problem__dataset__name=dataset,
        problem__external_id=external_id,
        version=version,
    )
    report = stored_report(found.problem, found)
    minimal = set(report.matrix.minimal_suite()) if report else set()
    plots = PagePlots(request)
    plot = _plot(report.matrix) if report else None
    return plots.render(
        "benchmark/suite.html",
        {
            "suite": found,
            "problem": found.problem,
            "report": report,
            "rows": _rows(report.matrix) if report else [],
            "minimal": [name for place, name in enumerate(report.matrix.tests) if place in minimal]
            if report
            else [],
            "curve": _curve(report.matrix) if report else [],
            "plot": plots.show(plot) if plot else None,
            "origins": _origins(found),
            "recipe": found.provenance.get("recipe", {}),
            "missing": found.provenance.get("missing", []),
            "dropped": {
                reason: count for reason, count in found.provenance.get("dropped", {}).items() if count
            },
        },
    )


def _rows(matrix: KillMatrix) -> list[ProgramRow]:
    """Return the rows: wrong programs first, those that the fewest tests kill at the top."""
    programs = sorted(matrix.programs, key=lambda one: (one.right, len(one.killers) if not one.right else 0))
    return [
        ProgramRow(program, tuple(zip(matrix.tests, program.verdicts, strict=True))) for program in programs
    ]


def _curve(matrix: KillMatrix) -> list[tuple[int, float]]:
    """Return numbers of tests with the percentage of wrong programs that they kill."""
    values = matrix.kill_curve()
    sizes = [size for size in _SIZES if size < len(values)]
    return [(size, 100 * values[size - 1]) for size in (*sizes, len(values))] if values else []


def _plot(matrix: KillMatrix) -> CurvePlot | None:
    """Return the kill curve; None without wrong programs."""
    wrong = sum(not program.right for program in matrix.programs)
    points = tuple(CurvePoint(size, value, n=wrong) for size, value in _curve(matrix))
    if not points:
        return None
    return CurvePlot(
        name="kill-curve",
        title="Kill curve",
        curves=[Curve("wrong programs killed", points)],
        x_name="tests",
        y_name="wrong programs killed, in percent",
        of="wrong programs",
    )


def _origins(found: Suite) -> list[tuple[str, int]]:
    """Return the number of tests of each origin, in the order of the suite."""
    counts: dict[str, int] = {}
    for test in found.tests.all():
        label = test.get_origin_display()
        counts[label] = counts.get(label, 0) + 1
    return list(counts.items())
