"""manage.py import_corpus FORMAT PATH: fill a textbook that semantic retrieval searches."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.core.validators import validate_slug
from django.utils.text import slugify

from benchmark.corpora import FORMATS, TEXTBOOK
from benchmark.corpora.store import import_corpus
from benchmark.datasets import SourceError
from benchmark.models.corpora import SHIPPED


class Command(BaseCommand):
    """Import a textbook; a second time changes nothing."""

    help = (
        "Import the articles of a textbook. Afterwards the corpus holds what the source holds: importing the same "
        "again changes nothing, changed articles are updated, those no longer there are removed. An article that "
        "cannot be imported is left out with the reason; a source that is broken as a whole is refused."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "format",
            metavar="FORMAT",
            nargs="?",
            choices=FORMATS,
            help=f"{', '.join(FORMATS)}; without one, the textbook that comes with the program is loaded",
        )
        parser.add_argument(
            "path",
            metavar="PATH",
            nargs="?",
            type=Path,
            help="markdown: a folder of .md files; the others: a JSON file",
        )
        parser.add_argument(
            "--corpus",
            metavar="NAME",
            help="letters, digits, - and _; default: the format's name, for markdown the folder's",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON document instead of text")

    def handle(self, *args: object, **options: Any) -> None:
        format_name, path = options["format"], options["path"]
        if path is None:
            if format_name or options["corpus"]:
                raise CommandError("PATH is missing. Without any argument our own textbook is loaded.")
            format_name, path, default = "markdown", TEXTBOOK, SHIPPED
        else:
            default = slugify(path.resolve().name) if format_name == "markdown" else format_name
        name = options["corpus"] or default
        try:
            validate_slug(name)
        except ValidationError:
            raise CommandError(f"--corpus {name!r}: a name has letters, digits, - and _ only") from None
        if len(name) > 80:
            raise CommandError("--corpus: a name has at most 80 characters")
        try:
            result = import_corpus(format_name, path, name)
        except SourceError as error:
            raise CommandError(f"Nothing was imported: {error}") from error
        if options["json"]:
            self.stdout.write(json.dumps(result.to_json(), ensure_ascii=False))
            return
        self.stdout.write(
            f"{name}: {result.imported} imported, {result.updated} updated, {result.unchanged} unchanged, "
            f"{result.removed} removed, {len(result.left_out)} left out"
        )
        for entry in result.left_out:
            self.stdout.write(f"  left out {entry.external_id}: {entry.reason}")
