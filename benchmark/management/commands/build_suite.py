"""manage.py build_suite: build test suites for stored problems and release those that known programs confirm."""

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmark.datasets.records import TestKind
from benchmark.management.arguments import find_problems, positive
from benchmark.management.model_options import (
    MODEL_METAVAR,
    ChosenModel,
    add_model_options,
    chosen_model,
    estimates_json,
    estimates_table,
    price_of,
    send_under_bar,
    spend_tracker,
)
from benchmark.management.progress import progress_bar
from benchmark.management.suite_output import add_judging, each_problem, stage_bars, suites_text
from benchmark.model_calls.heartbeat import AlreadyRunningError, exclusive_lock
from benchmark.models import PackageProgram, Problem
from benchmark.providers import ProviderError
from benchmark.reports.formatting import format_spend
from benchmark.similarity.estimates import estimate_prompts
from benchmark.suites import (
    COUNTS,
    SuiteReport,
    build_suite,
    missing_calls,
    package_recipe,
    paid_for,
    recipe_of,
    written_programs,
)


class Command(BaseCommand):
    help = (
        "Build a test suite for each problem: inputs by generators, answers by a reference solution. It is released "
        "only when every known correct program passes it and every known wrong one fails. The generators are those of "
        "the problem's package; with --model a model writes them, and an input validator where the package has none. "
        "An interrupted build continues when the command is repeated; the same settings always give the same suite."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "problems", nargs="+", metavar="DATASET[/ID]", help="a problem, or all problems of a dataset"
        )
        for kind, number in COUNTS.items():
            parser.add_argument(
                f"--{kind}", type=int, default=number, metavar="N", help=f"{kind} tests (default: {number})"
            )
        parser.add_argument("--seed", type=int, default=1, help="seed of the generators (default: 1)")
        add_judging(parser)
        parser.add_argument("--model", metavar=MODEL_METAVAR, help="the model that writes the generators")
        parser.add_argument(
            "--writing",
            type=positive,
            default=1,
            metavar="N",
            help="another number lets the model write other programs",
        )
        parser.add_argument(
            "--sizes",
            action="store_true",
            help="the model also writes a generator that takes a size, which manage.py growth needs",
        )
        add_model_options(parser, "the writing for these problems, over all repetitions of the command, has")

    def handle(self, **options: Any) -> None:
        problems = find_problems(options["problems"])
        counts = {kind: max(0, options[kind]) for kind in COUNTS}
        model = chosen_model(options) if options["model"] else None
        if options["sizes"] and model is None:
            raise CommandError("--sizes needs --model: the model writes the generator.")
        if options["dry_run"]:
            self._print_estimates(problems, model, options)
            return
        try:
            with ExitStack() as alone:
                for dataset in sorted({problem.dataset.name for problem in problems}):
                    alone.enter_context(exclusive_lock(f"Building suites for {dataset}"))
                self._build(problems, counts, model, options)
        except (AlreadyRunningError, ProviderError) as error:
            raise CommandError(str(error)) from None

    def _build(
        self,
        problems: Sequence[Problem],
        counts: Mapping[TestKind, int],
        model: ChosenModel | None,
        options: dict[str, Any],
    ) -> None:
        spent = _write(problems, model, options) if model else None

        def build(problem: Problem) -> SuiteReport:
            if model:
                validators = problem.package_programs.filter(
                    role=PackageProgram.Role.INPUT_VALIDATOR, author=""
                )
                programs = [*validators, *written_programs(problem, model.author, options["writing"])]
                recipe = recipe_of(problem, programs, seed=options["seed"], counts=counts)
            else:
                recipe = package_recipe(problem, seed=options["seed"], counts=counts)
            with stage_bars(str(problem)) as progress:
                return build_suite(problem, recipe, options["jobs"], options["overtime"], progress)

        reports, failures = each_problem(problems, build)
        if options["json"]:
            document = {
                "suites": [report.to_json() for report in reports],
                "failed": [failure._asdict() for failure in failures],
                "spent": spent,
            }
            self.stdout.write(json.dumps(document, ensure_ascii=False))
        else:
            if spent:
                self.stdout.write(f"Paid for generators and validators in total: {format_spend(spent)}")
            self.stdout.write(suites_text(reports, failures))
        released = sum(bool(report.suite and report.suite.released_at) for report in reports)
        if released < len(problems):
            raise CommandError(
                f"{released} of {len(problems)} suites are released; the list shows the faults of the others."
            )

    def _print_estimates(
        self, problems: Sequence[Problem], model: ChosenModel | None, options: dict[str, Any]
    ) -> None:
        if model is None:
            raise CommandError("--dry-run needs --model: without a model nothing is paid for.")
        price = price_of(options, model.spec, row=model.row)
        author, writing = model.author, options["writing"]
        sizes = options["sizes"]
        calls = [
            call for problem in problems for call in missing_calls(problem, author, writing, sizes=sizes)
        ]
        estimates = estimate_prompts([call.prompt for call in calls], author.parameters)
        if options["json"]:
            document = {"dry_run": True, "missing": len(calls), "estimates": estimates_json(estimates, price)}
            self.stdout.write(json.dumps(document))
        else:
            self.stdout.write(f"{len(calls)} programs to be written. No call was made.")
            self.stdout.write("\n".join(estimates_table(estimates, price)))


def _write(problems: Sequence[Problem], model: ChosenModel, options: dict[str, Any]) -> dict[str, Any]:
    """Request missing programs from the model and return the spending. Raises CommandError when some remain."""
    author, writing, sizes = model.author, options["writing"], options["sizes"]
    calls = [call for problem in problems for call in missing_calls(problem, author, writing, sizes=sizes)]
    tracker = spend_tracker(options, model, paid_for(problems, author, writing))
    with progress_bar(total=len(calls), unit="program") as bar:
        reasons = send_under_bar(bar, calls, model.spec, author.parameters, tracker)
    if reasons is not None:
        raise CommandError(
            "\n".join([*reasons, "Some programs are missing. Repeat the command to continue."])
        )
    return tracker.as_json
