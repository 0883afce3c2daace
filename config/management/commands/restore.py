"""`manage.py restore`: check a backup, and restore it into this installation."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from benchmark.blob_stores import BlobStoreError
from config.backups import BackupError, Manifest, newest_backup, restore, verify


class Command(BaseCommand):
    help = (
        "Restore a backup into this installation (HINTBENCH_VAR and DATABASE_URL), which must be empty. The backup is "
        "checked first, and nothing is changed if it is damaged."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("dir", type=Path, help="a backup, or a folder of backups: then its newest one")
        parser.add_argument("--check", action="store_true", help="check the backup and change nothing")
        parser.add_argument(
            "--replace",
            action="store_true",
            help="delete the existing data of the same site, and restore the backup",
        )
        parser.add_argument(
            "--no-migrate",
            action="store_true",
            help="leave the database at the version of the backup, to start that version afterwards",
        )

    def handle(self, *_: Any, dir: Path, check: bool, replace: bool, no_migrate: bool, **__: Any) -> None:
        try:
            folder = newest_backup(dir.absolute())
            if check:
                self.stdout.write(f"The backup is complete. {_summary(folder, verify(folder))}")
                return
            restored = restore(folder, replace=replace, migrate=not no_migrate)
        except (BackupError, BlobStoreError, OSError) as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"Restored into {settings.VAR}. {_summary(folder, restored.manifest)}")
        if restored.withdrawals:
            self.stdout.write(
                f"Withdrawals later than the backup, which were carried out again: {restored.withdrawals}."
            )
        if no_migrate and restored.known_withdrawals:
            self.stdout.write(
                f"{restored.known_withdrawals} withdrawals are known. Those after the backup are not carried out: "
                "restore it again without --no-migrate as soon as you have this version again."
            )
        if not restored.secret_key:
            self.stdout.write(
                "The secret key was not restored, because SECRET_KEY sets it. Use the same value."
            )
        self.stdout.write("All logins have ended. Start Hintbench: ./run")


def _summary(folder: Path, manifest: Manifest) -> str:
    return (
        f"{folder}: version {manifest.version}, {manifest.created_at:%Y-%m-%d %H:%M} UTC, {manifest.database}, "
        f"{sum(manifest.rows.values()):,} rows in {len(manifest.rows)} tables, {manifest.blobs.count:,} blobs, "
        f"{manifest.bytes / 1e6:,.1f} MB."
    )
