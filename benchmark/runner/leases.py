"""The leases of a run's work items.

These functions run for every few replies, so each is one plain statement on the rows where the ORM is too slow.
"""

from uuid import UUID

from django.db import connection
from django.utils import timezone

from benchmark.models import Generation, Run, WorkItem
from benchmark.models.leases import ClaimableQuerySet
from benchmark.models.signals import items_finished


def release_lost(run_id: UUID, owner: str = "") -> int:
    """Make items of dead or silent owners pending again, except those of `owner`; return their number."""
    return _items(run_id).exclude(owner=owner).release_lost(timezone.now())


def retry_failed(run: Run) -> int:
    """Make failed items pending again; return their number."""
    return run.items.filter(state=WorkItem.State.FAILED).update(
        state=WorkItem.State.PENDING, fault="", permanent=False
    )


def claim(run_id: UUID, owner: str, count: int) -> list[WorkItem]:
    """Lease up to `count` items to `owner` and return them: pending items by id, then items of dead or silent owners.

    Call it in a transaction.
    """
    items = _claim_pending(run_id, owner, count)
    if len(items) < count and release_lost(run_id, owner):
        items += _claim_pending(run_id, owner, count - len(items))
    return items


def _claim_pending(run_id: UUID, owner: str, count: int) -> list[WorkItem]:
    return WorkItem.claim(owner, count, timezone.now(), columns=("problem_id", "chain"), run_id=run_id)


def others_hold(run_id: UUID, owner: str) -> bool:
    """Return whether other owners hold items, which become pending again if an owner dies."""
    return _items(run_id).held().exclude(owner=owner).exists()


def renew(run_id: UUID, owner: str) -> None:
    """Prolong every lease of this owner."""
    _items(run_id).held_by(owner).renew(timezone.now())


def finish(finished: list[tuple[WorkItem, Generation]]) -> list[None]:
    """Store the selected generation of each item, and its judgement on all tests. Call it in a transaction.

    An item whose claim is lost is left unchanged. `items_finished` is sent in the same transaction.
    """
    rows = [
        (WorkItem.State.DONE, selected.pk, selected.hidden_judgement_id, item.pk, item.attempt, WorkItem.HELD)
        # All processes lock the rows in this order, so that no two processes block each other.
        for item, selected in sorted(finished, key=lambda entry: entry[0].pk)
    ]
    with connection.cursor() as cursor:
        # Each row gets other values, which costs ten times as much with the ORM.
        cursor.executemany(
            "UPDATE benchmark_workitem SET state = %s, selected_id = %s, judgement_id = %s, owner = '', "
            "lease_until = NULL WHERE id = %s AND attempt = %s AND state = %s",
            rows,
        )
    items_finished.send(WorkItem, run=finished[0][0].run, items=[item for item, _ in finished])
    return [None] * len(finished)


def fail(item: WorkItem, fault: str, *, permanent: bool) -> None:
    """Mark the item as failed by the provider or the judge; `permanent` means that every retry would fail too."""
    item.end(WorkItem.State.FAILED, fault=fault, permanent=permanent)


def is_settled(run: Run) -> bool:
    """Return whether every item is done or failed permanently, and at least one is done.

    A provider that rejects every request is misconfigured; such a run stays unfinished.
    """
    left = run.items.exclude(state=WorkItem.State.DONE)
    return not left.filter(permanent=False).exists() and run.items.filter(state=WorkItem.State.DONE).exists()


def release(item: WorkItem) -> None:
    """Make the item pending again; its stored generations stay."""
    item.claimed().release()


def release_all(run_id: UUID, owner: str) -> None:
    """Make every item of this owner pending again, because the process ends."""
    _items(run_id).held_by(owner).release()


def _items(run_id: UUID) -> ClaimableQuerySet[WorkItem]:
    return WorkItem.objects.filter(run_id=run_id)
