"""The leaderboard: the finished runs that match the filters, best first, and the unfinished ones.

Runs of independent attempts are ranked by pass@1. Refine runs have a ranking of their own by Refine@K, which also shows
independent attempts of the same model at equal attempts and at equal tokens. Runs that build verifiers make no attempts
and have no rank.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from uuid import UUID

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.roles import Role, requires_role
from benchmark.methods import methods_scored_by
from benchmark.metrics import TooFewAttemptsError
from benchmark.models import Run, WorkItem
from benchmark.reports import RunFigures
from benchmark.reports.cached_report import cached_reports, item_counts
from benchmark.reports.refinement import (
    NotRefineRunError,
    attempts_allowed,
    compare_with_resampling,
    differing_settings,
)
from benchmark.reports.refinement.curves import ResamplingComparison
from benchmark.views.run_filters import RunFilters

PAGE_LENGTH = 50
UNFINISHED = 30
RESAMPLING = "zero-shot"
"""The method whose runs are independent attempts with the first prompt of a refine run."""


@dataclass(frozen=True)
class ItemCounts:
    """The numbers of all, done and failed items of a run."""

    run: Run
    total: int
    done: int
    failed: int


@dataclass(frozen=True)
class ResampledRun:
    """A run of independent attempts, and what it solves at the cost of a refine run of the same model."""

    run: Run
    comparison: ResamplingComparison


@require_safe
@requires_role(Role.RESEARCHER)
def leaderboard(request: HttpRequest) -> HttpResponse:
    """Show the leaderboard.

    Query: the fields of RunFilters, page (of independent attempts), refined (page of the refine runs).
    """
    filters = RunFilters.of(request)
    runs = filters.apply(Run.objects.all()).select_related("dataset")
    finished = (
        runs.filter(state=Run.State.FINISHED).select_related("cached_report").order_by(*filters.order())
    )
    refining, without = methods_scored_by("refine"), methods_scored_by("none")
    independent = finished.exclude(method__in=[*refining, *without])
    page = Paginator(independent, PAGE_LENGTH).get_page(request.GET.get("page"))
    refined = Paginator(finished.filter(method__in=refining), PAGE_LENGTH).get_page(
        request.GET.get("refined")
    )
    return render(
        request,
        "benchmark/runs/leaderboard.html",
        {
            "filters": filters,
            "form": filters.form(Run.objects.all()),
            "headings": filters.headings(),
            "found": runs.count(),
            "page": page,
            "refined": refined,
            "query": filters.query,
            "rows": _rows(list(page.object_list)),
            "refined_rows": [
                (run, figures, _resampled_run(run)) for run, figures in _rows(list(refined.object_list))
            ],
            "building": _rows(list(finished.filter(method__in=without)[:PAGE_LENGTH])),
            "unfinished": progress_of(
                list(runs.exclude(state=Run.State.FINISHED).order_by("-started_at")[:UNFINISHED])
            ),
        },
    )


def _rows(runs: Sequence[Run]) -> list[tuple[Run, RunFigures | None]]:
    return list(zip(runs, cached_reports(runs), strict=True))


def _resampled_run(run: Run) -> ResampledRun | None:
    """Return the latest finished run with the same settings and enough independent attempts; None without one."""
    others = Run.objects.filter(
        dataset=run.dataset_id,
        model_spec=run.model_spec,
        method=RESAMPLING,
        state=Run.State.FINISHED,
        attempts__gte=attempts_allowed(run),
    )
    latest = others.order_by("-started_at").only("parameters", "finished_at", "rejudged_at")
    other = next((other for other in latest.iterator() if not differing_settings(run, other)), None)
    comparison = _compare(run.pk, _verdicts_of(run), other.pk, _verdicts_of(other)) if other else None
    return ResampledRun(other, comparison) if other and comparison else None


def _verdicts_of(run: Run) -> str:
    """Return a text that changes with the verdicts of a finished run: when it is resumed, and by a rejudging."""
    return f"{run.finished_at} {run.rejudged_at}"


@lru_cache(maxsize=256)
def _compare(run: UUID, _verdicts: str, other: UUID, _other_verdicts: str) -> ResamplingComparison | None:
    """Return the comparison of two finished runs; None if they cannot be compared.

    `_verdicts_of` both is part of the cache key.
    """
    found = Run.objects.in_bulk([run, other])
    try:
        return compare_with_resampling(found[run], found[other], failures=found[run].failures)
    except (NotRefineRunError, TooFewAttemptsError, ValueError):
        return None


def progress_of(runs: Sequence[Run]) -> list[ItemCounts]:
    """Return the progress of the runs, from one query."""
    counts = item_counts(runs)
    return [
        ItemCounts(
            run,
            sum(counts[run.pk].values()),
            counts[run.pk].get(WorkItem.State.DONE, 0),
            counts[run.pk].get(WorkItem.State.FAILED, 0),
        )
        for run in runs
    ]
