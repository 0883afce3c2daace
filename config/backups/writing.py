"""Writing a backup, and deleting the oldest ones."""

from __future__ import annotations

import fcntl
import os
import platform
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from tqdm import tqdm

from benchmark.blob_stores import DamagedBlobError
from benchmark.management.progress import progress_bar
from benchmark.models import blobs
from config.backups.databases import Database, site_database
from config.backups.errors import BackupError
from config.backups.files import (
    SECRET_KEY,
    blob_path,
    check_free_disk,
    copy_file,
    digest_of,
    site_files,
    stored_blobs,
    write_file,
)
from config.backups.manifest import FORMAT, Manifest, StoredBlobs, StoredFile, digest_of_names
from config.backups.sites import applied_migrations, site_of_database
from config.backups.verification import backups_in
from config.env import env_text

UNFINISHED = ".unfinished-"
"""The beginning of the name of a folder that a backup writes; it is renamed when it is complete."""


@dataclass(frozen=True)
class Written:
    """A backup that was written, and the older ones that were deleted."""

    folder: Path
    manifest: Manifest
    deleted: list[Path]


def write_backup(folder: Path, keep: int) -> Written:
    """Write a backup into a new folder below `folder`, then delete all of the site but the newest `keep` (0: none).

    The site may run meanwhile. Blobs, also those of a bucket, are copied, or linked to those of the former backup where
    they are intact and the file system allows it. Raises BackupError, BlobStoreError and OSError; then nothing is left.
    """
    if settings.BLOBS in (folder.absolute(), *folder.absolute().parents):
        raise BackupError(f"{folder} is inside the folder of blobs. Name another folder.")
    database = site_database()
    if not database.tables():
        raise BackupError("The database has no table, so there is nothing to back up.")
    database.check_programs()
    os.umask(0o077)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _locked(folder):
        for unfinished in folder.glob(f"{UNFINISHED}*"):
            shutil.rmtree(unfinished)
        former = next(iter(backups_in(folder)), None)
        check_free_disk(folder, database.size() + _new_blob_bytes(former))
        started = datetime.now(UTC)
        new = Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=folder))  # of mode 0700
        try:
            manifest = _write(new, database, former, started)
            target = folder / f"{started:%Y-%m-%dT%H%M%S}Z"
            if former and target.name <= former.name:  # the names order the backups
                target = folder / f"{former.name}-2"
            new.rename(target)
        except BaseException:
            shutil.rmtree(new)
            raise
        _flush(folder)
        return Written(target, manifest, _delete_old(folder, manifest.site, keep))


def _write(new: Path, database: Database, former: Path | None, started: datetime) -> Manifest:
    clock = time.monotonic()
    site, migrations = site_of_database(), applied_migrations()
    # The database comes first: blobs are only added, so the later copy of the blobs has all that a row names.
    with byte_bar("database") as progress:
        rows = database.copy(new / database.FILE, progress)
    files = {database.FILE: _stored(new / database.FILE)}
    for name, path in site_files().items():
        if path.exists() and not (name == SECRET_KEY and env_text("SECRET_KEY")):
            copy_file(path, new / name)
            files[name] = _stored(new / name)
    manifest = Manifest(
        format=FORMAT,
        site=site,
        version=settings.VERSION,
        created_at=started,
        seconds=0,
        host=platform.node(),
        database=database.VENDOR,
        database_version=database.version(),
        migrations=migrations,
        rows=rows,
        files=files,
        blobs=_copy_blobs(new, former),
        key_source="file" if SECRET_KEY in files else "environment",
    )
    manifest = manifest.model_copy(update={"seconds": round(time.monotonic() - clock, 1)})
    manifest.write(new)
    _flush(new)
    return manifest


def _copy_blobs(new: Path, former: Path | None) -> StoredBlobs:
    names: list[str] = []
    unreadable: list[str] = []
    size = 0
    for digest in progress_bar(list(blobs.digests()), desc="blobs", unit="file"):
        target = blob_path(new, digest)
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if _link(former, digest, target) or _copy_blob(digest, target):
            names.append(digest)
            size += target.stat().st_size
        else:
            unreadable.append(digest)
    return StoredBlobs(count=len(names), bytes=size, sha256=digest_of_names(names), unreadable=unreadable)


def _link(former: Path | None, digest: str, target: Path) -> bool:
    """Link the blob of the former backup; return False if it has no intact one or its file system has no links.

    All links of a blob share one file, so a damaged one would spoil every backup.
    """
    try:
        if former is not None and digest_of(blob_path(former, digest)) == digest:
            os.link(blob_path(former, digest), target)
            return True
    except OSError:
        pass
    return False


def _copy_blob(digest: str, target: Path) -> bool:
    """Copy a blob from the site's store; return False if it is missing or damaged. Raises BlobStoreError."""
    try:
        content = blobs.store().load(digest)
    except (OSError, DamagedBlobError):
        return False
    write_file(target, content)
    return True


def _new_blob_bytes(former: Path | None) -> int:
    """Return the bytes of the blobs that the former backup does not contain. Raises BlobStoreError."""
    known = {path.name for path in stored_blobs(former)} if former else set()
    return sum(size for digest, size in blobs.store().sizes().items() if digest not in known)


def _stored(path: Path) -> StoredFile:
    return StoredFile(bytes=path.stat().st_size, sha256=digest_of(path))


def _delete_old(folder: Path, site: str, keep: int) -> list[Path]:
    """Delete all backups of the site but the newest `keep`, and return them. Those of other sites stay."""
    own = [path for path in backups_in(folder) if _site_of(path) == site]
    old = own[keep:] if keep else []
    for path in old:
        # Renamed first: a deletion that is interrupted leaves no folder that looks like a backup.
        shutil.rmtree(path.rename(path.with_name(f"{UNFINISHED}{path.name}")))
    return old


def _site_of(backup: Path) -> str | None:
    """Return the site of a backup, or None if its manifest is damaged: such a backup is never deleted."""
    try:
        return Manifest.read(backup).site
    except BackupError:
        return None


@contextmanager
def byte_bar(name: str) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar of bytes; the returned function takes the finished and all bytes (0: unknown)."""
    bar: tqdm[Any]
    with progress_bar(desc=name, unit="B", unit_scale=True) as bar:

        def progress(finished: int, size: int) -> None:
            bar.total = size or None
            bar.update(finished - bar.n)

        yield progress


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BackupError(f"Another backup is being written into {folder}.") from None
        yield


def _flush(folder: Path) -> None:
    """Flush the entries of a folder to disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
