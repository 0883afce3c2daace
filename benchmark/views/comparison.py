"""The comparison of runs: paired differences, verdict changes, and where chains diverge."""

import csv
import io
import json
from functools import lru_cache
from uuid import UUID

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.roles import Role, requires_role
from benchmark.methods import methods_scored_by
from benchmark.models import Run
from benchmark.reports import Comparison, NothingToCompareError, compare
from benchmark.reports.cached_report import item_counts
from benchmark.reports.comparison import RunPair, comparison_document
from benchmark.reports.comparison.text import describe_methods, verdict_axes
from benchmark.views.access import runs_from_query
from benchmark.views.downloads import file_download
from benchmark.views.plots import PagePlots
from benchmark.views.run_plots import best_score_plot, difference_plot


@require_safe
@requires_role(Role.RESEARCHER)
def comparison(request: HttpRequest) -> HttpResponse:
    """Show the comparison, or a choice of runs if the address names fewer than two.

    Query: run (several), base (the run to compare the others with; default: the first), failures (wrong or excluded;
    default: the choice stored with the base), form (csv or json: download a file).
    """
    runs = runs_from_query(request)
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
        raise BadRequest("failures must be wrong or excluded.")
    try:
        found = _compare(
            tuple((run.pk, f"{sorted(counts[run.pk].items())} {run.rejudged_at}") for run in runs), failures
        )
    except NothingToCompareError as error:
        raise BadRequest(str(error)) from None
    match request.GET.get("form", ""):
        case "json":
            document = json.dumps(comparison_document(found), ensure_ascii=False, indent=2)
            return file_download(document, "application/json", "comparison.json")
        case "csv":
            return file_download(_csv(found), "text/csv", "comparison.csv")
    query = request.GET.copy()
    query.pop("form", None)
    labels = {pair.run: pair.label for pair in found.pairs}
    plots = PagePlots(request)
    differences, best = difference_plot(found), best_score_plot(found)
    return plots.render(
        "benchmark/runs/compare.html",
        {
            "runs": runs,
            "comparison": found,
            "methods": describe_methods(found),
            "differences": plots.show(differences) if differences else None,
            "best_scores": plots.show(best) if best else None,
            "rejected": any(sum(pair.rejected.values()) for pair in found.pairs),
            "pairs": [(pair, _matrix(pair)) for pair in found.pairs],
            "overlaps": [(labels[one.run], labels[one.other], one) for one in found.overlaps],
            "shares_of_best": [(labels[one.run], one) for one in found.shares_of_best],
            "query": query.urlencode(),
        },
    )


@lru_cache(maxsize=32)
def _compare(keys: tuple[tuple[UUID, str], ...], failures: str) -> Comparison:
    """Return the comparison of runs, given as pairs of a key and a text that changes with its items and verdicts.

    The numbers and the time of the last rejudging are part of the cache key: the comparison of a run that has changed
    is computed again.
    """
    found = Run.objects.select_related("dataset").in_bulk([pk for pk, _ in keys])
    return compare([found[pk] for pk, _ in keys], failures=failures)


def _matrix(pair: RunPair) -> tuple[list[str], list[tuple[str, list[tuple[str, int]]]]]:
    """Return the verdicts of the columns, and for each row its verdict and the number in each column."""
    rows, columns = verdict_axes(pair)
    return columns, [
        (row, [(column, pair.transitions[row].get(column, 0)) for column in columns]) for row in rows
    ]


def _csv(comparison: Comparison) -> str:
    """Return the comparison as CSV with a row for each pair."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(
        ["first", "run", "problems", "first_value", "value", "difference", "low", "high", "only_first", "only_this",
         "p", "holm", "inside_noise", "interval_method", "first_figure", "figure", "failures", "test"]
    )  # fmt: skip
    for pair in comparison.pairs:
        low, high = pair.interval or (None, None)
        writer.writerow(
            [comparison.first, pair.run, pair.problems, pair.first_value, pair.value, pair.difference, low, high,
             len(pair.only_first), len(pair.only_this), pair.p, pair.holm, pair.inside_noise,
             pair.interval_method, pair.first_figure, pair.figure, comparison.failures, pair.test]
        )  # fmt: skip
    return file.getvalue()
