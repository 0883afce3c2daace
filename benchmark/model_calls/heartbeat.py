"""The processes that call models: each has a row, which it renews every few seconds and deletes when it ends.

The rows of one model count the processes that share its rate limits. A row with an exclusive key keeps other processes
from the same work.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import IntegrityError, transaction
from django.utils import timezone

from benchmark.models import Run, Runner
from benchmark.models.leases import LeasedQuerySet, renewing
from benchmark.models.owners import new_owner


class AlreadyRunningError(Exception):
    """The error that another process does the same work; the message names the work."""


@contextmanager
def exclusive_lock(work: str) -> Iterator[None]:
    """Keep other processes from the named work until the block ends. Raises AlreadyRunningError if one already does it.

    Read the remaining work inside the block: another process may still do it before the block begins.
    """
    owner, now = new_owner(), timezone.now()
    Runner.objects.filter(exclusive_key=work).lost(now).delete()
    try:
        with transaction.atomic():
            Runner.objects.create(owner=owner, exclusive_key=work, lease_until=now + Runner.LEASE)
    except IntegrityError:
        raise AlreadyRunningError(
            f"{work} is already running in another process. Wait until it ends, or stop it."
        ) from None
    try:
        with renewing(Runner.objects.filter(owner=owner)):
            yield
    finally:
        unregister(None, owner)


def send_heartbeat(owner: str, model_spec: str, run: Run | None = None, waiting: str = "") -> int:
    """Renew the row of this process; return how many processes share the limits of its model, this one included.

    `run` is None outside runs. `waiting` states in words why its calls are delayed.
    """
    limited = "" if run is not None and run.in_batches else model_spec
    now = timezone.now()
    Runner.objects.update_or_create(
        owner=owner,
        defaults={"run": run, "model_spec": limited, "waiting": waiting, "lease_until": now + Runner.LEASE},
    )
    return 1 + _count_living(Runner.objects.filter(model_spec=model_spec).exclude(owner=owner))


def unregister(run: Run | None, owner: str) -> bool:
    """Delete the row of this process, because it ends; return whether other processes work on its run."""
    Runner.objects.filter(owner=owner).delete()
    return run is not None and _count_living(Runner.objects.filter(run=run)) > 0


def _count_living(runners: LeasedQuerySet[Runner]) -> int:
    """Delete the rows of dead and silent processes; return the number of the others."""
    runners.lost(timezone.now()).delete()
    return runners.count()
