"""Verifiers: the list, one with its tests, conflicts and verified candidates, and rankings of candidates."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.core.paginator import Paginator
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.http import require_safe

from accounts.roles import Role, requires_role
from benchmark.models import Candidate, Dataset, Problem, Verification, Verifier, blobs
from benchmark.oracles.candidates import (
    RANKINGS,
    candidates_of_run,
    imported_candidates,
    judged_groups,
    rankings,
    stored_verifications,
)
from benchmark.oracles.suite_sizes import by_suite_size
from benchmark.plots import Curve, CurvePlot, CurvePoint, mark_svg
from benchmark.rendering.highlighting import highlight
from benchmark.views.access import find_run
from benchmark.views.plots import PagePlots

PAGE_LENGTH = 50
TESTS_SHOWN = 100
CANDIDATES_SHOWN = 100
_SHOWN = 300
"""Characters of an input or an answer that the page shows."""

RANKED = (1, 2, 3, 5, 7, 10)
"""The n of n@k on the page of rankings, up to the fewest candidates of a problem."""

_PROGRAMS = ("oracle", "second_oracle", "validator", "generator", "batch", "tricky", "written_tests")


@dataclass(frozen=True)
class ShownTest:
    """A test with the first characters of its input and answer."""

    name: str
    group: str
    input: str
    answer: str


@dataclass(frozen=True)
class ShownCandidate:
    """A verified program. `name` and the verdict `official` are blank for one that was not imported."""

    verification: Verification
    name: str
    official: str


@require_safe
@requires_role(Role.RESEARCHER)
def verifiers(request: HttpRequest) -> HttpResponse:
    """Show all verifiers, the newest first, except imported programs from which a verifier was built."""
    rows = (
        Verifier.objects.filter(built=None)
        .select_related("problem__dataset", "suite")
        .only(
            "state",
            "record",
            "run",
            "suite__version",
            "problem__title",
            "problem__external_id",
            "problem__dataset__name",
        )
        .annotate(tests=Count("suite__tests"))
    )
    page = Paginator(rows.order_by("-id"), PAGE_LENGTH).get_page(request.GET.get("page"))
    return render(request, "benchmark/oracles.html", {"page": page})


@require_safe
@requires_role(Role.RESEARCHER)
def verifier(request: HttpRequest, verifier_id: int) -> HttpResponse:
    """Show one verifier."""
    found = get_object_or_404(
        Verifier.objects.select_related("problem__dataset", "suite", "run__dataset"), pk=verifier_id
    )
    tests = found.suite.tests.all()[:TESTS_SHOWN] if found.suite else []
    return render(
        request,
        "benchmark/oracle.html",
        {
            "verifier": found,
            "problem": found.problem,
            "count": found.suite.tests.count() if found.suite else 0,
            "tests": [
                ShownTest(one.name, one.group, _beginning(one.input_hash), _beginning(one.answer_hash))
                for one in tests
            ],
            "disputed": [
                {name: _beginning(one[name]) for name in ("input", "first", "second")}
                for one in found.record.get("disputed", [])
            ],
            "candidates": _candidates(found),
            "programs": _programs(found),
        },
    )


@require_safe
@requires_role(Role.RESEARCHER)
def candidate_rankings(request: HttpRequest) -> HttpResponse:
    """Show n@k by ranking and by suite size, from stored verifications. Query: dataset (a name) or run (an id)."""
    asked = _run_id(request)
    run = find_run(asked) if asked else None
    datasets = list(
        Dataset.objects.filter(problems__candidates__submission__verifications__isnull=False)
        .distinct()
        .order_by("name")
    )
    dataset = "" if run else request.GET.get("dataset") or (datasets[0].name if datasets else "")
    candidates = (
        candidates_of_run(run, judge_missing=False)
        if run
        else imported_candidates(Problem.objects.filter(dataset__name=dataset))
    )
    verified = stored_verifications(candidates)
    groups = judged_groups(verified)
    fewest = min(map(len, groups), default=1)
    ns = [n for n in RANKED if n <= fewest]
    ranked = {n: rankings(groups, n) for n in ns}
    sizes = by_suite_size(groups, ns)
    curves = [
        Curve(
            f"{n}@k",
            tuple(
                CurvePoint(one.tests, 100 * value, n=len(groups))
                for one in sizes
                if (value := one.at[n]) is not None
            ),
        )
        for n in ns
    ]
    drawn = len(sizes) > 1 and all(curve.points for curve in curves)
    plots = PagePlots(request)
    plot = CurvePlot(
        name="suite-sizes",
        title="n@k by suite size",
        curves=curves,
        x_name="oracle tests",
        y_name="n@k in percent",
    )
    return plots.render(
        "benchmark/oracle_rankings.html",
        {
            "run": run,
            "dataset": dataset,
            "datasets": datasets,
            "verified": len(verified),
            "problems": len(groups),
            "ns": ns,
            "rows": [(name, [(n, ranked[n][kind]) for n in ns]) for kind, name in RANKINGS.items()],
            "sizes": [(one.tests, list(one.at.items())) for one in sizes],
            "plot": plots.show(plot) if drawn else None,
            # A mark has no text.
            "marks": [(mark_safe(mark_svg(number)), curve.name) for number, curve in enumerate(curves)]  # noqa: S308
            if drawn
            else [],
        },
    )


def _run_id(request: HttpRequest) -> UUID | None:
    """Return the id of the run in the query; None without one. Raises Http404 for a malformed id."""
    asked = request.GET.get("run", "")
    try:
        return UUID(asked) if asked else None
    except ValueError:
        raise Http404("There is no run with this id.") from None


def _candidates(found: Verifier) -> list[ShownCandidate]:
    """Return the verified programs, best first, imported ones with their official verdict."""
    rows = found.verifications.select_related("submission").order_by("-passed", "id")[:CANDIDATES_SHOWN]
    imported = {one.submission_id: one for one in Candidate.objects.filter(problem=found.problem_id)}
    shown = []
    for row in rows:
        one = imported.get(row.submission_id)
        shown.append(ShownCandidate(row, one.name if one else "", one.official_verdict if one else ""))
    return shown


def _programs(found: Verifier) -> list[tuple[str, SafeString]]:
    sources: list[tuple[str, Any]] = [(name.replace("_", " "), getattr(found, name)) for name in _PROGRAMS]
    return [
        (name, mark_safe(highlight(source, "python")))  # noqa: S308  highlight escapes the source
        for name, source in sources
        if source.strip()
    ]


def _beginning(content_hash: str) -> str:
    with blobs.path(content_hash).open("rb") as file:
        text = file.read(4 * _SHOWN).decode("utf-8", "replace")
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
