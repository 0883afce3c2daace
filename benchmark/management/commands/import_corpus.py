"""manage.py import_corpus FORMAT PATH: import a textbook for semantic retrieval."""

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
    """The command that imports a textbook. Imports are idempotent."""

    help = (
        "Import the articles of a textbook. The import synchronizes the corpus with the source: unchanged articles "
        "stay, changed ones are updated, missing ones are removed. An article that cannot be imported is skipped, "
        "and the reason is printed. If the whole source is invalid, nothing is imported."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "format",
            metavar="FORMAT",
            nargs="?",
            choices=FORMATS,
            help=f"{', '.join(FORMATS)}; default: the textbook of Hintbench",
        )
        parser.add_argument(
            "path",
            metavar="PATH",
            nargs="?",
            type=Path,
            help="markdown: a folder of .md files; other formats: a JSON file",
        )
        parser.add_argument(
            "--corpus",
            metavar="NAME",
            help="letters, digits, - and _; default: the name of the format, or of the folder for markdown",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON document to standard output")

    def handle(self, *args: object, **options: Any) -> None:
        format_name, path = options["format"], options["path"]
        if path is None:
            if format_name or options["corpus"]:
                raise CommandError("PATH is missing. Omit all arguments to import the textbook of Hintbench.")
            format_name, path, default = "markdown", TEXTBOOK, SHIPPED
        else:
            default = slugify(path.resolve().name) if format_name == "markdown" else format_name
        name = options["corpus"] or default
        try:
            validate_slug(name)
        except ValidationError:
            raise CommandError(f"--corpus {name!r}: a name contains only letters, digits, - and _") from None
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
            f"{result.removed} removed, {len(result.skipped)} skipped"
        )
        for entry in result.skipped:
            self.stdout.write(f"  skipped {entry.external_id}: {entry.reason}")
