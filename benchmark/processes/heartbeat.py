"""The heartbeat of a process: one small write every few seconds."""

from __future__ import annotations

import os
import platform
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta

from django.db import DatabaseError, close_old_connections, connection
from django.db.models.functions import Now
from django.utils import timezone

from benchmark.models import Process
from benchmark.models.owners import new_owner
from benchmark.processes.version import source_version

INTERVAL = 3.0
"""Seconds between two heartbeats."""

RETENTION = timedelta(hours=1)
"""How long the row of an ended process on another host is kept."""


class Heartbeat:
    """The row of this process. A row that was deleted is created again."""

    def __init__(self, kind: Process.Kind) -> None:
        self._kind = kind
        self._owner = new_owner()
        self._since = timezone.now()

    def send(self, doing: str) -> None:
        """Renew the row with the current work in words. Raises DatabaseError."""
        now = timezone.now()
        values = {
            "last_seen": now,
            "stored_at": Now(),
            "lease_until": now + Process.LEASE,
            "doing": doing[: Process._meta.get_field("doing").max_length],
        }
        if Process.objects.filter(pk=self._owner).update(**values):
            return
        Process.objects.create(
            owner=self._owner,
            kind=self._kind,
            host=platform.node(),
            pid=os.getpid(),
            version=source_version(),
            since=self._since,
            **values,
        )
        self._delete_ended()

    def end(self) -> None:
        """Store that the process has ended now. Raises DatabaseError."""
        now = timezone.now()
        Process.objects.filter(pk=self._owner).update(
            last_seen=now, stored_at=Now(), lease_until=now, doing=""
        )

    def _delete_ended(self) -> None:
        """Delete the rows of ended processes that this one replaces, and those older than RETENTION."""
        now = timezone.now()
        for process in Process.objects.filter(kind=self._kind).lost(now):
            if process.host == platform.node() or process.last_seen < now - RETENTION:
                process.delete()


@contextmanager
def sending_heartbeats(kind: Process.Kind, doing: Callable[[], str]) -> Iterator[None]:
    """Send heartbeats from a thread until the block ends. `doing` returns the current work in words."""
    heartbeat, ended = Heartbeat(kind), threading.Event()

    def send() -> None:
        while True:
            close_old_connections()
            with suppress(DatabaseError):  # the next heartbeat may reach the database
                heartbeat.send(doing())
            if ended.wait(INTERVAL):
                break
        with suppress(DatabaseError):
            heartbeat.end()
        connection.close()

    thread = threading.Thread(target=send, name="heartbeats", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(INTERVAL)
