"""/metrics: figures for Prometheus, computed from the rows of all hosts, and the request times of this web server.

A scrape reads rows that wait or are held, rows of the last minutes through an index, and the projection DailySpend of
one day, so its time does not depend on the number of sessions. Labels hold names of kinds, views and models only.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import datetime, timedelta
from http import HTTPStatus
from secrets import compare_digest

from django.conf import settings
from django.db.models import Case, Count, F, IntegerField, Max, QuerySet, Sum, When
from django.db.models.functions import Coalesce
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Histogram, Metric, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from benchmark.model_calls.ledger import today
from benchmark.models import DailySpend, Judgement, Process
from benchmark.models.spending import MICRO
from benchmark.processes import REQUIRED, clock_difference, outages
from config.status import queues
from tutoring.models import Event, Reply

WINDOW = timedelta(minutes=5)
"""The period of the metrics named hintbench_recent_*. A scrape each minute therefore misses nothing."""

LATEST_REPLIES = 2_000
"""Replies, newest first, among which those of WINDOW are found."""

FIRST_TEXT_BOUNDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0, 120.0)
"""Upper bounds in seconds of the histogram of the time to the first text."""

HTTP_SECONDS = Histogram(
    "hintbench_http_request_seconds",
    "Seconds from the arrival of a request at this web server to its response, by view and status.",
    ["view", "status"],
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0),
    registry=None,
)


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Return all metrics to a client with METRICS_TOKEN as its bearer token, else 403; 404 if no token is set."""
    if not settings.METRICS_TOKEN:
        raise Http404("METRICS_TOKEN is not set.")
    given = request.headers.get("Authorization", "")
    if not compare_digest(given.encode(), f"Bearer {settings.METRICS_TOKEN}".encode()):
        return HttpResponse(
            "Send METRICS_TOKEN as a bearer token.\n", "text/plain", status=HTTPStatus.FORBIDDEN
        )
    registry = CollectorRegistry()
    registry.register(HTTP_SECONDS)
    registry.register(_Rows())
    return HttpResponse(generate_latest(registry), CONTENT_TYPE_LATEST)


def observe_request(request: HttpRequest, status: int, seconds: float) -> None:
    """Count a request of this web server. Addresses without a view share one label."""
    view = request.resolver_match.view_name if request.resolver_match else "none"
    HTTP_SECONDS.labels(view, str(status)).observe(seconds)


