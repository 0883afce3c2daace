"""Leases: each leased row belongs to one process, until that process finishes it, ends, or stays silent too long.

A claim counts the attempt of its row up. Everything that the owner writes names this number, so a process that was
wrongly taken for dead changes nothing after another process has claimed the row. Every method that compares or sets
times takes the current time as `now`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from typing import Any, ClassVar, Self, TypeVar

from django.db import InterfaceError, OperationalError, connection, models
from django.db.models import Q
from django.utils import timezone

from benchmark.models.clock import LONGEST_LEAD, clock_monitor
from benchmark.models.owners import OWNER_LENGTH, is_dead

HEARTBEAT = 2.0
"""Seconds between two renewals of a lease by its owner."""

SEARCH_INTERVAL = 5.0
"""The most seconds between two searches for rows of dead or silent owners. With the time that a search takes, the rows
of a process that ended on this host are free within 8 s."""

REPLY_LEASE = timedelta(seconds=6)  # a tutor waits for the reply
PROCESS_LEASE = timedelta(seconds=7)  # pages check every 2 s, so a tutor learns of an outage within 10 s
RUNNER_LEASE = timedelta(seconds=15)
MODEL_TEST_LEASE = timedelta(seconds=90)  # longer than a test may take; it is not renewed
JUDGEMENT_LEASE = timedelta(seconds=30)
GROWTH_LEASE = timedelta(seconds=30)
WORK_ITEM_LEASE = timedelta(seconds=60)  # a second owner pays for the calls in flight again

L = TypeVar("L", bound="Leased")
C = TypeVar("C", bound="Claimable")


class LeasedQuerySet(models.QuerySet[L]):
    """Rows with leases."""

    def held(self) -> Self:
        """Return the rows that an owner holds."""
        return self.exclude(owner="")

    def held_by(self, owner: str) -> Self:
        """Return the rows that this owner holds."""
        return self.held().filter(owner=owner)

    def lost(self, now: datetime) -> Self:
        """Return the held rows whose owner ended on this host, or did not renew its lease in time.

        After a jump of the clock, the ends of leases are ignored until living owners have renewed them by the new time.
        """
        held = self.held()
        owners = held.order_by().values_list("owner", flat=True).distinct()
        lost = Q(owner__in=[owner for owner in owners if is_dead(owner)])
        if clock_monitor.is_steady():
            latest = now + self.model.LEASE + LONGEST_LEAD
            lost |= Q(lease_until__lt=now) | Q(lease_until__gt=latest)
        return held.filter(lost)

    def renew(self, now: datetime) -> int:
        """Renew the leases of the rows that are held; return their number."""
        return self.held().update(lease_until=now + self.model.LEASE)


class ClaimableQuerySet(LeasedQuerySet[C]):
    """Rows that processes claim."""

    def waiting(self) -> Self:
        """Return the rows that no process works on."""
        return self.filter(state=self.model.WAITING)

    def held(self) -> Self:
        """Return the rows that an owner holds."""
        return self.filter(state=self.model.HELD)

    def claimable(self, now: datetime) -> Self:
        """Return the rows that wait, and those whose owner is dead or silent."""
        return self.waiting() | self.lost(now)

    def release(self) -> int:
        """Set the held rows to waiting; return their number."""
        return self.held().update(state=self.model.WAITING, owner="", lease_until=None)

    def release_lost(self, now: datetime) -> int:
        """Set the rows of dead or silent owners to waiting; return their number."""
        return self.lost(now).release()


class Leased(models.Model):
    """A row that belongs to the process `owner` until `lease_until`, a time that the owner renews."""

    LEASE: ClassVar[timedelta]
    """How long the owner may be silent before its rows are free. Rows of an owner that ended on this host are free at
    once."""

    owner = models.CharField(
        max_length=OWNER_LENGTH, blank=True, default="", help_text="The process that holds the lease."
    )
    lease_until = models.DateTimeField(
        null=True, blank=True, help_text="When the lease ends unless its owner renews it."
    )

    class Meta:
        abstract = True


class Claimable(Leased):
    """A row that processes claim: it waits, is held by one owner at a time, and ends in another state."""

    WAITING: ClassVar[str]
    HELD: ClassVar[str]
    """The values of `state` of a row that waits, and of one that an owner holds."""

    state = models.CharField(max_length=10)
    attempt = models.PositiveIntegerField(
        default=0, help_text="Number of claims. Only the latest claim may write."
    )

    objects = ClaimableQuerySet.as_manager()

    class Meta:
        abstract = True

    @classmethod
    def claim(
        cls, owner: str, count: int, now: datetime, columns: tuple[str, ...] = (), **equal: Any
    ) -> list[Self]:
        """Lease up to `count` waiting rows to `owner`, in the order of their ids; return them.

        `equal` selects the rows by values of columns. The rows returned have their id, attempt and `columns` loaded.
        Rows that another transaction has locked are skipped where the database can do so.
        """
        # One statement: the ORM needs a query and an update, and builds both for each claim.
        read = ("id", "attempt", *columns)
        where = " AND ".join(f"{name} = %s" for name in (*equal, "state"))
        skip = "FOR UPDATE SKIP LOCKED" if connection.features.has_select_for_update_skip_locked else ""
        table = cls._meta.db_table
        statement = (
            f"WITH free AS MATERIALIZED (SELECT id FROM {table} WHERE {where} ORDER BY id LIMIT %s {skip}) "  # noqa: S608  (names of columns only)
            f"UPDATE {table} SET state = %s, attempt = attempt + 1, owner = %s, lease_until = %s "
            f"WHERE id IN (SELECT id FROM free) RETURNING {', '.join(read)}"
        )
        values = [
            *(cls._prepared(name, value) for name, value in equal.items()),
            cls.WAITING,
            count,
            cls.HELD,
            owner,
            cls._prepared("lease_until", now + cls.LEASE),
        ]
        with connection.cursor() as cursor:
            cursor.execute(statement, values)
            return [cls.from_db(connection.alias, read, row) for row in sorted(cursor.fetchall())]

    @classmethod
    def claim_one(cls, pk: int, owner: str, now: datetime) -> Self | None:
        """Lease this row to `owner` if it waits, or if its owner is dead or silent; return it with id and attempt."""
        claimed = cls.claim(owner, 1, now, id=pk)
        if not claimed and cls._claimables().filter(pk=pk).release_lost(now):
            claimed = cls.claim(owner, 1, now, id=pk)
        return claimed[0] if claimed else None

    @classmethod
    def _claimables(cls) -> ClaimableQuerySet[Self]:
        rows: ClaimableQuerySet[Self] = cls._default_manager.all()  # type: ignore[assignment]
        return rows

    @classmethod
    def _prepared(cls, column: str, value: Any) -> Any:
        """Return the value as the database driver takes it for this column."""
        field = cls._meta.get_field(column)
        assert isinstance(field, models.Field)
        return field.get_db_prep_save(value, connection)

    def claimed(self) -> ClaimableQuerySet[Self]:
        """Return a query for the row of this claim, empty after another process has claimed or released it."""
        return self._claimables().filter(pk=self.pk, attempt=self.attempt).held()

    def end(self, state: str, **columns: Any) -> bool:
        """Set the row's final state and these columns; return False, and write nothing, if the claim is lost."""
        return self.claimed().update(state=state, owner="", lease_until=None, **columns) > 0


@contextmanager
def renewing(rows: LeasedQuerySet[Any]) -> Iterator[None]:
    """Renew the leases of the rows from a thread until the block ends."""
    ended = threading.Event()

    def renew() -> None:
        while not ended.wait(HEARTBEAT):
            with suppress(OperationalError, InterfaceError):  # the next renewal may reach the database
                rows.renew(timezone.now())
            connection.close()

    thread = threading.Thread(target=renew, name="renewal of leases", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
