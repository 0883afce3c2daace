"""Who works on which item: claims with a lease and a fencing number, as plain statements on the rows.

Everything a holder writes names its fencing number, so a process that was taken for dead changes nothing
after another has taken over.
"""

from datetime import timedelta
from uuid import UUID

from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from benchmark.models import Generation, Run, WorkItem
from benchmark.runner.presence import is_gone

LEASE = timedelta(seconds=60)
"""How long a runner on another machine may be silent before its items are free; renewed every third of it."""

_FREE = {"runner": "", "lease_until": None}


def free_lost(run: Run) -> int:
    """Make items of dead or silent runners pending again; returns how many."""
    leased = run.items.filter(state=WorkItem.State.LEASED)
    gone = [name for name in leased.order_by().values_list("runner", flat=True).distinct() if is_gone(name)]
    lost = leased.filter(Q(runner__in=gone) | Q(lease_until__lt=timezone.now()))
    return lost.update(state=WorkItem.State.PENDING, **_FREE)


def retry_failed(run: Run) -> int:
    """Make items that failed by a fault pending again; returns how many."""
    return run.items.filter(state=WorkItem.State.FAILED).update(
        state=WorkItem.State.PENDING, fault="", **_FREE
    )


def claim(run_id: UUID, runner: str) -> WorkItem | None:
    """The next pending item, first chains first, now leased to `runner`; None when none is left."""
    while True:
        pending = WorkItem.objects.filter(run_id=run_id, state=WorkItem.State.PENDING)
        pk = pending.order_by("chain", "problem__external_id").values_list("pk", flat=True).first()
        if pk is None:
            return None
        if pending.filter(pk=pk).update(
            state=WorkItem.State.LEASED,
            attempt=F("attempt") + 1,
            runner=runner,
            lease_until=timezone.now() + LEASE,
        ):
            return WorkItem.objects.select_related("problem__dataset", "judgement").get(pk=pk)


def renew(runner: str) -> None:
    """Prolong every lease of this runner."""
    WorkItem.objects.filter(runner=runner, state=WorkItem.State.LEASED).update(
        lease_until=timezone.now() + LEASE
    )


def finish(item: WorkItem, selected: Generation) -> None:
    """The attempt is complete: a judged program, or a reply without one."""
    _held(item).update(state=WorkItem.State.DONE, selected=selected, **_FREE)


def fail(item: WorkItem, fault: str) -> None:
    """The provider or the judge failed. The item counts for nothing until it is tried again."""
    _held(item).update(state=WorkItem.State.FAILED, fault=fault, **_FREE)


def release(item: WorkItem) -> None:
    """Give the item back unfinished; what is stored of it stays."""
    _held(item).update(state=WorkItem.State.PENDING, **_FREE)


def release_all(runner: str) -> None:
    """Give back everything this runner still holds, because it ends."""
    WorkItem.objects.filter(runner=runner, state=WorkItem.State.LEASED).update(
        state=WorkItem.State.PENDING, **_FREE
    )


def _held(item: WorkItem) -> models.QuerySet[WorkItem]:
    return WorkItem.objects.filter(pk=item.pk, attempt=item.attempt, state=WorkItem.State.LEASED)
