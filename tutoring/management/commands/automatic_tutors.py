"""manage.py automatic_tutors: automatic tutors beside people and the neutral arm."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmark.management.arguments import find_run
from tutoring.arms.human_sessions import FORM
from tutoring.arms.stopping import STOPPING_RULES
from tutoring.automatic_tutors.documents import figures_csv, figures_document, figures_text
from tutoring.automatic_tutors.figures import TutorsError, tutor_figures
from tutoring.management.figure_forms import add_figure_forms, in_form
from tutoring.rules import current_rule_set


class Command(BaseCommand):
    help = (
        "Compare automatic tutors with people and with the neutral arm: gain, leak index, breach rate, decisions of "
        f"the guard, cost by role, and the gain by student and tutor (docs/automatic-tutor.md). {FORM}"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "runs", nargs="+", metavar="RUN", help="runs of session-tutor, also of several students"
        )
        parser.add_argument(
            "--human",
            default="all",
            metavar="FILTER",
            help="sessions of people to compare with; default: all first attempts",
        )
        parser.add_argument(
            "--rule",
            choices=STOPPING_RULES,
            default="perfect",
            help="the program that counts in the gain, in both arms; default: perfect",
        )
        add_figure_forms(parser)

    def handle(self, **options: Any) -> None:
        runs = [find_run(name) for name in options["runs"]]
        try:
            figures = tutor_figures(
                options["human"], runs, rule_set=current_rule_set().version, rule=options["rule"]
            )
        except TutorsError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(
            in_form(options, figures, text=figures_text, document=figures_document, csv=figures_csv)
        )
