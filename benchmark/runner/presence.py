"""Whether the process that leased a work item still lives.

A runner holds a lock on a file of its own for as long as it runs. The kernel drops the lock however the
process ends, so after a `kill -9` its items can be taken over at once instead of when their leases end.
"""

import fcntl
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from django.conf import settings


@contextmanager
def present() -> Iterator[str]:
    """The name of this runner, held until the block ends."""
    name = str(uuid.uuid4())
    path = _path(name)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # lockf and not flock: child processes must not inherit the lock and outlive the runner with it.
    with path.open("wb") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        try:
            yield name
        finally:
            path.unlink(missing_ok=True)


def is_gone(name: str) -> bool:
    """True when the runner is known to have died on this machine; False when it lives or ran elsewhere."""
    with suppress(FileNotFoundError), _path(name).open("r+b") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        os.unlink(file.name)
        return True
    return False


def _path(name: str) -> Path:
    return Path(settings.VAR) / "runners" / name
