"""Stored figures of runs: when they are stored, and what pages show without them."""

from datetime import UTC, datetime
from typing import Any

import django_rq
import pytest
import redis
from django.test import Client
from rq.job import Job

from benchmark.models import CachedRunReport, Run, SimilarityRun
from benchmark.reports import cached_report, measure
from benchmark.reports.cached_report import cached_reports, store_report
from benchmark.worker import reports
from tests.benchmark.reports.conftest import MakeRun
from tests.benchmark.test_run_pages import Visit, visit  # noqa: F401  a fixture

FINISHED = {"state": "finished", "finished_at": datetime(2026, 1, 2, tzinfo=UTC)}
SOLVED = [("bronze", ["AC"])]


class Queue:
    """A queue that collects its jobs."""

    connection = None

    def __init__(self) -> None:
        self.jobs: dict[str, tuple[Any, str]] = {}

    def enqueue(self, function: Any, argument: str, *, job_id: str, **options: Any) -> None:
        self.jobs[job_id] = (function, argument)


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> Queue:
    queue = Queue()
    monkeypatch.setattr(django_rq, "get_queue", lambda name: queue)
    monkeypatch.setattr(Job, "exists", staticmethod(lambda name, connection: name in queue.jobs))
    return queue


def test_a_job_for_each_ended_run_without_figures_is_enqueued_once(make_run: MakeRun, queue: Queue) -> None:
    finished = make_run(SOLVED, **FINISHED)
    stopped = make_run(SOLVED, state="stopped")
    make_run(SOLVED, state="open")
    store_report(make_run(SOLVED, **FINISHED))
    outdated = make_run(SOLVED, **FINISHED)
    store_report(outdated)
    CachedRunReport.objects.filter(run=outdated).update(fingerprint="1 finished")
    assert [reports.enqueue_missing_reports() for _ in range(2)] == [3, 3]
    assert {argument for _, argument in queue.jobs.values()} == {
        str(run.pk) for run in (finished, stopped, outdated)
    }
    for function, argument in queue.jobs.values():
        function(argument)
    assert reports.enqueue_missing_reports() == 0
    assert CachedRunReport.objects.get(run=outdated).score == 1.0
    reports.store_run_report("00000000-0000-0000-0000-000000000000")


def test_figures_of_runs_over_questions_are_stored_in_the_background(
    similarity_run: SimilarityRun, queue: Queue
) -> None:
    assert reports.enqueue_missing_reports() == 1
    [(function, argument)] = queue.jobs.values()
    function(argument)
    similarity_run.refresh_from_db()
    assert similarity_run.figures
    assert similarity_run.figures["answered"] == 0
    assert reports.enqueue_missing_reports() == 0


def test_an_unavailable_queue_server_stops_no_worker(
    make_run: MakeRun, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(name: str, connection: Any) -> bool:
        raise redis.ConnectionError("refused")

    make_run(SOLVED, **FINISHED)
    monkeypatch.setattr(Job, "exists", staticmethod(fail))
    assert reports.enqueue_missing_reports() == 0


def test_lists_measure_missing_figures_for_a_limited_time(
    make_run: MakeRun,
    visit: Visit,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reflecting = {"i": 2, "selection": "first-passing", "run_all": False}
    run = make_run(SOLVED, method="reflexion", parameters=reflecting, **FINISHED)
    runs = list(Run.objects.select_related("dataset", "cached_report"))
    assert cached_reports(runs) == [measure(run)]
    for address in ("/runs/", "/runs/ablations/"):
        assert "not stored yet" not in visit(address)
    monkeypatch.setattr(cached_report, "LIST_SECONDS", 0.0)
    assert cached_reports(runs) == [None]
    for address in ("/runs/", "/runs/ablations/"):
        assert "not stored yet" in visit(address)
    assert "100.00 %" in visit(f"/runs/{run.pk}/"), "the page of a run always shows its figures"
    store_report(run)
    for address in ("/runs/", "/runs/ablations/"):
        assert "not stored yet" not in visit(address)


def test_the_page_of_a_question_set_shows_figures_that_are_not_stored(
    similarity_run: SimilarityRun,
    researcher: Client,
) -> None:
    page = researcher.get(f"/runs/mcqs/{similarity_run.question_set.name}/").content.decode()
    assert "0 of 0" in page
    similarity_run.refresh_from_db()
    assert similarity_run.figures is None
