"""The finished runs of a dataset, best first, and those that are not finished.

Independent attempts are ranked by pass@1. Refine runs are ranked apart by Refine@K, beside independent attempts of the
same model at equal attempts and at equal tokens. Runs that build verifiers make no attempts and have no rank.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from uuid import UUID

from django.core.paginator import Paginator
from django.db.models import Count, F, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from benchmark.methods import methods_scored_by
from benchmark.metrics import TooFewAttempts
from benchmark.models import Dataset, Run, WorkItem
from benchmark.reports import RunFigures
from benchmark.reports.cached_report import item_counts, kept_figures, kept_list
from benchmark.reports.refinement import NotRefined, attempts_allowed, beside
from benchmark.reports.refinement.curves import Beside
from benchmark.views.access import for_researchers

PAGE_LENGTH = 50
MEASURED = 3
"""Finished runs nobody has measured yet that one visit measures."""
UNFINISHED = 30
RESAMPLING = "zero-shot"
"""The method whose runs are independent attempts with the question that a refine run begins with."""


@dataclass(frozen=True)
class Progress:
    """How far a run is, by items."""

    run: Run
    total: int
    done: int
    failed: int


@dataclass(frozen=True)
class Resampled:
    """A run of independent attempts of the same model, and what it solves at the cost of a refine run."""

    run: Run
    compared: Beside


@require_safe
@for_researchers
def leaderboard(request: HttpRequest) -> HttpResponse:
    """Filters: dataset (its name); page, of runs of independent attempts; refined, the page of refine runs."""
    dataset = request.GET.get("dataset", "")
    runs = Run.objects.filter(dataset__name=dataset) if dataset else Run.objects.all()
    finished = runs.filter(state=Run.State.FINISHED)
    for run in finished.filter(kept=None).select_related("dataset")[:MEASURED]:
        kept_figures(run)
    refining, without = methods_scored_by("refine"), methods_scored_by("none")
    page = Paginator(_ranked(finished.exclude(method__in=[*refining, *without])), PAGE_LENGTH).get_page(
        request.GET.get("page")
    )
    refined = Paginator(_ranked(finished.filter(method__in=refining)), PAGE_LENGTH).get_page(
        request.GET.get("refined")
    )
    building = finished.filter(method__in=without).select_related("dataset", "kept").order_by("-started_at")
    return render(
        request,
        "benchmark/runs/leaderboard.html",
        {
            "dataset": dataset,
            "datasets": Dataset.objects.annotate(count=Count("runs")).filter(count__gt=0).order_by("name"),
            "page": page,
            "refined": refined,
            "query": urlencode({"dataset": dataset}) if dataset else "",
            "rows": _rows(list(page.object_list)),
            "refined_rows": [
                (run, figures, _resampled(run)) for run, figures in _rows(list(refined.object_list))
            ],
            "building": _rows(list(building[:PAGE_LENGTH])),
            "unfinished": progress_of(
                list(runs.exclude(state=Run.State.FINISHED).select_related("dataset")[:UNFINISHED])
            ),
        },
    )


def _ranked(runs: QuerySet[Run]) -> QuerySet[Run]:
    return runs.select_related("dataset", "kept").order_by(
        "dataset__name", F("kept__score").desc(nulls_last=True), "-started_at"
    )


def _rows(runs: Sequence[Run]) -> list[tuple[Run, RunFigures]]:
    return list(zip(runs, kept_list(runs), strict=True))


def _resampled(run: Run) -> Resampled | None:
    """Return the latest finished run of independent attempts that has as many a problem; None without one."""
    others = Run.objects.filter(
        dataset=run.dataset_id,
        model_spec=run.model_spec,
        method=RESAMPLING,
        state=Run.State.FINISHED,
        attempts__gte=attempts_allowed(run),
    )
    other = others.order_by("-started_at").first()
    compared = _compared(run.pk, run.finished_at, other.pk, other.finished_at) if other else None
    return Resampled(other, compared) if other and compared else None


@lru_cache(maxsize=256)
def _compared(
    run: UUID, _ended: datetime | None, other: UUID, _other_ended: datetime | None
) -> Beside | None:
    """Return the comparison of two finished runs; they change only by going on, which changes when they ended."""
    found = Run.objects.in_bulk([run, other])
    try:
        return beside(found[run], found[other], failures=found[run].failures)
    except (NotRefined, TooFewAttempts, ValueError):
        return None


def progress_of(runs: Sequence[Run]) -> list[Progress]:
    """Return how far the runs are, from one query."""
    counts = item_counts(runs)
    return [
        Progress(
            run,
            sum(counts[run.pk].values()),
            counts[run.pk].get(WorkItem.State.DONE, 0),
            counts[run.pk].get(WorkItem.State.FAILED, 0),
        )
        for run in runs
    ]
