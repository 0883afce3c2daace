"""manage.py automatic_tutors: automatic tutors beside people and the neutral arm."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmark.management.arguments import find_run
from tutoring.arms.human_sessions import FORM
from tutoring.arms.stopping import STOPPING_RULES
from tutoring.automatic_tutors.documents import figures_csv, figures_document, figures_text
from tutoring.automatic_tutors.figures import TutorsError, tutor_figures
from tutoring.rules import current_rule_set


class Command(BaseCommand):
    help = (
        "Compare automatic tutors with people and with the neutral arm: gain, leak index, breach rate, decisions of "
        f"the guard, money by role, and the gain by student and tutor (docs/automatic-tutor.md). {FORM}"
    )

    requires_system_checks = []  # the checks import all pages, which this command does not need

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "runs", nargs="+", metavar="RUN", help="runs of session-tutor, also of several students"
        )
        parser.add_argument(
            "--human",
            default="all",
            metavar="FILTER",
            help="sessions of people beside them; default: all first attempts",
        )
        parser.add_argument(
            "--rule",
            choices=STOPPING_RULES,
            default="perfect",
            help="the program that counts in the gain, in both arms; default: perfect",
        )
        form = parser.add_mutually_exclusive_group()
        form.add_argument("--json", action="store_true", help="print one JSON document to standard output")
        form.add_argument("--csv", action="store_true", help="print the figures as CSV to standard output")

    def handle(self, **options: Any) -> None:
        runs = [find_run(name) for name in options["runs"]]
        try:
            figures = tutor_figures(
                options["human"], runs, rule_set=current_rule_set().version, rule=options["rule"]
            )
        except TutorsError as error:
            raise CommandError(str(error)) from None
        if options["json"]:
            self.stdout.write(json.dumps(figures_document(figures), ensure_ascii=False))
        elif options["csv"]:
            self.stdout.write(figures_csv(figures), ending="")
        else:
            self.stdout.write(figures_text(figures))
