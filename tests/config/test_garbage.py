"""Web server, streamer and workers exclude what they have loaded from garbage collections."""

import gc
import importlib
from collections.abc import Iterator
from contextlib import nullcontext

import pytest
from django.core.management import call_command
from django.db import connections

import config.asgi
from benchmark.worker import worker
from benchmark.worker.kinds import WorkerKind
from tutoring.management.commands import streamer

LOADED = 10_000
"""Fewer objects than any of the processes has loaded."""


@pytest.fixture(autouse=True)
def without_frozen_objects() -> Iterator[None]:
    gc.unfreeze()
    yield
    gc.unfreeze()


def test_the_web_server_excludes_loaded_objects():
    importlib.reload(config.asgi)
    assert gc.get_freeze_count() > LOADED


def test_a_streamer_excludes_loaded_objects_before_it_serves(monkeypatch: pytest.MonkeyPatch):
    counts = []

    async def serve(_limit: int) -> None:
        counts.append(gc.get_freeze_count())

    monkeypatch.setattr(streamer, "_serve", serve)
    call_command("streamer")
    assert counts[0] > LOADED


def test_a_worker_excludes_loaded_objects_before_it_works(monkeypatch: pytest.MonkeyPatch):
    counts = []
    monkeypatch.setattr(worker, "separate", lambda _kind: None)
    monkeypatch.setattr(worker, "start_sweeping", lambda _kind: None)
    monkeypatch.setattr(worker, "sending_heartbeats", lambda *_: nullcontext())
    monkeypatch.setattr(worker, "_work", lambda _kind: counts.append(gc.get_freeze_count()))
    monkeypatch.setitem(connections.settings["default"], "CONN_MAX_AGE", 0)
    worker.run(WorkerKind.MODEL)
    assert counts[0] > LOADED
