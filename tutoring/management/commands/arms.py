"""manage.py arms: sessions of people compared with the control arms of the same problems."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmark.management.arguments import find_run
from tutoring.arms.figures import ArmsError, arm_figures, figures_csv, figures_document, figures_text
from tutoring.arms.figures.rows import PEOPLE
from tutoring.arms.human_sessions import FORM
from tutoring.arms.stopping import STOPPING_RULES
from tutoring.management.figure_forms import add_figure_forms, in_form
from tutoring.rules import current_rule_set


class Command(BaseCommand):
    help = (
        "Compare sessions of people with runs of arms on the same problems: guidance gain, attributable share, "
        "equivalent samples, yoked comparisons, and the ladder of contributions with Holm's correction. Lists what is "
        f"left out with the reason. {FORM}"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "runs", nargs="+", metavar="RUN", help="runs of session arms with one protocol and one model"
        )
        parser.add_argument(
            "--human",
            required=True,
            metavar="FILTER",
            help="sessions of people: all, or conditions such as protocol=usaco-2024,since=2026-01-01; first attempts "
            "only, unless the filter has attempt= or session=",
        )
        parser.add_argument(
            "--rule",
            choices=STOPPING_RULES,
            default="perfect",
            help="the program of an arm's session that counts in ladder and yoked comparisons; default: perfect",
        )
        add_figure_forms(parser)

    def handle(self, **options: Any) -> None:
        runs = [find_run(name) for name in options["runs"]]
        try:
            figures = arm_figures(
                options["human"], runs, rule_set=current_rule_set().version, rule=options["rule"]
            )
        except ArmsError as error:
            raise CommandError(str(error)) from None
        if not figures.people:
            reasons = {f"{one.reason} ({one.count})" for one in figures.left_out if one.arm == PEOPLE}
            raise CommandError(
                f"There is nothing to compare: no session of a person that fits {options['human']!r} can be paired "
                f"with the runs. {'Left out: ' + '; '.join(sorted(reasons)) if reasons else 'None fits'}."
            )
        self.stdout.write(
            in_form(options, figures, text=figures_text, document=figures_document, csv=figures_csv)
        )
