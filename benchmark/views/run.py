"""One run: its figures, how far it is, what it depends on, and the same as files."""

import json
import time
from dataclasses import dataclass
from itertools import groupby
from uuid import UUID

from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from benchmark.model_calls import Price, Spending
from benchmark.models import Batch, Run
from benchmark.models.finishes import FINISHES
from benchmark.reports import FORMATS
from benchmark.reports.cached_report import kept_figures
from benchmark.reports.formatting import (
    HEADINGS,
    group_name,
    headline,
    intervals_used,
    price_words,
    spent_money,
    verdicts_of,
)
from benchmark.reports.usage import Usage, measure_usage
from benchmark.views.access import find_run, for_researchers
from benchmark.views.leaderboard import progress_of

MEDIA_TYPES = {"csv": "text/csv", "json": "application/json", "html": "text/html"}


@require_safe
@for_researchers
def run(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """The page. While the run is open, its progress is polled."""
    found = find_run(run_id)
    figures = kept_figures(found)
    return render(
        request,
        "benchmark/runs/run.html",
        {
            "run": found,
            "figures": figures,
            "intervals": intervals_used(figures),
            "price": price_words(figures),
            "draws": figures.depends_on["draws"],
            "headline": headline(figures) if figures.headline else "",
            "verdicts": verdicts_of(figures),
            "finishes": [(kind, FINISHES[kind], count) for kind, count in figures.finishes.items()],
            "parts": [
                (HEADINGS[by], [(group, group_name(group, figures)) for group in groups])
                for by, groups in groupby(figures.groups, key=lambda group: group.by)
            ],
            "manifest": json.dumps(figures.depends_on, indent=2, ensure_ascii=False),
            "live": _live(found, time.time(), None),
        },
    )


@dataclass(frozen=True)
class Live:
    """The progress of a run. `money` is what was paid, in words.

    `seconds_left` is None until some items were done since `since`.
    """

    total: int
    done: int
    failed: int
    usage: Usage
    paid: Spending
    money: str
    since: float
    done_then: int
    seconds_left: float | None
    batches: list[Batch]
    """Those that the provider works on."""
    waits: list[str]
    """What calls wait for before they are repeated."""

    @property
    def share(self) -> int:
        """Percent done."""
        return 100 * self.done // self.total if self.total else 0


@require_safe
@for_researchers
def progress(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """The part of the page that is polled. `since` and `done` say what the visitor saw first."""
    found = find_run(run_id)
    try:
        since, done = float(request.GET["since"]), int(request.GET["done"])
    except (KeyError, ValueError):
        raise BadRequest("The address lacks since and done.") from None
    live = _live(found, since, done)
    response = render(request, "benchmark/runs/_progress.html", {"run": found, "live": live})
    if found.state != Run.State.OPEN:
        response["HX-Refresh"] = "true"  # the figures are there now
    return response


def _live(found: Run, since: float, done_then: int | None) -> Live:
    [counted] = progress_of([found])
    done_then = counted.done if done_then is None else done_then
    new, passed = counted.done - done_then, time.time() - since
    left = counted.total - counted.done - counted.failed
    paid, price = Spending.of_run(found), Price.of_run(found)
    return Live(
        counted.total,
        counted.done,
        counted.failed,
        measure_usage(found),
        paid,
        "unknown" if paid.cost(price) is None else spent_money(paid.to_json(price)),
        since,
        done_then,
        left * passed / new if new > 0 and passed > 0 else None,
        list(found.batches.filter(ended_at=None)) if found.in_batches else [],
        list(found.runners.exclude(waiting="").values_list("waiting", flat=True)),
    )


@require_safe
@for_researchers
def export(request: HttpRequest, run_id: UUID, form: str) -> HttpResponse:
    """The report of `manage.py report` as a file."""
    if form not in MEDIA_TYPES:
        raise Http404(f"There is no report as {form}.")
    found = find_run(run_id)
    response = HttpResponse(
        FORMATS[form]([kept_figures(found)]), content_type=f"{MEDIA_TYPES[form]}; charset=utf-8"
    )
    response["Content-Disposition"] = f'attachment; filename="run-{found.pk}.{form}"'
    return response
