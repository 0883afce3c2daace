"""manage.py export_run: write runs to a folder that another Hintbench site can import."""

import json
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmark.management.arguments import find_run
from benchmark.management.progress import progress_bar
from benchmark.models import WorkItem
from benchmark.transfer import FORMAT, CannotExportError, export_runs


class Command(BaseCommand):
    help = (
        f"Write runs with their prompts, replies, programs and verdicts to a new folder in the format {FORMAT}, which "
        "`import_run` reads on another site. Keys, addresses, statements and hidden tests are not exported."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("runs", nargs="+", metavar="RUN", help="ids of runs")
        parser.add_argument("--output", required=True, type=Path, metavar="DIR", help="a new folder")
        parser.add_argument(
            "--site",
            type=_site,
            default=_default_site(),
            metavar="NAME",
            help='name of this site in the runs; default: its first public host name, or "unnamed site"',
        )
        parser.add_argument("--json", action="store_true", help="print one JSON document to standard output")

    def handle(self, **options: Any) -> None:
        runs = list({run.pk: run for run in map(find_run, options["runs"])}.values())
        total = WorkItem.objects.filter(run__in=runs).count()
        with progress_bar(total=total, unit="item", desc="export") as bar:
            try:
                size = export_runs(runs, options["output"], options["site"], bar.update)
            except (CannotExportError, OSError) as error:
                raise CommandError(str(error)) from None
        names = [str(run.pk) for run in runs]
        if options["json"]:
            document = {"format": FORMAT, "output": str(options["output"]), "runs": names, "bytes": size}
            self.stdout.write(json.dumps(document))
            return
        self.stdout.write(
            f"{len(runs)} run{'s' if len(runs) > 1 else ''}, {total:,} work items, {size:,} bytes in "
            f"{options['output']}. Import elsewhere with: manage.py import_run {options['output']}"
        )


def _default_site() -> str:
    local = (*settings.LOOPBACK, "*")
    return next((host for host in settings.ALLOWED_HOSTS if host.strip("[]") not in local), "unnamed site")


def _site(name: str) -> str:
    if not name.strip() or not name.isprintable() or len(name) > 200:
        raise CommandError("--site: write a name of 1 to 200 printable characters.")
    return name.strip()
