"""Heartbeats of processes: what a row says, when a process counts as ended, and that rows do not pile up."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from queue import Queue

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from benchmark.models import Process
from benchmark.processes import Heartbeat, Outage, heartbeat, outage_of, outages, sending_heartbeats
from config.version import VERSION
from tests.benchmark.processes import killed_process
from tests.stack import HANG

STREAMER, WORKER = Process.Kind.STREAMER, Process.Kind.WORKER

pytestmark = pytest.mark.django_db


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Heartbeat]:
    """Return a function that returns a worker's heartbeat from another host, which no process table shows."""

    def make() -> Heartbeat:
        with monkeypatch.context() as other:
            other.setattr(heartbeat, "new_owner", lambda: f"other-boot/1/1/{timezone.now().timestamp()}")
            return Heartbeat(WORKER)

    return make


def test_a_row_says_what_the_process_does_and_costs_one_write():
    beat = Heartbeat(STREAMER)
    beat.send("")
    with CaptureQueriesContext(
        connection,
    ) as queries:
        beat.send("3 replies" + "!" * 300)
    assert [query["sql"].split()[0] for query in queries] == ["UPDATE"]
    row = Process.objects.get()
    assert (row.kind, row.doing[:9], len(row.doing)) == ("streamer", "3 replies", 200)
    assert row.version.startswith(f"{VERSION} (")
    assert row.last_seen + Process.LEASE == row.lease_until


def test_a_requirement_without_a_process_is_an_outage_since_the_last_heartbeat():
    assert outages() == [Outage(name, None) for name in ("streamer", "judge worker", "model worker")]
    beat = Heartbeat(STREAMER)
    beat.send("")
    assert outage_of("streamer") is None
    beat.end()
    assert outage_of("streamer") == Outage("streamer", Process.objects.get().last_seen)


def test_a_killed_process_of_this_host_is_missed_at_once(monkeypatch: pytest.MonkeyPatch):
    with killed_process() as owner:
        monkeypatch.setattr(heartbeat, "new_owner", lambda: owner)
        Heartbeat(STREAMER).send("")
        assert outage_of("streamer") is None
    assert outage_of("streamer") is not None


def test_a_silent_process_of_another_host_is_missed_after_its_lease(elsewhere: Callable[[], Heartbeat]):
    elsewhere().send("")
    assert outage_of("judge worker") is None
    Process.objects.update(lease_until=timezone.now() - timedelta(milliseconds=1))
    assert outage_of("judge worker") is not None


def test_rows_of_ended_processes_do_not_pile_up(
    elsewhere: Callable[[], Heartbeat], monkeypatch: pytest.MonkeyPatch
):
    for _ in range(3):
        beat = Heartbeat(WORKER)
        beat.send("")
        beat.end()
    assert Process.objects.count() == 1, "a new process deletes the ended ones of its host"
    other = elsewhere()
    monkeypatch.setattr("platform.node", lambda: "other")
    other.send("")
    other.end()
    monkeypatch.setattr("platform.node", lambda: "here")
    Heartbeat(WORKER).send("")
    assert Process.objects.filter(host="other").exists(), "the page shows that the other host lacks a worker"
    Process.objects.filter(host="other").update(last_seen=timezone.now() - heartbeat.RETENTION)
    Heartbeat(WORKER).send("")
    assert not Process.objects.filter(host="other").exists()


def test_a_deleted_row_comes_back():
    beat = Heartbeat(WORKER)
    beat.send("")
    Process.objects.all().delete()
    beat.send("")
    assert outage_of("judge worker") is None


@pytest.mark.django_db(transaction=True)
def test_a_thread_sends_heartbeats_until_the_block_ends(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(heartbeat, "INTERVAL", 0.01)
    sent: Queue[str] = Queue()
    monkeypatch.setattr(heartbeat.Heartbeat, "send", lambda _, doing: sent.put(doing))
    monkeypatch.setattr(heartbeat.Heartbeat, "end", lambda _: sent.put("end"))
    with sending_heartbeats(WORKER, lambda: "perform(1)"):
        assert [sent.get(timeout=HANG) for _ in range(3)] == ["perform(1)"] * 3
    assert set(iter(lambda: sent.get(timeout=HANG), "end")) <= {"perform(1)"}
    assert sent.empty()
