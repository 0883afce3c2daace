"""The finished runs of a dataset, best first, and those that are not finished."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.core.paginator import Paginator
from django.db.models import Count, F
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from benchmark.models import Dataset, Run, WorkItem
from benchmark.reports import RunFigures
from benchmark.reports.kept import item_counts, kept_figures, kept_list
from benchmark.run_pages.access import for_researchers

PAGE_LENGTH = 50
MEASURED = 3
"""Finished runs nobody has measured yet that one visit measures."""
UNFINISHED = 30


@dataclass(frozen=True)
class Progress:
    """How far a run is, by items."""

    run: Run
    total: int
    done: int
    failed: int


@require_safe
@for_researchers
def leaderboard(request: HttpRequest) -> HttpResponse:
    """Filter: dataset (its name)."""
    dataset = request.GET.get("dataset", "")
    runs = Run.objects.filter(dataset__name=dataset) if dataset else Run.objects.all()
    finished = runs.filter(state=Run.State.FINISHED)
    for run in finished.filter(kept=None).select_related("dataset")[:MEASURED]:
        kept_figures(run)
    ranked = finished.select_related("dataset", "kept").order_by(
        "dataset__name", F("kept__pass_at_1").desc(nulls_last=True), "-started_at"
    )
    page = Paginator(ranked, PAGE_LENGTH).get_page(request.GET.get("page"))
    return render(
        request,
        "benchmark/runs/leaderboard.html",
        {
            "dataset": dataset,
            "datasets": Dataset.objects.annotate(count=Count("runs")).filter(count__gt=0).order_by("name"),
            "page": page,
            "query": urlencode({"dataset": dataset}) if dataset else "",
            "rows": _rows(list(page.object_list)),
            "unfinished": progress_of(
                list(runs.exclude(state=Run.State.FINISHED).select_related("dataset")[:UNFINISHED])
            ),
        },
    )


def _rows(runs: Sequence[Run]) -> list[tuple[Run, RunFigures]]:
    return list(zip(runs, kept_list(runs), strict=True))


def progress_of(runs: Sequence[Run]) -> list[Progress]:
    """How far the runs are, from one query."""
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
