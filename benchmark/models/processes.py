"""The processes of this installation on all hosts, as rows that they renew."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Self

from django.db import models

from benchmark.models.leases import PROCESS_LEASE, Leased, LeasedQuerySet
from benchmark.models.owners import OWNER_LENGTH


class ProcessQuerySet(LeasedQuerySet["Process"]):
    """Processes, running and ended ones."""

    def running(self, now: datetime) -> Self:
        """Return the processes that have not ended and sent a heartbeat in time."""
        return self.exclude(pk__in=[process.pk for process in self.lost(now)])


class Process(Leased):
    """A streamer or worker. It renews its row while it runs; the row of an ended process says when that was."""

    class Kind(models.TextChoices):
        STREAMER = "streamer"
        JUDGE_WORKER = "judge worker"
        MODEL_WORKER = "model worker"
        WORKER = "worker", "worker of both kinds"

    LEASE = PROCESS_LEASE

    owner = models.CharField(max_length=OWNER_LENGTH, primary_key=True)
    kind = models.CharField(max_length=20, choices=Kind.choices)
    host = models.CharField(max_length=200)
    pid = models.PositiveIntegerField(help_text="Process id on the host.")
    version = models.CharField(max_length=80)
    since = models.DateTimeField(help_text="Start of the process.")
    last_seen = models.DateTimeField(help_text="Time of the last heartbeat, or of the end of the process.")
    stored_at = models.DateTimeField(
        null=True, help_text="Time of the last heartbeat by the clock of the database."
    )
    doing = models.CharField(max_length=200, blank=True, help_text="The present work. Blank: none.")

    objects = ProcessQuerySet.as_manager()

    class Meta:
        ordering = ["host", "kind", "since"]
        verbose_name_plural = "processes"

    def __str__(self) -> str:
        return f"{self.kind} {self.pid} on {self.host}"

    @property
    def clock_difference(self) -> timedelta | None:
        """How far the clock of its host is ahead of the database's; None before the first heartbeat of this version."""
        return None if self.stored_at is None else self.last_seen - self.stored_at
