"""One run: its figures, progress, dependencies, and downloads."""

import json
import time
from dataclasses import dataclass
from itertools import groupby
from uuid import UUID

from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.roles import Role, requires_role
from benchmark.model_calls import Price, Spending
from benchmark.models import Batch, Run
from benchmark.models.finishes import FINISHES
from benchmark.reports import FORMATS
from benchmark.reports.cached_report import run_report
from benchmark.reports.formatting import (
    GROUP_HEADINGS,
    format_price,
    format_spent_money,
    group_name,
    headline,
    intervals_used,
    verdict_heading,
)
from benchmark.reports.run_metrics import format_metrics
from benchmark.reports.usage import Usage, measure_usage
from benchmark.views.access import find_run
from benchmark.views.leaderboard import progress_of

MEDIA_TYPES = {"csv": "text/csv", "json": "application/json", "html": "text/html"}


@require_safe
@requires_role(Role.RESEARCHER)
def run(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Show the run. The page of an open run polls its progress."""
    found = find_run(run_id)
    figures = run_report(found)
    return render(
        request,
        "benchmark/runs/run.html",
        {
            "run": found,
            "figures": figures,
            "intervals": intervals_used(figures),
            "price": format_price(figures),
            "metrics": format_metrics(figures.metrics),
            "draws": figures.depends_on["draws"],
            "headline": headline(figures) if figures.headline else "",
            "verdicts": verdict_heading(figures),
            "finishes": [(kind, FINISHES[kind], count) for kind, count in figures.finishes.items()],
            "parts": [
                (GROUP_HEADINGS[by], [(group, group_name(group, figures)) for group in groups])
                for by, groups in groupby(figures.groups, key=lambda group: group.by)
            ],
            "manifest": json.dumps(figures.depends_on, indent=2, ensure_ascii=False),
            "live": _run_progress(found, time.time(), None),
        },
    )


@dataclass(frozen=True)
class RunProgress:
    """The progress of a run.

    `money` is the formatted spend. `done_then` items were done at the Unix time `since`; `seconds_left` is estimated
    from the items done after it, and None without any. `batches` are those that the provider has not finished, `waits`
    the reasons for which calls wait before a retry.
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
    waits: list[str]

    @property
    def share(self) -> int:
        """Return the percentage of items that are done, rounded down."""
        return 100 * self.done // self.total if self.total else 0


@require_safe
@requires_role(Role.RESEARCHER)
def progress(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Show the part of the page that is polled.

    Query: since (the Unix time of the first view), done (the items done then).
    """
    found = find_run(run_id)
    try:
        since, done = float(request.GET["since"]), int(request.GET["done"])
    except (KeyError, ValueError):
        raise BadRequest("The parameters since and done must be numbers.") from None
    live = _run_progress(found, since, done)
    response = render(request, "benchmark/runs/_progress.html", {"run": found, "live": live})
    if found.state != Run.State.OPEN:
        response["HX-Refresh"] = "true"  # the page now has final figures
    return response


def _run_progress(found: Run, since: float, done_then: int | None) -> RunProgress:
    [counted] = progress_of([found])
    done_then = counted.done if done_then is None else done_then
    new, passed = counted.done - done_then, time.time() - since
    left = counted.total - counted.done - counted.failed
    paid, price = Spending.of_run(found), Price.of_run(found)
    return RunProgress(
        counted.total,
        counted.done,
        counted.failed,
        measure_usage(found),
        paid,
        "unknown" if paid.cost(price) is None else format_spent_money(paid.to_json(price)),
        since,
        done_then,
        left * passed / new if new > 0 and passed > 0 else None,
        list(found.batches.filter(ended_at=None)) if found.in_batches else [],
        list(found.runners.exclude(waiting="").values_list("waiting", flat=True)),
    )


@require_safe
@requires_role(Role.RESEARCHER)
def export(_request: HttpRequest, run_id: UUID, form: str) -> HttpResponse:
    """Download the report of `manage.py report` as a file."""
    if form not in MEDIA_TYPES:
        raise Http404(f"There is no report in the format {form}.")
    found = find_run(run_id)
    response = HttpResponse(
        FORMATS[form]([run_report(found)]), content_type=f"{MEDIA_TYPES[form]}; charset=utf-8"
    )
    response["Content-Disposition"] = f'attachment; filename="run-{found.pk}.{form}"'
    return response
