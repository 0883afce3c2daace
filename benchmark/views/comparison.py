"""Runs side by side: paired differences, transitions of verdicts, and where the chains part."""

import csv
import io
import json
from dataclasses import asdict
from functools import lru_cache
from uuid import UUID

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from benchmark.methods import methods_scored_by
from benchmark.models import Run
from benchmark.reports import Comparison, NothingToCompare, compare
from benchmark.reports.cached_report import item_counts
from benchmark.reports.comparison import Pair
from benchmark.reports.comparison_text import methods_of, verdict_axes
from benchmark.views.access import asked_runs, for_researchers


@require_safe
@for_researchers
def compared(request: HttpRequest) -> HttpResponse:
    """Filters: run (two or more), base (the run that the others are compared with, else the first), failures (wrong or
    excluded, else as the base has stored), form (csv or json: a file)."""
    runs = asked_runs(request)
    if len(runs) < 2:
        latest = (
            Run.objects.exclude(method__in=methods_scored_by("none"))
            .select_related("dataset")
            .order_by("-started_at")[:50]
        )
        return render(request, "benchmark/runs/compare.html", {"runs": runs, "choices": latest})
    counts = item_counts(runs)
    failures = request.GET.get("failures") or runs[0].failures
    if failures not in ("wrong", "excluded"):
        raise BadRequest("The parameter failures must be wrong or excluded.")
    try:
        comparison = _compared(tuple((run.pk, str(sorted(counts[run.pk].items()))) for run in runs), failures)
    except NothingToCompare as error:
        raise BadRequest(str(error)) from None
    match request.GET.get("form", ""):
        case "json":
            return _file(
                json.dumps(asdict(comparison), ensure_ascii=False, indent=2), "json", "application/json"
            )
        case "csv":
            return _file(_csv(comparison), "csv", "text/csv")
    query = request.GET.copy()
    query.pop("form", None)
    labels = {pair.run: pair.label for pair in comparison.pairs}
    return render(
        request,
        "benchmark/runs/compare.html",
        {
            "runs": runs,
            "comparison": comparison,
            "methods": methods_of(comparison),
            "rejected": any(sum(pair.rejected.values()) for pair in comparison.pairs),
            "pairs": [(pair, _matrix(pair)) for pair in comparison.pairs],
            "overlaps": [(labels[one.run], labels[one.other], one) for one in comparison.overlaps],
            "parts_of_best": [(labels[one.run], one) for one in comparison.parts_of_best],
            "query": query.urlencode(),
        },
    )


@lru_cache(maxsize=32)
def _compared(keys: tuple[tuple[UUID, str], ...], failures: str) -> Comparison:
    """Return the comparison of runs as they stand: the states of their items are part of the key."""
    found = Run.objects.select_related("dataset").in_bulk([pk for pk, _ in keys])
    return compare([found[pk] for pk, _ in keys], failures=failures)


def _matrix(pair: Pair) -> tuple[list[str], list[tuple[str, list[tuple[str, int]]]]]:
    """The columns' verdicts, and each row's verdict with the number in each column."""
    rows, columns = verdict_axes(pair)
    return columns, [
        (row, [(column, pair.transitions[row].get(column, 0)) for column in columns]) for row in rows
    ]


def _file(text: str, form: str, media_type: str) -> HttpResponse:
    response = HttpResponse(text, content_type=f"{media_type}; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="comparison.{form}"'
    return response


def _csv(comparison: Comparison) -> str:
    """One pair a row."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(
        ["first", "run", "problems", "first_value", "value", "difference", "low", "high", "only_first", "only_this",
         "p", "holm", "inside_noise", "interval_method", "first_figure", "figure", "failures"]
    )  # fmt: skip
    for pair in comparison.pairs:
        low, high = pair.interval or (None, None)
        writer.writerow(
            [comparison.first, pair.run, pair.problems, pair.first_value, pair.value, pair.difference, low, high,
             len(pair.only_first), len(pair.only_this), pair.p, pair.holm, pair.inside_noise,
             pair.interval_method, pair.first_figure, pair.figure, comparison.failures]
        )  # fmt: skip
    return file.getvalue()
