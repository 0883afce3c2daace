"""manage.py report_mcqs: the figures of runs over questions."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from benchmark.management.arguments import find_similarity_run
from benchmark.similarity.figures import measure
from benchmark.similarity.report import text_of


class Command(BaseCommand):
    help = (
        "Print accuracy, mean reciprocal rank, positions, failures by label and tokens of runs of run_mcqs."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("runs", nargs="+", metavar="RUN", help="ids of runs of run_mcqs")
        parser.add_argument("--json", action="store_true", help="print one JSON document to standard output")

    def handle(self, **options: Any) -> None:
        figures = [measure(find_similarity_run(name)) for name in options["runs"]]
        if options["json"]:
            self.stdout.write(json.dumps({"runs": [one.to_json() for one in figures]}, ensure_ascii=False))
        else:
            self.stdout.write("\n\n".join(text_of(one) for one in figures))
