"""manage.py ladder: how much help sessions of people needed, by level and by level cap."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmark.management.arguments import find_run
from tutoring.arms.human_sessions import FORM
from tutoring.ladder.documents import figures_csv, figures_document, figures_text
from tutoring.ladder.figures import LadderError, ladder_figures
from tutoring.rules import current_rule_set


class Command(BaseCommand):
    help = (
        "Show the help curve of sessions of people, the arms of a study by level cap, the least help with a gain over "
        f"the neutral arm, and intended against settled levels (docs/ladder.md). {FORM}"
    )

    requires_system_checks = []  # the checks import all pages, which this command does not need

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--human",
            required=True,
            metavar="FILTER",
            help="sessions of people: all, or conditions such as study=caps; a named study is compared by level cap",
        )
        parser.add_argument(
            "--neutral",
            metavar="RUN",
            help="run of session-neutral beside the curve; default: that of the study",
        )
        form = parser.add_mutually_exclusive_group()
        form.add_argument("--json", action="store_true", help="print one JSON document to standard output")
        form.add_argument("--csv", action="store_true", help="print the figures as CSV to standard output")

    def handle(self, **options: Any) -> None:
        neutral = find_run(options["neutral"]) if options["neutral"] else None
        try:
            figures = ladder_figures(options["human"], rule_set=current_rule_set().version, neutral=neutral)
        except LadderError as error:
            raise CommandError(str(error)) from None
        if options["json"]:
            self.stdout.write(json.dumps(figures_document(figures), ensure_ascii=False))
        elif options["csv"]:
            self.stdout.write(figures_csv(figures), ending="")
        else:
            self.stdout.write(figures_text(figures))
