"""`manage.py backup`: write a backup of this site while it runs."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from benchmark.blob_stores import BlobStoreError
from config.backups import BackupError, write_backup
from config.backups.recording import describe, record

KEEP = 7
"""Backups of the site that stay by default."""


class Command(BaseCommand):
    help = (
        "Write a backup of database, blobs and secrets into a new folder below DIR, and delete the oldest backups "
        "there. The site may keep running."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("dir", type=Path, help="folder of the backups, private to you")
        parser.add_argument(
            "--keep",
            type=int,
            default=KEEP,
            help="number of backups of this site that stay in DIR; 0: all (default: %(default)s)",
        )

    def handle(self, *_: Any, dir: Path, keep: int, **__: Any) -> None:
        if keep < 0:
            raise CommandError("--keep must be 0 or more.")
        try:
            written = write_backup(dir.absolute(), keep)
        except (BackupError, BlobStoreError, OSError) as error:
            raise CommandError(str(error)) from None
        record(written)
        self.stdout.write(describe(written))
