"""manage.py import_run: import runs of another Hintbench site from a folder that export_run wrote."""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmark.management.progress import progress_bar
from benchmark.models import Run
from benchmark.reports.cached_report import store_report
from benchmark.transfer import FORMAT, FolderError, import_runs, lines_of


class Command(BaseCommand):
    help = (
        f"Import runs from a folder of `export_run` (format {FORMAT}). All hashes and rows are checked before anything "
        "is written. Runs that already exist are not changed."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path, metavar="DIR", help="a folder that export_run wrote")
        parser.add_argument("--json", action="store_true", help="print one JSON document to standard output")

    def handle(self, **options: Any) -> None:
        folder: Path = options["folder"]
        try:
            lines = lines_of(folder)
            with (
                progress_bar(total=lines, unit="line", desc="check") as checked,
                progress_bar(total=lines, unit="line", desc="import") as written,
            ):
                found = import_runs(folder, checked.update, written.update)
        except (FolderError, OSError) as error:
            raise CommandError(f"Nothing was imported. {error}") from None
        new = list(Run.objects.select_related("dataset").filter(pk__in=[run.pk for run in found.new]))
        for run in new:
            store_report(run)
        if options["json"]:
            document = {
                "format": FORMAT,
                "imported": [str(run.pk) for run in found.new],
                "unchanged": list(map(str, found.unchanged)),
                "notes": found.notes,
            }
            self.stdout.write(json.dumps(document))
            return
        for run in new:
            assert run.source is not None
            known = ", whose problems are known from imported runs alone" if run.dataset.known_as else ""
            self.stdout.write(
                f"Imported run {run.pk} of {run.source['site']} on {run.dataset.name}{known}. "
                f"Figures: manage.py report {run.pk}"
            )
        for pk in found.unchanged:
            self.stdout.write(f"Run {pk} is here already. Nothing was changed.")
        for note in found.notes:
            self.stdout.write(note)
