"""/metrics: who may read it, what it says of rows of all hosts, and that documents name metrics that exist."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from pathlib import Path

import pytest
import yaml
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families
from pytest_django import Settings

from benchmark.judging import request_judgement, store_submission
from benchmark.model_calls.ledger import today
from benchmark.models import DailySpend, Judgement, Problem, Process
from benchmark.processes import Heartbeat
from config.logs import formatter, secrets
from tests.tutoring.dialogues import SessionUnderTest
from tutoring.models import Reply
from tutoring.replies.endings import fail_reply
from tutoring.replies.model_answer import ModelAnswer

TOKEN = "canary-of-a-metrics-token"

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def token(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.METRICS_TOKEN = TOKEN
    monkeypatch.setenv("METRICS_TOKEN", TOKEN)
    secrets.cache_clear()


def scrape() -> dict[tuple[str, ...], float]:
    """Return the value of each sample by its name and the values of its labels, sorted by their names."""
    answer = Client().get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == 200
    families = text_string_to_metric_families(answer.content.decode())
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


@pytest.mark.parametrize("header", [None, "", "Bearer ", "Bearer wrong", TOKEN, f"Basic {TOKEN}", "Bearer ü"])
def test_a_wrong_token_is_refused(header: str | None):
    answer = Client().get("/metrics", headers={} if header is None else {"Authorization": header})
    assert answer.status_code == 403
    assert b"hintbench_" not in answer.content


def test_without_a_configured_token_the_page_does_not_exist(settings: Settings):
    settings.METRICS_TOKEN = ""
    for header in ("", "Bearer "):
        assert Client().get("/metrics", headers={"Authorization": header}).status_code == 404


def test_the_token_is_in_no_line_of_the_log(caplog: pytest.LogCaptureFixture):
    caplog.set_level("DEBUG")
    scrape()
    Client().get("/metrics", headers={"Authorization": f"Basic {TOKEN}"})
    Client().get(f"/metrics/{TOKEN}")
    assert caplog.records
    assert TOKEN not in "\n".join(formatter("text").format(record) for record in caplog.records)


def test_queues_heartbeats_and_outages_are_those_of_all_hosts(session: SessionUnderTest):
    session.say()
    Heartbeat(Process.Kind.WORKER).send("")
    Process.objects.update(last_seen=timezone.now() - timedelta(seconds=3))
    found = scrape()
    assert found["hintbench_queue_waiting", "replies"] == 1
    assert 0 < found["hintbench_queue_oldest_seconds", "replies"] < 60
    assert found["hintbench_queue_waiting", "executions"] == 0
    assert found["hintbench_processes", "worker"] == 1
    assert 3 <= found["hintbench_heartbeat_age_seconds", "worker"] < 60
    assert found["hintbench_processes", "streamer"] == 0
    assert ("hintbench_heartbeat_age_seconds", "streamer") not in found
    assert found["hintbench_requirement_met", "streamer"] == 0
    session.claim()
    found = scrape()
    assert found["hintbench_queue_waiting", "replies"] == 0
    assert found["hintbench_queue_in_progress", "replies"] == 1


def test_the_time_to_the_first_text_is_a_histogram_of_the_last_minutes(session: SessionUnderTest):
    session.say()
    session.claim()
    now = timezone.now()
    name, model = "hintbench_recent_first_text_seconds", "openai:hidden-model-name"
    Reply.objects.update(started_at=now - timedelta(seconds=3), first_text_at=now)
    found = scrape()
    assert found[f"{name}_count", model] == 1
    assert found[f"{name}_sum", model] == pytest.approx(3)
    assert (found[f"{name}_bucket", "2.0", model], found[f"{name}_bucket", "4.0", model]) == (0, 1)
    Reply.objects.update(first_text_at=now - timedelta(minutes=6))
    assert (f"{name}_count", model) not in scrape()


def test_verdicts_and_tests_are_those_of_the_last_minutes(doubling: Problem):
    submission = store_submission(doubling, "print(1)", "python")
    now = timezone.now()

    def judged(verdict: str, passed: int, total: int, **columns: object) -> None:
        row = request_judgement(submission)
        values = {"finished_at": now, "attempt": 1} | columns
        Judgement.objects.filter(pk=row.pk).update(
            state="done", verdict=verdict, passed=passed, total=total, **values
        )

    judged("AC", 5, 5)
    judged("WA", 2, 5)
    judged("WA", 2, 5, stop_at_first_failure=False)
    judged("AC", 5, 5, attempt=0)  # the copy of a stored verdict
    judged("TLE", 0, 5, finished_at=now - timedelta(minutes=6))
    found = scrape()
    assert found["hintbench_recent_verdicts", "AC"] == 1
    assert found["hintbench_recent_verdicts", "WA"] == 2
    assert ("hintbench_recent_verdicts", "TLE") not in found
    assert found["hintbench_recent_tests",] == 5 + 3 + 5


def test_tokens_and_dollars_of_today_are_summed_over_studies(session: SessionUnderTest):
    for study in ("", "study:a@1"):
        DailySpend.objects.create(
            day=today(), model_spec="openai:m", study_key=study, calls=1, input_tokens=10, output_tokens=5,
            microdollars=250_000,
        )  # fmt: skip
    DailySpend.objects.create(day=today() - timedelta(days=1), model_spec="openai:m", microdollars=10**9)
    session.say()
    fail_reply(session.claim(), "server", "broken", ModelAnswer())
    found = scrape()
    assert found["hintbench_tokens_total", "input", "openai:m"] == 20
    assert found["hintbench_tokens_total", "output", "openai:m"] == 10
    assert found["hintbench_dollars_total", "openai:m"] == 0.5
    assert found["hintbench_model_calls_total", "openai:m"] == 2
    assert found["hintbench_recent_failed_replies", "server"] == 1


def test_requests_are_counted_by_view_and_status_only():
    before = scrape()
    for path in ("/glossary/", "/glossary/?q=1", "/nowhere/canary", "/nowhere/other"):
        Client().get(path)
    found = scrape()
    name = "hintbench_http_request_seconds_count"
    assert found[name, "200", "glossary"] == before.get((name, "200", "glossary"), 0) + 2
    assert found[name, "404", "none"] == before.get((name, "404", "none"), 0) + 2
    assert "canary" not in str(list(found))


def test_a_scrape_needs_few_queries_however_many_rows_there_are(session: SessionUnderTest):
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            scrape()
        return len(captured)

    few = queries()
    session.say()
    session.claim()
    for _ in range(3):
        Heartbeat(Process.Kind.WORKER).send("")
    assert queries() <= few < 30


def test_dashboard_alerts_and_documentation_name_metrics_that_exist(
    repository: Path, session: SessionUnderTest, doubling: Problem
):
    session.say()
    claimed = session.claim()
    Reply.objects.update(started_at=timezone.now(), first_text_at=timezone.now())
    first = scrape()
    fail_reply(claimed, "server", "broken", ModelAnswer())
    DailySpend.objects.create(day=today(), model_spec="openai:m")
    row = request_judgement(store_submission(doubling, "print(1)", "python"))
    Judgement.objects.filter(pk=row.pk).update(
        state="done", verdict="AC", finished_at=timezone.now(), attempt=1
    )
    Heartbeat(Process.Kind.WORKER).send("")
    existing = {name for name, *_ in first.keys() | scrape().keys()}
    folder = repository / "docs" / "monitoring"
    dashboard = json.loads((folder / "dashboard.json").read_text())
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    rules = yaml.safe_load((folder / "alerts.yaml").read_text())["groups"][0]["rules"]
    queries += [rule["expr"] for rule in rules]
    named = {name for query in queries for name in re.findall(r"hintbench_\w+", query)}
    assert len(rules) > 5
    assert named <= existing
    documented = set(re.findall(r"`(hintbench_\w+)`", (repository / "docs" / "operator.md").read_text()))
    families = {re.sub(r"_(bucket|sum|count|created)$", "", name) for name in existing}
    assert documented == {name for name in families if name.startswith("hintbench_")}
