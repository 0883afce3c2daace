"""Database work of a run in a separate thread, with one transaction for everything that waits.

A model call and the rows about it thus share a commit with other calls, and no result is returned before it is
committed.
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

LONGEST_OUTAGE = 60.0
"""Seconds for which work is repeated while the database is unavailable, because the replies are paid for."""

_MAX_ENTRIES = 500
"""Entries of one transaction; more would block other processes for too long."""

Work = Callable[[list[Any]], Sequence[Any]]
_Entry = tuple[Work, Any, "asyncio.Future[Any]"]


class CommitQueue:
    """The queue of database work; it is started with `with`, on the event loop that it serves."""

    def __init__(self) -> None:
        self._submitted: list[_Entry] = []
        self._waiting: queue.SimpleQueue[_Entry | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name="rows of the run", daemon=True)
        self._loop = asyncio.get_running_loop()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Return after all submitted work is committed."""
        self._hand_over()
        self._waiting.put(None)
        self._thread.join()

    async def submit(self, work: Callable[[list[T]], Sequence[R]], subject: T) -> R:
        """Return the result of `work` for the subject after its commit.

        `work` is called with all subjects that wait for it and returns one result for each. When one fails, everything
        is rolled back and repeated one by one, and the exception is raised where that subject was submitted.
        """
        future: asyncio.Future[R] = self._loop.create_future()
        if not self._submitted:
            self._loop.call_soon(self._hand_over)
        self._submitted.append((work, subject, future))
        return await future

    async def run(self, work: Callable[[], R]) -> R:
        """Return the result of `work` after its commit."""
        return await self.submit(_call_each, work)

    def _hand_over(self) -> None:
        """Pass on what the ready tasks have submitted, so that it shares a transaction."""
        for entry in self._submitted:
            self._waiting.put(entry)
        self._submitted.clear()

    def _serve(self) -> None:
        ending = False
        while not ending:
            entries = [self._waiting.get()]
            while len(entries) < _MAX_ENTRIES and not self._waiting.empty():
                entries.append(self._waiting.get())
            ending = None in entries
            results = _commit([entry for entry in entries if entry is not None])
            self._loop.call_soon_threadsafe(_set_results, results)
        connection.close()


_Result = tuple["asyncio.Future[Any]", Any, Exception | None]


def _commit(entries: list[_Entry]) -> list[_Result]:
    if len(entries) > 1:
        try:
            return _commit_together(entries)
        except Exception:  # noqa: BLE001  (the failing entry is found one by one)
            logger.debug("%s entries are committed one by one", len(entries))
    deadline = time.monotonic() + LONGEST_OUTAGE
    return [_commit_alone(entry, deadline) for entry in entries]


def _commit_together(entries: list[_Entry]) -> list[_Result]:
    by_work: dict[Work, list[_Entry]] = {}
    for entry in entries:
        by_work.setdefault(entry[0], []).append(entry)
    committed: list[_Result] = []
    with transaction.atomic():
        for work, same in by_work.items():
            results = work([subject for _, subject, _ in same])
            committed += [
                (future, result, None) for (_, _, future), result in zip(same, results, strict=True)
            ]
    return committed


def _commit_alone(entry: _Entry, deadline: float) -> _Result:
    """Return the entry's result; repeat it until `deadline` (monotonic clock) while the database is unavailable."""
    while True:
        try:
            return _commit_together([entry])[0]
        except (OperationalError, InterfaceError) as error:  # unavailable, or locked for too long
            if time.monotonic() > deadline:
                return entry[2], None, error
            logger.warning("the database is unavailable: %s", error)
        except Exception as error:  # noqa: BLE001  (raised where the work was submitted)
            return entry[2], None, error
        connection.close()
        time.sleep(0.5)


def _set_results(results: list[_Result]) -> None:
    for future, result, error in results:
        if future.done():  # the waiting task was cancelled
            continue
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)


def _call_each(works: list[Callable[[], Any]]) -> list[Any]:
    return [work() for work in works]
