"""manage.py import_prompts SOURCE PATH --output DIR: import published prompts as a folder of templates."""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmark.prompts.published import UnexpectedShapeError, import_prompts


class Command(BaseCommand):
    help = (
        "Read the prompts of a published evaluation from your clone of its repository, and write them to a folder for "
        "run_baseline --set prompts=DIR. The clone is read at the commit that is checked out; none of its code is "
        "executed. The commit is stored with every run that uses the folder."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("source", choices=["usaco"], help="usaco: the repository princeton-nlp/USACO")
        parser.add_argument("path", type=Path, metavar="PATH", help="the clone")
        parser.add_argument(
            "--output", type=Path, metavar="DIR", required=True, help="a folder that does not exist yet"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON document to standard output")

    def handle(self, **options: Any) -> None:
        output: Path = options["output"]
        if output.exists():
            raise CommandError(f"{output} already exists. Name a new folder with --output, or remove it.")
        try:
            imported = import_prompts(options["path"], output)
        except UnexpectedShapeError as error:
            raise CommandError(
                f"Nothing was imported: {error}. PATH must be a clone of https://github.com/princeton-nlp/USACO."
            ) from None
        except OSError as error:
            raise CommandError(f"Nothing was imported: {output} cannot be written: {error}") from None
        names = sorted(imported.templates)
        if options["json"]:
            document = {"output": str(output), "commit": imported.commit, "templates": names}
            self.stdout.write(json.dumps(document, ensure_ascii=False))
            return
        self.stdout.write(
            f"{output}: {len(names)} templates of commit {imported.commit}: {', '.join(names)}."
        )
        self.stdout.write(f"Use them: manage.py run_baseline … --set prompts={output}")
