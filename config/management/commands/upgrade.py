"""`manage.py upgrade`: back up the site, migrate its database to this version, check it, and say how to go back."""

from argparse import ArgumentParser
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, SystemCheckError
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

from benchmark.blob_stores import BlobStoreError
from config.backups import BackupError, Written, stopped_site, write_backup
from config.backups.recording import describe, record
from config.management.commands.backup import KEEP

LASTING = ("tutoring_session", "tutoring_event", "benchmark_problem", "benchmark_generation")
"""Tables whose rows no migration adds or deletes."""


class Command(BaseCommand):
    help = "Write a backup, migrate the database to this version, check it, and print how to go back."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--backup",
            type=Path,
            default=Path(settings.VAR) / "backups",
            metavar="DIR",
            help="folder of the backups (default: %(default)s)",
        )

    def handle(self, *_: Any, backup: Path, **__: Any) -> None:
        with ExitStack() as stack:
            try:
                stack.enter_context(stopped_site())
                written = write_backup(backup.absolute(), KEEP)
            except (BackupError, BlobStoreError, OSError) as error:
                raise CommandError(f"Nothing was changed: {error}") from None
            self.stdout.write(describe(written))
            back = _way_back(written.folder)
            self._migrate(written, back)
        self.stdout.write(f"The database has version {settings.VERSION}. Start Hintbench: ./run\n{back}")

    def _migrate(self, backup: Written, back: str) -> None:
        """Migrate and check the database, and record the backup. Raises CommandError, which says how to go back."""
        before = backup.manifest.rows
        try:
            plan = _plan()
            call_command("migrate", interactive=False, verbosity=0)
            call_command("check", stdout=self.stdout)
            record(backup)
        except (DatabaseError, SystemCheckError, OSError, ValueError, TypeError, LookupError) as error:
            raise CommandError(f"The upgrade failed: {error}\n{back}") from error
        if missing := len(_plan()):
            raise CommandError(f"The upgrade failed: {missing} migrations are not applied.\n{back}")
        for table in LASTING:
            if (now := _rows(table)) != before.get(table, now):
                raise CommandError(
                    f"The upgrade failed: {table} had {before[table]} rows and has {now}.\n{back}"
                )
        self.stdout.write(f"Applied {len(plan)} migrations.")


def _plan() -> list[Any]:
    executor = MigrationExecutor(connection)
    return executor.migration_plan(executor.loader.graph.leaf_nodes())


def _rows(table: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f'SELECT count(*) FROM "{table}"')  # noqa: S608  (a name of LASTING)
        return int(cursor.fetchone()[0])


def _way_back(folder: Path) -> str:
    return (
        "To go back: stop Hintbench, run this command, then check out the version that you had before and start it:\n"
        f"  .venv/bin/python manage.py restore {folder} --replace --no-migrate"
    )
