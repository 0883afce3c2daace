"""Temporary folders of this process, and the removal of those that killed judges left.

A folder is named after its process and locked by it as long as it is used. The lock, not the number of the process,
shows whether a folder is abandoned: processes of other containers may use the same parent folder.
"""

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from judge.cache.folder import remove

_PREFIX = "judge-"


def temporary_parent() -> Path:
    """Return JUDGE_TEMPORARY, else the system's folder for temporary files."""
    return Path(os.environ.get("JUDGE_TEMPORARY") or tempfile.gettempdir())


@contextlib.contextmanager
def temporary_folder(purpose: str) -> Iterator[Path]:
    """Create an empty folder and remove it with the block. Raises OSError where it cannot be created."""
    parent = temporary_parent()
    parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    prefix = f"{_PREFIX}{os.getpid()}-{purpose}-"
    with (
        tempfile.TemporaryDirectory(dir=parent, prefix=prefix, ignore_cleanup_errors=True) as name,
        _locked(Path(name)),
    ):
        yield Path(name)


def remove_abandoned_folders() -> None:
    """Remove the temporary folders of killed judges."""
    for folder in temporary_parent().glob(f"{_PREFIX}*-*-*"):
        owner = folder.name.removeprefix(_PREFIX).partition("-")[0]
        if not owner.isdigit() or Path("/proc", owner).exists():
            continue
        with (
            contextlib.suppress(OSError),
            _locked(folder),
        ):  # BlockingIOError: its owner lives in another container
            remove(folder)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock the folder during the block. Raises BlockingIOError where it is locked, and OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)
