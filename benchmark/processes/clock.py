"""The difference between the clocks of hosts and that of the database."""

from datetime import UTC, datetime, timedelta

from django.db import connection
from django.utils import timezone

from benchmark.models import Process

TOLERANCE = timedelta(seconds=2)
"""The largest difference that is not reported. Leases of replies end after 6 seconds without a renewal."""


def clock_difference() -> timedelta:
    """Return how far the clock of this host is ahead of the database's. Raises DatabaseError.

    With SQLite both are the same clock.
    """
    if connection.vendor == "sqlite":
        return timedelta()
    before = timezone.now()
    with connection.cursor() as cursor:
        cursor.execute("SELECT extract(epoch FROM clock_timestamp())")
        (seconds,) = cursor.fetchone()
    middle = before + (timezone.now() - before) / 2
    return middle - datetime.fromtimestamp(float(seconds), UTC)


def differing_clocks() -> dict[str, timedelta]:
    """Return how far the clock of each host is ahead of the database's, for hosts beyond TOLERANCE.

    The differences come from the heartbeats of running streamers and workers.
    """
    found: dict[str, timedelta] = {}
    for process in Process.objects.running(timezone.now()):
        difference = process.clock_difference
        if difference is not None and abs(difference) > max(
            TOLERANCE, abs(found.get(process.host, TOLERANCE))
        ):
            found[process.host] = difference
    return found


def describe_difference(host: str, difference: timedelta) -> str:
    """Return a clause such as "the clock of a is 12 s ahead of the database's"."""
    seconds = difference.total_seconds()
    return f"the clock of {host} is {abs(seconds):.0f} s {'ahead of' if seconds > 0 else 'behind'} the database's"
