"""manage.py build_suite: make test suites for stored problems and release those that known programs confirm."""

import json
import os
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmark.management.arguments import find_problems, positive
from benchmark.management.suite_output import each_problem, stage_bars, suites_text
from benchmark.models import Problem
from benchmark.suites import COUNTS, SuiteReport, build_suite, package_recipe


class Command(BaseCommand):
    help = (
        "Make a suite of tests for each problem: inputs by generators, answers by a reference solution. It is released "
        "only when every known right program passes it and every known wrong one fails. An interrupted build goes on "
        "when it is asked for again; the same settings always give the same suite."
    )

    requires_system_checks = []  # it shows no page, so it need not load them

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("problems", nargs="+", metavar="DATASET[/ID]")
        for kind, number in COUNTS.items():
            parser.add_argument(
                f"--{kind}", type=int, default=number, metavar="N", help=f"{kind} tests (default: {number})"
            )
        parser.add_argument("--seed", type=int, default=1, help="of the generators (default: 1)")
        parser.add_argument(
            "--jobs",
            type=positive,
            default=len(os.sched_getaffinity(0)),
            metavar="N",
            help="programs run at once; more than there are cores disturbs their times (default: the cores)",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON document on standard output")

    def handle(self, **options: Any) -> None:
        problems = find_problems(options["problems"])
        counts = {kind: max(0, options[kind]) for kind in COUNTS}

        def build(problem: Problem) -> SuiteReport:
            recipe = package_recipe(problem, seed=options["seed"], counts=counts)
            with stage_bars(str(problem)) as progress:
                return build_suite(problem, recipe, options["jobs"], progress)

        reports, failures = each_problem(problems, build)
        if options["json"]:
            document = {
                "suites": [report.to_json() for report in reports],
                "failed": [failure._asdict() for failure in failures],
            }
            self.stdout.write(json.dumps(document, ensure_ascii=False))
        else:
            self.stdout.write(suites_text(reports, failures))
        unreleased = [report for report in reports if report.complaints]
        if failures or unreleased:
            raise CommandError(
                f"{len(reports) - len(unreleased)} of {len(problems)} suites are released; the list says what is "
                "wrong with the others."
            )
