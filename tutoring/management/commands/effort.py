"""manage.py effort: active minutes and dollars of sessions of people."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from tutoring.arms.human_sessions import FORM
from tutoring.effort.documents import figures_csv, figures_document, figures_text
from tutoring.effort.figures import EffortError, effort_figures
from tutoring.effort.projection import missing_efforts, project_effort
from tutoring.management.arguments import find_study
from tutoring.management.figure_forms import add_figure_forms, in_form


def wage(text: str) -> float:
    """Return a wage in US dollars per hour. Raises ValueError."""
    value = float(text)
    if not 0 <= value < 10_000:
        raise ValueError
    return value


class Command(BaseCommand):
    help = (
        "Measure the effort of sessions of people, and show active minutes and dollars for each solved problem, the "
        f"cost plane and learning inside a study (docs/effort.md). {FORM}"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        selection = parser.add_mutually_exclusive_group(required=True)
        selection.add_argument("--human", metavar="FILTER", help="sessions of people: all, or conditions")
        selection.add_argument("--study", metavar="NAME", help="the sessions of a study, by arm")
        parser.add_argument(
            "--wage",
            type=wage,
            metavar="DOLLARS",
            help="hourly wage of a tutor; without it, dollars are unknown",
        )
        add_figure_forms(parser)

    def handle(self, **options: Any) -> None:
        study = find_study(options["study"]) if options["study"] else None
        for session in missing_efforts():
            project_effort(session)
        try:
            figures = effort_figures(options["human"] or "", wage=options["wage"], sees_all=True, study=study)
        except EffortError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(
            in_form(options, figures, text=figures_text, document=figures_document, csv=figures_csv)
        )
