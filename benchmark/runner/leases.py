"""Who works on which item: claims with a lease and a fencing number, as plain statements on the rows.

Everything a holder writes names its fencing number, so a process that was taken for dead changes nothing
after another has taken over.
"""

from datetime import timedelta
from uuid import UUID

from django.db import connection, models
from django.db.models import Q
from django.utils import timezone

from benchmark.model_calls.heartbeat import is_gone
from benchmark.models import Generation, Run, WorkItem

LEASE = timedelta(seconds=60)
"""How long a runner on another machine may be silent before its items are free; renewed every third of it."""

_FREE = {"runner": "", "lease_until": None}
_CLAIMED = ("id", "problem_id", "chain", "attempt")


def free_lost(run_id: UUID, runner: str = "") -> int:
    """Make items of dead or silent runners pending again, never those of the `runner` that asks; returns how many."""
    leased = _held_by_others(run_id, runner)
    gone = [name for name in leased.order_by().values_list("runner", flat=True).distinct() if is_gone(name)]
    lost = leased.filter(Q(runner__in=gone) | Q(lease_until__lt=timezone.now()))
    return lost.update(state=WorkItem.State.PENDING, **_FREE)


def retry_failed(run: Run) -> int:
    """Make items that failed by a fault pending again; returns how many."""
    return run.items.filter(state=WorkItem.State.FAILED).update(
        state=WorkItem.State.PENDING, fault="", permanent=False, **_FREE
    )


def claim(run_id: UUID, runner: str, count: int) -> list[WorkItem]:
    """Up to `count` items, first chains first, now leased to `runner`: pending ones, then what dead runners left.

    To be called in a transaction.
    """
    items = _claim_pending(run_id, runner, count)
    if len(items) < count and free_lost(run_id, runner):
        items += _claim_pending(run_id, runner, count - len(items))
    return items


def _claim_pending(run_id: UUID, runner: str, count: int) -> list[WorkItem]:
    # One statement: the ORM makes it a query and an update, and builds both anew for every few replies.
    skipped = "FOR UPDATE SKIP LOCKED" if connection.features.has_select_for_update_skip_locked else ""
    statement = (
        "WITH free AS MATERIALIZED ("  # noqa: S608  (no value is in it)
        "SELECT id FROM benchmark_workitem WHERE run_id = %s AND state = 'pending' "
        f"ORDER BY id LIMIT %s {skipped}) "
        "UPDATE benchmark_workitem SET state = 'leased', attempt = attempt + 1, runner = %s, lease_until = %s "
        f"WHERE id IN (SELECT id FROM free) RETURNING {', '.join(_CLAIMED)}"
    )
    values = [
        Run._meta.pk.get_db_prep_value(run_id, connection),
        count,
        runner,
        connection.ops.adapt_datetimefield_value(timezone.now() + LEASE),
    ]
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return [WorkItem.from_db(connection.alias, _CLAIMED, row) for row in sorted(cursor.fetchall())]


def others_hold(run_id: UUID, runner: str) -> bool:
    """Whether items are in the hands of other runners, any of which may die and leave them."""
    return _held_by_others(run_id, runner).exists()


def renew(run_id: UUID, runner: str) -> None:
    """Prolong every lease of this runner."""
    _held_by(run_id, runner).update(lease_until=timezone.now() + LEASE)


def finish(finished: list[tuple[WorkItem, Generation]]) -> list[None]:
    """Attempts are complete: judged programs, or replies without one. To be called in a transaction.

    The item's judgement is that of its attempt on all tests.
    """
    rows = [
        (selected.pk, selected.hidden_judgement_id, item.pk, item.attempt)
        # In one order everywhere, so that no two processes wait for each other.
        for item, selected in sorted(finished, key=lambda entry: entry[0].pk)
    ]
    with (
        connection.cursor() as cursor
    ):  # each row gets other values, which the ORM does at ten times the cost
        cursor.executemany(
            "UPDATE benchmark_workitem SET state = 'done', selected_id = %s, judgement_id = %s, runner = '', "
            "lease_until = NULL WHERE id = %s AND attempt = %s AND state = 'leased'",
            rows,
        )
    return [None] * len(finished)


def fail(item: WorkItem, fault: str, *, permanent: bool) -> None:
    """Mark the item as failed by the provider or the judge; `permanent` says that a retry would fail too."""
    _held(item).update(state=WorkItem.State.FAILED, fault=fault, permanent=permanent, **_FREE)


def is_settled(run: Run) -> bool:
    """Return whether every item is done or failed permanently, and at least one is done.

    A provider that rejects every request is misconfigured; such a run stays unfinished.
    """
    left = run.items.exclude(state=WorkItem.State.DONE)
    return not left.filter(permanent=False).exists() and run.items.filter(state=WorkItem.State.DONE).exists()


def release(item: WorkItem) -> None:
    """Give the item back unfinished; what is stored of it stays."""
    _held(item).update(state=WorkItem.State.PENDING, **_FREE)


def release_all(run_id: UUID, runner: str) -> None:
    """Give back everything this runner still holds, because it ends."""
    _held_by(run_id, runner).update(state=WorkItem.State.PENDING, **_FREE)


def _held_by(run_id: UUID, runner: str) -> models.QuerySet[WorkItem]:
    return WorkItem.objects.filter(run_id=run_id, state=WorkItem.State.LEASED, runner=runner)


def _held_by_others(run_id: UUID, runner: str) -> models.QuerySet[WorkItem]:
    return WorkItem.objects.filter(run_id=run_id, state=WorkItem.State.LEASED).exclude(runner=runner)


def _held(item: WorkItem) -> models.QuerySet[WorkItem]:
    return WorkItem.objects.filter(pk=item.pk, attempt=item.attempt, state=WorkItem.State.LEASED)
