"""manage.py compare: whether runs differ, problem by problem, and by more than chance."""

import json
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmark.management.arguments import add_failures, find_run
from benchmark.reports import NothingToCompare, compare, comparison_text


class Command(BaseCommand):
    help = (
        "Compare the first run with each of the others on the problems both tried: paired difference with intervals, "
        "McNemar's exact test, Holm's correction, the verdicts' transitions and where the chains part."
    )

    requires_system_checks = []  # it shows no page, so it need not load them

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "runs", nargs="+", metavar="RUN", help="the first is what the others are compared with"
        )
        add_failures(parser, "the choice stored with the first run, or wrong")
        parser.add_argument("--json", action="store_true", help="print one JSON document on standard output")

    def handle(self, **options: Any) -> None:
        try:
            comparison = compare(
                [find_run(name) for name in options["runs"]], failures=options["failures"] or ""
            )
        except NothingToCompare as error:
            raise CommandError(str(error)) from None
        if options["json"]:
            document = asdict(comparison)
            for pair, fields in zip(comparison.pairs, document["pairs"], strict=True):
                fields["divergence_counts"] = pair.divergence_counts
                fields["power_note"] = pair.power_note
            self.stdout.write(json.dumps(document, ensure_ascii=False))
            return
        self.stdout.write(comparison_text(comparison))
