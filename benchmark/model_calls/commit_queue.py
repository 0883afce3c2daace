"""Database work of a run, in a thread of its own: whatever waits there is done in one transaction.

A call of a model and the rows about it thus cost one commit together with those of its neighbours, and nobody
is told that something is stored before it is.
"""

import asyncio
import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

from django.db import InterfaceError, OperationalError, connection, transaction

logger = logging.getLogger(__name__)

T = TypeVar("T")
R = TypeVar("R")

PATIENCE = 60.0
"""Seconds to wait for a database that is away, a reply that was paid for being worth that much."""

_LARGEST = 500
"""Entries of one transaction, so that other processes get their turn."""

Work = Callable[[list[Any]], Sequence[Any]]
_Entry = tuple[Work, Any, "asyncio.Future[Any]"]


class CommitQueue:
    """Start it with `with`, on the event loop that it serves."""

    def __init__(self) -> None:
        self._waiting: queue.SimpleQueue[_Entry | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name="rows of the run", daemon=True)
        self._loop = asyncio.get_running_loop()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Returns when everything that was asked for is stored."""
        self._waiting.put(None)
        self._thread.join()

    async def do(self, work: Callable[[list[T]], Sequence[R]], subject: T) -> R:
        """What `work` gives for the subject, once it is committed.

        `work` is called with the subjects of everybody who waits for it and gives as many results. When one
        fails, all is undone and done again one by one, so the exception reaches the one it belongs to.
        """
        future: asyncio.Future[R] = self._loop.create_future()
        self._waiting.put((work, subject, future))
        return await future

    async def run(self, work: Callable[[], R]) -> R:
        """What `work` gives, once it is committed."""
        return await self.do(_each, work)

    def _serve(self) -> None:
        ending = False
        while not ending:
            entries = [self._waiting.get()]
            while len(entries) < _LARGEST and not self._waiting.empty():
                entries.append(self._waiting.get())
            ending = None in entries
            outcomes = _commit([entry for entry in entries if entry is not None])
            self._loop.call_soon_threadsafe(_tell, outcomes)
        connection.close()


_Outcome = tuple["asyncio.Future[Any]", Any, Exception | None]


def _commit(entries: list[_Entry]) -> list[_Outcome]:
    if len(entries) > 1:
        try:
            return _together(entries)
        except Exception:  # noqa: BLE001  (whose it is shows when they are done one by one)
            logger.debug("%s entries are done one by one", len(entries))
    deadline = time.monotonic() + PATIENCE
    return [_alone(entry, deadline) for entry in entries]


def _together(entries: list[_Entry]) -> list[_Outcome]:
    by_work: dict[Work, list[_Entry]] = {}
    for entry in entries:
        by_work.setdefault(entry[0], []).append(entry)
    outcomes: list[_Outcome] = []
    with transaction.atomic():
        for work, same in by_work.items():
            results = work([subject for _, subject, _ in same])
            outcomes += [(future, result, None) for (_, _, future), result in zip(same, results, strict=True)]
    return outcomes


def _alone(entry: _Entry, deadline: float) -> _Outcome:
    """The entry's outcome; while the database is away it is tried again, until `deadline` (of the monotonic clock)."""
    while True:
        try:
            return _together([entry])[0]
        except (
            OperationalError,
            InterfaceError,
        ) as error:  # the database is away, or others kept it too long
            if time.monotonic() > deadline:
                return entry[2], None, error
            logger.warning("the database is away: %s", error)
        except Exception as error:  # noqa: BLE001  (raised where it was asked for)
            return entry[2], None, error
        connection.close()
        time.sleep(0.5)


def _tell(outcomes: list[_Outcome]) -> None:
    for future, result, error in outcomes:
        if future.done():  # whoever asked was cancelled meanwhile
            continue
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)


def _each(works: list[Callable[[], Any]]) -> list[Any]:
    return [work() for work in works]
