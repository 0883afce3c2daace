"""manage.py report: the figures of runs."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmark.management.arguments import add_failures, day, dollars, find_run, positive
from benchmark.metrics import TooFewAttemptsError
from benchmark.model_calls import Price
from benchmark.reports import FORMATS, measure


class Command(BaseCommand):
    help = (
        "Print the report of one or more runs: pass@k (for refine runs Refine@1 … Refine@K) with intervals, verdicts, "
        "how replies ended, tokens, cost, faults and the manifest."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("runs", nargs="+", metavar="RUN", help="ids of runs")
        parser.add_argument("--format", choices=FORMATS, default="text", help="default: text")
        parser.add_argument(
            "--k",
            type=positive,
            nargs="+",
            default=[1],
            metavar="K",
            help="the k of pass@k; default: 1. A refine run always has Refine@1 to Refine@K",
        )
        add_failures(parser, "the choice stored with the run, or wrong")
        parser.add_argument(
            "--cutoff",
            type=day,
            metavar="YYYY-MM-DD",
            help="last day of the model's training data; default: the date stored with the run, or the known cutoff of "
            "the model",
        )
        parser.add_argument(
            "--price",
            nargs=2,
            type=dollars,
            metavar=("INPUT", "OUTPUT"),
            help="US dollars for a million tokens, without batch discount; default: the price stored with the run",
        )

    def handle(self, **options: Any) -> None:
        runs = [find_run(name) for name in options["runs"]]
        price = Price(*options["price"]) if options["price"] else None
        try:
            figures = [
                measure(
                    run,
                    options["k"],
                    cutoff=options["cutoff"],
                    usual_price=price,
                    failures=options["failures"] or "",
                )
                for run in runs
            ]
        except TooFewAttemptsError as error:
            raise CommandError(f"{error}.") from None
        self.stdout.write(FORMATS[options["format"]](figures))
