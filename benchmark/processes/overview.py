"""Which kinds of processes run, and since when one has been missing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from benchmark.models import Process
from benchmark.processes.version import source_version

REQUIRED: dict[str, tuple[Process.Kind, ...]] = {
    "streamer": (Process.Kind.STREAMER,),
    "judge worker": (Process.Kind.JUDGE_WORKER, Process.Kind.WORKER),
    "model worker": (Process.Kind.MODEL_WORKER, Process.Kind.WORKER),
}
"""What an installation needs: each name with the kinds of which at least one process must run."""


@dataclass(frozen=True)
class Outage:
    """A requirement that no running process meets."""

    name: str
    since: datetime | None
    """When the last process of these kinds was seen; None if it is unknown."""


def outage_of(name: str) -> Outage | None:
    """Return the outage of a name of REQUIRED; None if a process runs."""
    rows = Process.objects.filter(kind__in=REQUIRED[name])
    if rows.running(timezone.now()).exists():
        return None
    last = rows.order_by("-last_seen").values_list("last_seen", flat=True).first()
    return Outage(name, last)


def outages() -> list[Outage]:
    """Return the outage of each requirement that no running process meets."""
    return [outage for name in REQUIRED if (outage := outage_of(name)) is not None]


def running(kind: Process.Kind) -> list[Process]:
    """Return the running processes of this kind."""
    return list(Process.objects.filter(kind=kind).running(timezone.now()))


def differing_versions() -> list[Process]:
    """Return the running processes whose version differs from that of this process."""
    running = Process.objects.running(timezone.now())
    return list(running.exclude(version=source_version()))
