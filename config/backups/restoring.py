"""Restoring a backup into this installation."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from benchmark.blob_stores import BlobStore, Bucket, DamagedBlobError
from benchmark.management.progress import progress_bar
from benchmark.models import Process, blobs
from config.backups.databases import Database, site_database
from config.backups.errors import BackupError
from config.backups.files import SECRET_KEY, check_free_disk, copy_file, site_files, stored_blobs
from config.backups.manifest import Manifest
from config.backups.sites import site_of_database, unknown_migrations
from config.backups.verification import verify
from config.backups.writing import byte_bar
from config.env import env_text
from config.supervisor import CannotStartError, exclusive_lock
from tutoring.models import Withdrawal
from tutoring.withdrawal import REGISTER, apply_register, entries, read_register


@dataclass(frozen=True)
class Restored:
    """A backup that was restored."""

    manifest: Manifest
    secret_key: bool
    """Whether the secret key of the backup was restored."""
    withdrawals: int
    """Number of withdrawals after the backup, which were carried out again."""
    known_withdrawals: int
    """Number of withdrawals that the register beside the backup, or the replaced database, has."""


def restore(folder: Path, *, replace: bool, migrate: bool = True) -> Restored:
    """Restore a checked backup, and migrate its database to this version. Every login ends.

    With `replace`, it may replace the data of the same site; otherwise this installation must be empty. Without
    `migrate`, the database stays as its own version needs it, and no withdrawal is carried out. Raises BackupError,
    BlobStoreError and OSError before anything is changed, or after everything new was removed.
    """
    manifest = verify(folder)
    database = site_database()
    os.umask(0o077)
    with stopped_site():
        _check_target(manifest, database, replace)
        register = _withdrawals(folder, manifest.site, database)
        check_free_disk(Path(settings.VAR), manifest.bytes)
        with _added_blobs(folder), _new_files(folder, manifest) as new:
            with byte_bar("database") as progress:
                database.load(folder / database.FILE, manifest.rows, progress)
            for path, target in new.items():
                os.replace(path, target)
        if migrate:
            call_command("migrate", interactive=False, verbosity=0)
        _end_logins(database)
        withdrawals = apply_register(register) if migrate else 0
    return Restored(
        manifest, SECRET_KEY in manifest.files and not env_text("SECRET_KEY"), withdrawals, len(register)
    )


@contextmanager
def stopped_site() -> Iterator[None]:
    """Prevent the start of ./run in the block. Raises BackupError if a process of this installation runs."""
    try:
        lock = exclusive_lock(Path(settings.VAR))
    except CannotStartError as error:
        raise BackupError(str(error)) from None
    with lock:
        if Process._meta.db_table in connection.introspection.table_names():
            running = (
                Process.objects.filter(lease_until__gt=timezone.now())
                .values_list("kind", "pid", "host")
                .first()
            )
            if running:
                kind, pid, host = running
                raise BackupError(f"Stop all processes first: {kind} {pid} runs on {host}.")
        yield


def _check_target(manifest: Manifest, database: Database, replace: bool) -> None:
    """Raise BackupError if the backup does not fit this installation."""
    if manifest.database != database.VENDOR:
        raise BackupError(
            f"The backup contains a database of {manifest.database}, and this installation uses {database.VENDOR}. "
            "Set DATABASE_URL to a database of the same kind."
        )
    if unknown := unknown_migrations(manifest.migrations):
        raise BackupError(
            f"Version {manifest.version} wrote the backup, and this is version {settings.VERSION}, which lacks the "
            f"migration {'.'.join(unknown[0])}. Install version {manifest.version} or newer."
        )
    database.check_programs()
    tables = database.tables()
    # A bucket outlives a machine. Its blobs do not belong to an installation that has no table yet.
    if not tables and (isinstance(settings.BLOBS, Bucket) or not any(blobs.digests())):
        return
    if not replace:
        raise BackupError(
            f"This installation is not empty: {settings.VAR} or its database contains data. Set HINTBENCH_VAR to a "
            "new folder (and DATABASE_URL to an empty database), or use --replace, which deletes the existing data."
        )
    if tables and (present := site_of_database()) != manifest.site and present and manifest.site:
        raise BackupError(
            "The backup is of another site, and --replace only replaces data of the same site. Set HINTBENCH_VAR to "
            "a new folder (and DATABASE_URL to an empty database)."
        )


def _withdrawals(folder: Path, site: str, database: Database) -> list[dict[str, Any]]:
    """Return the withdrawals that are known beside the backup or in the database that it replaces."""
    found: dict[str, dict[str, Any]] = {}
    for place in (folder, folder.parent):
        try:
            found |= {entry["id"]: entry for entry in read_register(place, site)}
        except (ValueError, KeyError, TypeError):
            raise BackupError(
                f"{place / REGISTER} is damaged. Without it, withdrawn sessions would return."
            ) from None
    if Withdrawal._meta.db_table in database.tables():
        found |= {entry["id"]: entry for entry in entries()}
    return list(found.values())


@contextmanager
def _added_blobs(folder: Path) -> Iterator[None]:
    """Store the blobs of the backup that are missing or damaged; remove the new ones again if the block fails.

    Raises BlobStoreError.
    """
    store = blobs.store()
    present = set(store.digests())
    added = []
    try:
        for path in progress_bar(list(stored_blobs(folder)), desc="blobs", unit="file"):
            if path.name not in present:
                added.append(path.name)
            elif _is_intact(store, path.name):
                continue
            else:
                store.remove(path.name)
            store.put(path.read_bytes())
        yield
    except BaseException:
        for digest in added:
            store.remove(digest)
        raise


def _is_intact(store: BlobStore, digest: str) -> bool:
    try:
        store.load(digest)
    except DamagedBlobError:
        return False
    return True


@contextmanager
def _new_files(folder: Path, manifest: Manifest) -> Iterator[dict[Path, Path]]:
    """Copy the other files of the backup beside their targets; yield the targets by copy."""
    new: dict[Path, Path] = {}
    try:
        for name, target in site_files().items():
            if name in manifest.files and not (name == SECRET_KEY and env_text("SECRET_KEY")):
                copy = target.with_name(f"{target.name}.restoring")
                copy.unlink(missing_ok=True)
                new[copy] = target
                copy_file(folder / name, copy)
        yield new
    finally:
        for copy in new:
            copy.unlink(missing_ok=True)


def _end_logins(database: Database) -> None:
    """Delete all logins: some of them had been ended after the backup. Old versions have another table."""
    for table in {"accounts_loginsession", "django_session"}.intersection(database.tables()):
        with connection.cursor() as cursor:
            cursor.execute(f"DELETE FROM {table}")  # noqa: S608  (one of two names)
