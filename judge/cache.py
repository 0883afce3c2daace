"""The judge's cache folder: where it lies, what in it may be trusted, and how it stays within bounds.

Everything in it can be made again, so an entry that is damaged, missing or not ours is simply no entry, and a
folder that cannot be written is no fault. Entries appear by renaming, so any number of judges may share it.
"""

import contextlib
import os
import shutil
from pathlib import Path

LIMIT = 2 * 2**30
"""Bytes of compiled programs and precompiled headers together."""


def default_cache() -> Path:
    """JUDGE_CACHE, else a folder of the project's in the user's cache folder."""
    if given := os.environ.get("JUDGE_CACHE"):
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hintbench" / "judge"


def is_ours(path: Path) -> bool:
    """Whether it is there and nobody else can have made or changed it."""
    try:
        status = path.lstat()
    except OSError:
        return False
    return status.st_uid == os.geteuid() and not status.st_mode & 0o022


def private_folder(folder: Path) -> bool:
    """Make the folder, for us alone; false where that cannot be done. Raises OSError."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return is_ours(folder)


def mark_used(entry: Path) -> None:
    """Note that the entry is of use now, for `trim`."""
    with contextlib.suppress(OSError):  # it lies in a folder we may only read, or has just been removed
        os.utime(entry)


def trim(folders: tuple[Path, ...], limit: int) -> None:
    """Remove the entries used longest ago until those of all folders together fit into `limit` bytes."""
    entries = sorted(
        (entry for folder in folders for entry in _entries(folder)), key=lambda entry: entry[0], reverse=True
    )
    total = 0
    for _, size, path in entries:
        total += size
        if total > limit:
            remove(path)


def remove(entry: Path) -> None:
    """Remove a file or folder, whether or not it is there."""
    with contextlib.suppress(OSError):
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            entry.unlink()


def _entries(folder: Path) -> list[tuple[float, int, Path]]:
    """When each entry was last used, its bytes, and its path. Half-written ones count, and age like all others."""
    found = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):  # another judge has removed it
                status = entry.stat(follow_symlinks=False)
                path = Path(entry.path)
                inside = path.rglob("*") if entry.is_dir(follow_symlinks=False) else ()
                size = status.st_size + sum(file.lstat().st_size for file in inside)
                found.append((status.st_mtime, size, path))
    return found
