"""manage.py import_tests FORMAT FOLDER: import official tests for problems that are already imported."""

import json
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from benchmark.datasets.downloads import Downloader, ServerBusyError, missing_archives
from benchmark.datasets.official_tests import TestsImport, import_official_tests
from benchmark.management.progress import progress_bar
from benchmark.models import Problem

FORMATS = ("usaco",)


class Command(BaseCommand):
    """The command that imports official tests. Imports are idempotent."""

    help = (
        "Import official tests for problems that are already imported, from zip archives of contest problems or "
        "folders named by problem. Archives are matched by the links of the imported records. Imports are idempotent. "
        "Unusable sources are skipped, and the reason is printed. Files that match no problem are listed."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("format", metavar="FORMAT", choices=FORMATS, help=", ".join(FORMATS))
        parser.add_argument("folder", metavar="FOLDER", type=Path, help="contains the archives and folders")
        parser.add_argument("--dataset", metavar="NAME", help="only problems of this dataset")
        parser.add_argument(
            "--download",
            action="store_true",
            help="first download the archives missing in FOLDER from the records' links, one at a time",
        )
        parser.add_argument(
            "--pause",
            type=float,
            default=1.0,
            metavar="SECONDS",
            help="minimum time between two requests (default: %(default)s)",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON document to standard output")

    def handle(self, *args: object, **options: Any) -> None:
        folder: Path = options["folder"]
        problems = _problems(options["format"], options["dataset"])
        document: dict[str, Any] = {}
        if options["download"]:
            document["download"] = self._download(folder, problems, options["pause"])
        if not folder.is_dir():
            raise CommandError(
                f"{folder} is not a folder. It must contain archives such as prob1_gold_open23.zip."
            )
        settings.VAR.mkdir(parents=True, exist_ok=True)
        with progress_bar(unit="source", disable=None, leave=False) as bar:

            def advance(done: int, total: int) -> None:
                bar.total = total
                bar.update(done - bar.n)

            result = import_official_tests(folder, problems, advance)
        hidden = Problem.objects.filter(pk__in=[one.pk for one in problems], samples_only=False).count()
        document |= {**result.to_json(), "problems": len(problems), "with_hidden_tests": hidden}
        if options["json"]:
            self.stdout.write(json.dumps(document, ensure_ascii=False))
        else:
            self._print(result, document)
        failures = document.get("download", {}).get("failed", [])
        if failures:
            raise CommandError(
                f"{len(failures)} archives could not be downloaded, for the reasons above. Repeat the command."
            )
        if not (result.updated or result.unchanged):
            raise CommandError(f"Nothing was imported: no usable file in {folder} matches a problem.")

    def _download(self, folder: Path, problems: Sequence[Problem], pause: float) -> dict[str, Any]:
        links = [one.test_data_link for one in problems if one.test_data_link]
        if not links:
            raise CommandError(
                "No problem has a link to its tests. Import the collection again: old versions did not store links."
            )
        if pause < 0:
            raise CommandError("--pause: must not be negative")
        folder.mkdir(parents=True, exist_ok=True)
        wanted, failures = missing_archives(links, folder)
        downloader, fetched = Downloader(pause), 0
        try:
            with progress_bar(total=len(wanted), desc="requesting sizes", unit="archive", leave=False) as bar:
                wanted = downloader.sized(wanted, bar.update)
            known = sum(one.size or 0 for one in wanted)
            unknown = sum(one.size is None for one in wanted)
            summary = f"{len(wanted)} archives to download, {known / 2**20:.1f} MiB"
            self.stderr.write(f"{summary} and {unknown} of unknown size" if unknown else summary)
            with progress_bar(total=known, desc="downloading", unit="B", unit_scale=True, leave=False) as bar:
                fetched, failed = downloader.fetch_all(wanted, bar.update)
            failures += failed
        except ServerBusyError as busy:
            failures.append((wanted[0].link, str(busy)))
        return {
            "fetched": fetched,
            "not_fetched": len(wanted) - fetched,
            "without_link": len(problems) - len(links),
            "failed": [{"link": link, "reason": reason} for link, reason in failures],
        }

    def _print(self, result: TestsImport, document: dict[str, Any]) -> None:
        if download := document.get("download"):
            self.stdout.write(f"{download['fetched']} archives downloaded, {download['not_fetched']} not")
            for entry in download["failed"]:
                self.stdout.write(f"  not downloaded {entry['link']}: {entry['reason']}")
        self.stdout.write(
            f"problems with new tests: {result.updated}, unchanged: {result.unchanged}, "
            f"skipped: {len(result.skipped)}; "
            f"{document['with_hidden_tests']} of {document['problems']} problems have hidden tests"
        )
        for name, reason in result.skipped:
            self.stdout.write(f"  skipped {name}: {reason}")
        for name in result.unmatched:
            self.stdout.write(f"  no matching problem: {name}")
        for external_id, note in result.notes:
            self.stdout.write(f"  note on {external_id}: {note}")


def _problems(format_name: str, dataset: str | None) -> list[Problem]:
    rows = Problem.objects.filter(dataset__format=format_name).select_related("dataset")
    if dataset is not None:
        rows = rows.filter(dataset__name=dataset)
    problems = list(rows)
    if not problems:
        where = f"the dataset {dataset}" if dataset else "any dataset"
        raise CommandError(
            f"There is no problem of the format {format_name} in {where}. Import the collection first: "
            f"manage.py import_problems {format_name} PATH --dataset NAME"
        )
    return problems
