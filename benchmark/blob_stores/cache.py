"""A bounded cache of blobs on this host, which any number of processes share."""

import os
import time
from pathlib import Path

from benchmark.blob_stores.folder import FolderStore, write_atomically
from benchmark.blob_stores.store import digest_of, is_digest

KEPT_SECONDS = 3600
"""Seconds after its last use during which a file is never removed: a judgement may still read it."""

_FILLED_AFTER_REMOVAL = 0.9
"""Share of the bound to which a removal of old files reduces the cache."""

_CHECK_INTERVAL = 1 / 64
"""Share of the bound that a process adds before it measures the cache again."""

_Identity = tuple[int, int, int]


class BlobCache:
    """Files in a folder, about `bound` bytes at most. The least recently used files are removed first."""

    def __init__(self, folder: Path, bound: int) -> None:
        self._files = FolderStore(folder)
        self._folder = folder
        self._bound = bound
        self._added = bound  # the first addition measures the cache
        self._verified: dict[str, _Identity] = {}

    def find(self, digest: str) -> Path | None:
        """Return the path of the blob and record its use; None if it is missing or damaged. A damaged file is removed.

        A process compares a file's sha256 with its name at the first use, and again whenever the file has changed.
        """
        path = self._files.path(digest)
        try:
            found = path.stat()
            identity = (found.st_ino, found.st_size, found.st_mtime_ns)
            if self._verified.get(digest) != identity:
                if digest_of(path.read_bytes()) != digest:
                    path.unlink(missing_ok=True)
                    return None
                self._verified[digest] = identity
            os.utime(path, ns=(time.time_ns(), found.st_mtime_ns))
        except FileNotFoundError:
            return None
        return path

    def add(self, digest: str, content: bytes) -> Path:
        """Store verified content; return its path."""
        path = self._files.path(digest)
        write_atomically(path, content)
        self._added += len(content)
        if self._added > self._bound * _CHECK_INTERVAL:
            self._added = 0
            self._remove_old_files()
        return path

    def remove(self, digest: str) -> None:
        """Remove a blob. Does nothing if it is not cached."""
        self._files.remove(digest)

    def _remove_old_files(self) -> None:
        """Remove the least recently used files if the cache exceeds its bound."""
        files: list[tuple[float, int, Path]] = []
        for path in self._folder.glob("[0-9a-f][0-9a-f]/*"):
            try:
                found = path.stat()
            except FileNotFoundError:
                continue
            if is_digest(path.name):
                files.append((found.st_atime, found.st_size, path))
        excess = sum(size for _, size, _ in files) - self._bound
        if excess <= 0:
            return
        excess += round(self._bound * (1 - _FILLED_AFTER_REMOVAL))
        for used, size, path in sorted(files):
            if excess <= 0 or used > time.time() - KEPT_SECONDS:
                return
            path.unlink(missing_ok=True)
            excess -= size
