"""manage.py import_problems FORMAT PATH --dataset NAME: import problems into a dataset."""

import json
import math
from argparse import ArgumentParser, ArgumentTypeError
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.core.validators import validate_slug
from tqdm import tqdm

from benchmark.datasets import SourceError, formats
from benchmark.datasets.store import DatasetImport, import_problems
from benchmark.models import Dataset


def _factor(text: str) -> float:
    """Return a factor of time limits. Raises ArgumentTypeError."""
    try:
        factor = float(text)
    except ValueError:
        factor = math.nan
    if not 0.1 <= factor <= 10:
        raise ArgumentTypeError(f"a time factor must be a number from 0.1 to 10, not {text!r}")
    return factor


class Command(BaseCommand):
    """The command that imports problems. Imports are idempotent."""

    help = (
        "Import problems into a dataset. Imports are idempotent: unchanged problems stay, changed ones are updated in "
        "place. A problem that cannot be imported is skipped, and the reason is printed. If the whole source is "
        "invalid, nothing is imported."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        known = dict(sorted(formats().items()))
        parser.add_argument("format", metavar="FORMAT", choices=known, help=", ".join(known))
        parser.add_argument(
            "path",
            metavar="PATH",
            type=Path,
            help="; ".join(f"{name}: {importer.source}" for name, importer in known.items()),
        )
        parser.add_argument("--dataset", metavar="NAME", required=True, help="letters, digits, - and _")
        parser.add_argument(
            "--tests",
            metavar="DIR",
            type=Path,
            help="a folder with one folder of hidden tests per problem, for: "
            + ", ".join(name for name, importer in known.items() if importer.open_with_tests),
        )
        parser.add_argument(
            "--time-factor",
            type=_factor,
            metavar="FACTOR",
            help="store the factor of the dataset's scaled time limits, from `verify_package --calibrate`; "
            "default: keep the stored factor, 1 for a new dataset",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON document to standard output")

    def handle(self, *args: object, **options: Any) -> None:
        name: str = options["dataset"]
        try:
            validate_slug(name)
        except ValidationError:
            raise CommandError(f"--dataset {name!r}: a name contains only letters, digits, - and _") from None
        if len(name) > 80:
            raise CommandError("--dataset: a name has at most 80 characters")
        try:
            result = self._import(options["format"], options["path"], name, options["tests"])
        except SourceError as error:
            raise CommandError(f"Nothing was imported: {error}") from error
        factor: float | None = options["time_factor"]
        if factor is not None:
            Dataset.objects.filter(name=name).update(time_factor=factor)
        if options["json"]:
            self.stdout.write(json.dumps(result.to_json(), ensure_ascii=False))
        else:
            self._print(result)
        if not (result.imported or result.unchanged or result.updated):
            raise CommandError("Nothing was imported: every problem was skipped, for the reasons above.")

    def _import(self, format_name: str, path: Path, name: str, tests: Path | None) -> DatasetImport:
        with tqdm(unit="problem", disable=None, leave=False) as bar:

            def advance(done: int, total: int) -> None:
                bar.total = total
                bar.update(done - bar.n)

            return import_problems(format_name, path, name, tests, advance)

    def _print(self, result: DatasetImport) -> None:
        self.stdout.write(
            f"{result.dataset}: {result.imported} imported, {result.updated} updated in place, "
            f"{result.unchanged} unchanged, {len(result.skipped)} skipped"
        )
        for entry in result.skipped:
            self.stdout.write(f"  skipped {entry.external_id}: {entry.reason}")
        for external_id, note in result.notes:
            self.stdout.write(f"  note on {external_id}: {note}")