class _Rows(Collector):
    """The metrics that are computed from rows."""

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics of the current state."""
        now = timezone.now()
        yield from _queues(now)
        yield from _processes(now)
        yield _first_text(now)
        yield _failed_replies(now)
        yield from _judgements(now)
        yield from _spending()
        yield from _machine()


def _queues(now: datetime) -> Iterator[Metric]:
    waiting = GaugeMetricFamily(
        "hintbench_queue_waiting", "Number of rows that wait for a process.", labels=["queue"]
    )
    age = GaugeMetricFamily(
        "hintbench_queue_oldest_seconds",
        "Age in seconds of the oldest row that waits; 0 if none waits.",
        labels=["queue"],
    )
    held = GaugeMetricFamily(
        "hintbench_queue_in_progress",
        "Number of rows that a process works on, such as replies in flight.",
        labels=["queue"],
    )
    for queue in queues():
        waiting.add_metric([queue.key], queue.waiting)
        age.add_metric([queue.key], _seconds(queue.oldest, now))
        held.add_metric([queue.key], queue.held)
    yield from (waiting, age, held)


def _processes(now: datetime) -> Iterator[Metric]:
    """Yield the number of running processes and the age of the last heartbeat of each kind."""
    running = GaugeMetricFamily(
        "hintbench_processes", "Number of processes that run, on all hosts.", labels=["kind"]
    )
    age = GaugeMetricFamily(
        "hintbench_heartbeat_age_seconds",
        "Seconds since the last heartbeat of any process of this kind; no value if none was seen.",
        labels=["kind"],
    )
    counts = _counts(Process.objects.running(now), "kind")
    last = dict(Process.objects.order_by().values_list("kind").annotate(Max("last_seen")))
    for kind in Process.Kind:
        running.add_metric([kind], counts.get(kind, 0))
        if kind in last:
            age.add_metric([kind], _seconds(last[kind], now))
    yield from (running, age)
    met = GaugeMetricFamily(
        "hintbench_requirement_met",
        "1 if a process runs that the installation needs, else 0.",
        labels=["requirement"],
    )
    missing = {outage.name for outage in outages()}
    for name in REQUIRED:
        met.add_metric([name], name not in missing)
    yield met


def _first_text(now: datetime) -> Metric:
    """Return the histogram of the time to the first text, of the replies whose first text arrived within WINDOW."""
    latest = Reply.objects.order_by("-pk").values("pk")[:LATEST_REPLIES]
    rows = Reply.objects.filter(pk__in=latest, first_text_at__gte=now - WINDOW, started_at__isnull=False)
    times: dict[str, list[float]] = {}
    for model, begun, first in rows.values_list("session__model_spec", "started_at", "first_text_at"):
        times.setdefault(model, []).append(_seconds(begun, first or now))
    family = HistogramMetricFamily(
        "hintbench_recent_first_text_seconds",
        "Seconds from the claim of a reply to its first text, for replies with a first text in the last 5 minutes.",
        labels=["model"],
    )
    for model, seconds in times.items():
        buckets = [(str(bound), sum(second <= bound for second in seconds)) for bound in FIRST_TEXT_BOUNDS]
        family.add_metric([model], [*buckets, ("+Inf", len(seconds))], sum(seconds))
    return family


def _failed_replies(now: datetime) -> Metric:
    family = GaugeMetricFamily(
        "hintbench_recent_failed_replies",
        "Number of replies that failed in the last 5 minutes, by kind of failure.",
        labels=["kind"],
    )
    failed = Event.objects.filter(kind=Event.Kind.REPLY_FAILED, at__gte=now - WINDOW)
    for kind, count in _counts(failed, "data__kind").items():
        family.add_metric([kind], count)
    return family


def _judgements(now: datetime) -> Iterator[Metric]:
    """Yield the verdicts and the number of judged tests of WINDOW. Copies of stored verdicts do not count."""
    finished = Judgement.objects.filter(finished_at__gte=now - WINDOW, attempt__gt=0)
    verdicts = GaugeMetricFamily(
        "hintbench_recent_verdicts",
        "Number of judgements that finished in the last 5 minutes, by verdict.",
        labels=["verdict"],
    )
    for verdict, count in _counts(finished, "verdict").items():
        verdicts.add_metric([verdict], count)
    yield verdicts
    # A judgement that stops at the first failure has performed the passed tests and the failed one.
    performed = Case(
        When(stop_at_first_failure=False, then=F("total")),
        When(passed__lt=F("total"), then=F("passed") + 1),
        default=F("passed"),
        output_field=IntegerField(),
    )
    tests = finished.aggregate(count=Coalesce(Sum(performed), 0))["count"]
    yield GaugeMetricFamily(
        "hintbench_recent_tests", "Number of tests judged in judgements of the last 5 minutes.", tests
    )


def _spending() -> Iterator[Metric]:
    tokens = CounterMetricFamily(
        "hintbench_tokens", "Tokens of paid replies since midnight (UTC).", labels=["model", "direction"]
    )
    dollars = CounterMetricFamily(
        "hintbench_dollars",
        "US dollars of paid replies since midnight (UTC), without calls of unknown cost.",
        labels=["model"],
    )
    calls = CounterMetricFamily(
        "hintbench_model_calls", "Paid replies since midnight (UTC).", labels=["model"]
    )
    spent = DailySpend.objects.filter(day=today()).order_by().values_list("model_spec")
    for model, count, read, written, micro in spent.annotate(
        Sum("calls"), Sum("input_tokens"), Sum("output_tokens"), Sum("microdollars")
    ):
        calls.add_metric([model], count)
        tokens.add_metric([model, "input"], read)
        tokens.add_metric([model, "output"], written)
        dollars.add_metric([model], micro / MICRO)
    yield from (calls, tokens, dollars)


def _machine() -> Iterator[Metric]:
    """Yield what concerns the machine of this web server only."""
    yield GaugeMetricFamily(
        "hintbench_free_disk_bytes",
        "Bytes free on the disk of this web server's variable folder.",
        shutil.disk_usage(settings.VAR).free,
    )
    yield GaugeMetricFamily(
        "hintbench_clock_difference_seconds",
        "Seconds by which the clock of this web server is ahead of the database's.",
        clock_difference().total_seconds(),
    )


def _counts(rows: QuerySet[Process] | QuerySet[Event] | QuerySet[Judgement], column: str) -> dict[str, int]:
    """Return the number of rows by value of the column."""
    return dict(rows.order_by().values_list(column).annotate(Count("pk")))


def _seconds(since: datetime | None, now: datetime) -> float:
    """Return the seconds since then; 0 without a time, and for one that is later than now by another clock."""
    return max(0.0, (now - since).total_seconds()) if since else 0.0
