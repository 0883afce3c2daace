"""Folders of the cache: their paths, who may write them, and their size limit."""

import contextlib
import functools
import os
import shutil
import time
from pathlib import Path

SIZE_LIMIT = 2 * 2**30
"""Bytes of compiled programs and precompiled headers together."""

_SAME_USE = 3600.0  # seconds


def default_cache() -> Path:
    """Return JUDGE_CACHE, else the project's folder in the user's cache folder."""
    return _cache(*map(os.environ.get, ("JUDGE_CACHE", "XDG_CACHE_HOME", "HOME")))


@functools.cache
def _cache(given: str | None, caches: str | None, _home: str | None) -> Path:
    return Path(given) if given else Path(caches or Path.home() / ".cache") / "hintbench" / "judge"


def programs_folder() -> Path:
    """Return the folder of compiled programs, which need not exist."""
    return default_cache() / "programs"


def headers_folder() -> Path:
    """Return the folder of precompiled headers, which need not exist."""
    return default_cache() / "headers"


def is_trusted(path: Path) -> bool:
    """Return whether the path exists, belongs to this user, and no other user can write it."""
    try:
        return is_private(path.lstat())
    except OSError:
        return False


def is_private(status: os.stat_result) -> bool:
    """Return whether a file with this status belongs to this user, and no other user can write it."""
    return status.st_uid == os.geteuid() and not status.st_mode & 0o022


def private_folder(folder: Path) -> bool:
    """Create the folder for this user alone. Return False where others can write it. Raises OSError."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return is_trusted(folder)


def mark_used(entry: Path | int) -> None:
    """Set the time of last use of an entry, by which `trim` orders entries, to within an hour.

    `entry` is its path or its descriptor.
    """
    with contextlib.suppress(OSError):  # the folder is read-only, or another judge has removed the entry
        if time.time() - os.stat(entry).st_mtime > _SAME_USE:
            os.utime(entry)


def trim() -> None:
    """Remove the least recently used programs and headers until the rest fit into SIZE_LIMIT bytes."""
    folders = programs_folder(), headers_folder()
    entries = sorted(
        (entry for folder in folders for entry in _entries(folder)), key=lambda entry: entry[0], reverse=True
    )
    total = 0
    for _, size, path in entries:
        total += size
        if total > SIZE_LIMIT:
            remove(path)


def remove(entry: Path) -> None:
    """Remove a file or folder if it exists."""
    with contextlib.suppress(OSError):
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            entry.unlink()


def _entries(folder: Path) -> list[tuple[float, int, Path]]:
    """Return the time of last use, the bytes and the path of each entry, unfinished ones included."""
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
