"""A process of its own that holds leases and is killed."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from benchmark.models.owners import _SEPARATOR, _state_and_start, new_owner


@contextmanager
def killed_process() -> Iterator[str]:
    """Yield the owner name of a process that lives during the block and is killed at its end."""
    child = subprocess.Popen(["sleep", "infinity"])
    host, _, _, tail = new_owner().split(_SEPARATOR)
    _, start = _state_and_start(child.pid)
    try:
        yield _SEPARATOR.join((host, str(child.pid), start, tail))
    finally:
        child.kill()
        # The process stays a zombie: its parent has not collected its status.
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
