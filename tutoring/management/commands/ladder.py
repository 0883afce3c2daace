"""manage.py ladder: how much help sessions of people needed, by level and by level cap."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmark.management.arguments import find_run
from tutoring.arms.human_sessions import FORM
from tutoring.ladder.documents import figures_csv, figures_document, figures_text
from tutoring.ladder.figures import LadderError, ladder_figures
from tutoring.management.figure_forms import add_figure_forms, in_form
from tutoring.rules import current_rule_set


class Command(BaseCommand):
    help = (
        "Show the help curve of sessions of people, the arms of a study by level cap, the least help with a gain over "
        f"the neutral arm, and intended against settled levels (docs/ladder.md). {FORM}"
    )

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
            help="run of session-neutral to show with the curve; default: that of the study",
        )
        add_figure_forms(parser)

    def handle(self, **options: Any) -> None:
        neutral = find_run(options["neutral"]) if options["neutral"] else None
        try:
            figures = ladder_figures(options["human"], rule_set=current_rule_set().version, neutral=neutral)
        except LadderError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(
            in_form(options, figures, text=figures_text, document=figures_document, csv=figures_csv)
        )
