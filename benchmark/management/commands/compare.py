"""manage.py compare: paired comparison of runs."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmark.management.arguments import add_failures, find_run
from benchmark.reports.comparison import (
    NothingToCompareError,
    compare,
    comparison_document,
    comparison_text,
)


class Command(BaseCommand):
    help = (
        "Compare a base run with each of the others on the problems that both tried. Prints the paired difference "
        "with intervals, tests with Holm's correction, verdict changes, and where chains diverge."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "runs",
            nargs="+",
            metavar="RUN",
            help="runs to compare; the base is the first, unless --base names it",
        )
        parser.add_argument(
            "--base",
            metavar="RUN",
            help="the run with which each of the others is compared; default: the first",
        )
        add_failures(parser, "the choice stored with the first run, or wrong")
        parser.add_argument("--json", action="store_true", help="print one JSON document to standard output")

    def handle(self, **options: Any) -> None:
        runs = [find_run(name) for name in options["runs"]]
        if options["base"]:
            base = find_run(options["base"])
            runs = [base, *(run for run in runs if run != base)]
        try:
            comparison = compare(runs, failures=options["failures"] or "")
        except NothingToCompareError as error:
            raise CommandError(str(error)) from None
        if options["json"]:
            self.stdout.write(json.dumps(comparison_document(comparison), ensure_ascii=False))
        else:
            self.stdout.write(comparison_text(comparison))
