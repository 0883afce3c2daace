"""manage.py suite_quality: how well test suites separate right programs from wrong ones."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmark.management.arguments import find_problems, find_suite, positive
from benchmark.management.suite_output import add_judging, each_problem, stage_bars, suites_text
from benchmark.models import Problem
from benchmark.suites import SuiteReport, suite_report


class Command(BaseCommand):
    help = (
        "Judge the known right and wrong programs of problems on every test of a suite, or on the imported tests. "
        "Prints TPR and TNR with 95 % intervals, wrong programs that pass, the size of a minimal suite, and whether "
        "the checker accepts empty or truncated outputs. Stored judgements are used again."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "problems", nargs="+", metavar="DATASET[/ID]", help="a problem, or all problems of a dataset"
        )
        which = parser.add_mutually_exclusive_group()
        which.add_argument(
            "--suite", type=positive, metavar="VERSION", help="default: the latest of each problem"
        )
        which.add_argument("--imported", action="store_true", help="the imported tests of the problem")
        add_judging(parser)
        parser.add_argument("--json", action="store_true", help="print one JSON document to standard output")

    def handle(self, **options: Any) -> None:
        def measure(problem: Problem) -> SuiteReport:
            suite = None if options["imported"] else find_suite(problem, options["suite"])
            with stage_bars(str(problem)) as progress:
                return suite_report(problem, suite, options["jobs"], options["overtime"], progress)

        reports, failures = each_problem(find_problems(options["problems"]), measure)
        if options["json"]:
            document = {
                "suites": [report.to_json() for report in reports],
                "failed": [failure._asdict() for failure in failures],
            }
            self.stdout.write(json.dumps(document, ensure_ascii=False))
        else:
            self.stdout.write(suites_text(reports, failures))
        if failures:
            raise CommandError(f"{len(failures)} could not be measured; the reasons are in the list.")
