"""Names of processes that hold leases, and the check whether such a process has ended.

A name holds the boot id and the process namespace of its host, the process id, the start time of the process, and a
random part. A process id is used again after its process has ended, but never with the same start time.
"""

import os
import uuid
from functools import cache
from pathlib import Path

OWNER_LENGTH = 120
"""The maximum length of a name."""

_SEPARATOR = "/"
_ENDED = ("Z", "X", "x")
"""States in `/proc/PID/stat` of ended processes whose parents have not collected their status yet."""


def new_owner() -> str:
    """Return a new name for a holder of leases in this process."""
    pid = os.getpid()
    _, start = _state_and_start(pid)
    return _SEPARATOR.join((_host(), str(pid), start, uuid.uuid4().hex[:12]))


def is_dead(owner: str) -> bool:
    """Return whether the named process is known to have ended.

    False for a process of another host and for a name of another form: only the end of their leases frees their rows.
    """
    host, pid, start, _ = owner.split(_SEPARATOR) if owner.count(_SEPARATOR) == 3 else ("", "", "", "")
    if host != _host():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:  # the process belongs to another user
        pass
    try:
        state, started = _state_and_start(int(pid))
    except OSError:  # `/proc` hides processes of other users, or the process ended a moment ago
        return False
    return state in _ENDED or started != start


def _state_and_start(pid: int) -> tuple[str, str]:
    """Return the state of a process and its start time in clock ticks since the boot. Raises OSError."""
    # The name of the program may hold spaces and parentheses. It is field 2; the fields after it are numbered from 3.
    fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    return fields[0], fields[19]


@cache
def _host() -> str:
    """Return what two processes share if and only if they see each other under their process ids."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{boot}-{os.stat('/proc/self/ns/pid').st_ino}"
