"""Which processes make calls, and whether the one that leased a work item still lives.

A runner holds a lock on a file of its own for as long as it runs. The kernel drops the lock however the
process ends, so after a `kill -9` its items can be taken over at once instead of when their leases end. For
runners on other machines there is a row, renewed every few seconds.
"""

import fcntl
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.db import IntegrityError, InterfaceError, OperationalError, connection, models, transaction
from django.utils import timezone

from benchmark.models import Run, Runner

HEARTBEAT = 3.0
"""Seconds between two renewals of a runner's row."""

_SILENCE = timedelta(seconds=15)
"""After which a runner on another machine counts as gone."""

_FORGOTTEN = 3600.0
"""Seconds after which the file of a dead runner goes; its leases ended long before."""


@contextmanager
def present() -> Iterator[str]:
    """The name of this runner, held until the block ends."""
    name = str(uuid.uuid4())
    path = _path(name)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _sweep(path.parent)
    # lockf and not flock: child processes must not inherit the lock and outlive the runner with it.
    with path.open("wb") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        try:
            yield name
        finally:
            path.unlink(missing_ok=True)


class CarriedOut(Exception):
    """Another process does the same work; the message says so."""


@contextmanager
def alone_with(work: str) -> Iterator[None]:
    """Keep other processes from the work of this name until the block ends. Raises CarriedOut while another one lives.

    What is left to be done must be read inside the block: until then another process may do it.
    """
    with present() as name:
        _living(Runner.objects.filter(alone_with=work))
        try:
            with transaction.atomic():
                Runner.objects.create(name=name, alone_with=work, seen_at=timezone.now())
        except IntegrityError:
            raise CarriedOut(
                f"{work} is being carried out by another process: wait for its end, or stop it there."
            ) from None
        ended = threading.Event()
        heart = threading.Thread(target=_keep_alive, args=(name, ended), daemon=True)
        heart.start()
        try:
            yield
        finally:
            ended.set()
            heart.join()
            leave(None, name)


def _keep_alive(name: str, ended: threading.Event) -> None:
    while not ended.wait(HEARTBEAT):
        with suppress(OperationalError, InterfaceError):  # the database is away: the next beat may find it
            Runner.objects.filter(name=name).update(seen_at=timezone.now())
        connection.close()


def is_gone(name: str) -> bool:
    """True when the runner is known to have died on this machine; False when it lives or ran elsewhere.

    The file stays, because several ask: who frees its items, and each who shares the model's limits with it.
    """
    with suppress(FileNotFoundError), _path(name).open("r+b") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
    return False


def _sweep(folder: Path) -> None:
    """Remove the files of runners that died so long ago that nobody asks for them any more."""
    for path in folder.iterdir():
        with suppress(FileNotFoundError):  # others sweep too
            if path.stat().st_mtime < time.time() - _FORGOTTEN and is_gone(path.name):
                path.unlink()


def beat(name: str, model_spec: str, run: Run | None = None, waiting: str = "") -> int:
    """Renew the runner's row; return how many runners share its model's limits, this one included.

    `run` is None outside of runs. `waiting` says in words what its calls wait for.
    """
    limited = "" if run is not None and run.in_batches else model_spec
    Runner.objects.update_or_create(
        name=name,
        defaults={"run": run, "model_spec": limited, "waiting": waiting, "seen_at": timezone.now()},
    )
    return 1 + _living(Runner.objects.filter(model_spec=model_spec).exclude(name=name))


def leave(run: Run | None, name: str) -> bool:
    """The runner ends; returns whether others go on with its run."""
    Runner.objects.filter(name=name).delete()
    return run is not None and _living(Runner.objects.filter(run=run)) > 0


def _living(runners: models.QuerySet[Runner]) -> int:
    """How many of them live; the rows of the others are deleted."""
    rows, earliest = list(runners), timezone.now() - _SILENCE
    dead = [row.name for row in rows if row.seen_at < earliest or is_gone(row.name)]
    if dead:
        Runner.objects.filter(name__in=dead).delete()
    return len(rows) - len(dead)


def _path(name: str) -> Path:
    return Path(settings.VAR) / "runners" / name
