"""Files of backups: copies with a digest, the free disk, and the files of a site beside database and blobs."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from django.conf import settings

from config.backups.errors import BackupError

_CHUNK = 2**20

RESERVE = 50_000_000
"""Bytes of free disk that stay free."""

SECRET_KEY = "secret_key"  # noqa: S105  (the name of a file)

BLOBS = "blobs"
"""The folder of the blobs in a backup, divided as in `benchmark.models.blobs`."""


def site_files() -> dict[str, Path]:
    """Return the files of the site that a backup contains beside database and blobs, by name; not all exist."""
    return {SECRET_KEY: Path(settings.VAR) / SECRET_KEY, "text_model.npz": Path(settings.TEXT_MODEL)}


def copy_file(source: Path, target: Path, progress: Callable[[int], object] = lambda _: None) -> str:
    """Copy the bytes into a new private file, flush it to disk, and return their sha256. Raises OSError."""
    digest = hashlib.sha256()
    with source.open("rb") as reader, open(target, "xb", opener=_private) as writer:
        for chunk in iter(lambda: reader.read(_CHUNK), b""):
            digest.update(chunk)
            writer.write(chunk)
            progress(len(chunk))
        writer.flush()
        os.fsync(writer.fileno())
    return digest.hexdigest()


def write_file(target: Path, content: bytes) -> None:
    """Write the bytes into a new private file and flush it to disk. Raises OSError."""
    with open(target, "xb", opener=_private) as writer:
        writer.write(content)
        writer.flush()
        os.fsync(writer.fileno())


def digest_of(path: Path, progress: Callable[[int], object] = lambda _: None) -> str:
    """Return the sha256 of a file. Raises OSError."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        for chunk in iter(lambda: file.read(_CHUNK), b""):
            digest.update(chunk)
            progress(len(chunk))
    return digest.hexdigest()


def blob_path(folder: Path, digest: str) -> Path:
    """Return the path of a blob in a backup."""
    return folder / BLOBS / digest[:2] / digest


def stored_blobs(folder: Path) -> Iterator[Path]:
    """Yield the files in the folder of blobs of a backup."""
    yield from (path for path in sorted((folder / BLOBS).rglob("*")) if path.is_file())


def check_free_disk(folder: Path, needed: int) -> None:
    """Raise BackupError unless `needed` bytes and RESERVE are free on the disk of the folder."""
    free = shutil.disk_usage(folder).free
    if free < needed + RESERVE:
        raise BackupError(
            f"{needed / 1e6:,.0f} MB are needed on the disk of {folder}, and {RESERVE / 1e6:.0f} MB must stay free; "
            f"{free / 1e6:,.0f} MB are free. Free some space, or use another disk."
        )


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
