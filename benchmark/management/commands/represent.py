"""manage.py represent: generate representations of the problems of a dataset with a model."""

import json
from collections.abc import Sequence
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmark.management.arguments import find_dataset
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
from benchmark.model_calls.heartbeat import AlreadyRunningError, exclusive_lock
from benchmark.model_calls.requests import SpendTracker
from benchmark.models import Problem, Representation
from benchmark.providers import ProviderError
from benchmark.reports.formatting import format_spend
from benchmark.representations import (
    KINDS,
    RepresentationKind,
    find,
    generation_of,
    representation_prompt,
)
from benchmark.similarity.estimates import estimate_prompts
from benchmark.similarity.runs import generation_requests, paid_for

GENERATED = [name for name, kind in KINDS.items() if kind.generated]


class Command(BaseCommand):
    help = (
        "Generate a representation of every problem of a dataset with a model: a summary, or an attempted solution in "
        "English (asm_nl) or Python (asm_pl). Each is generated once for a model and its parameters. The command can "
        "be stopped and repeated: stored representations are not requested again."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dataset", required=True, metavar="NAME", help="dataset of the problems")
        parser.add_argument("--model", required=True, metavar=MODEL_METAVAR, help="the model that writes")
        parser.add_argument(
            "--representation", required=True, choices=GENERATED, help="what the model writes"
        )
        add_model_options(parser, "this representation, over all repetitions of the command, has")

    def handle(self, **options: Any) -> None:
        dataset = find_dataset(options["dataset"])
        kind = KINDS[options["representation"]]
        model = chosen_model(options)
        problems = list(dataset.problems.only("external_id", "statement", "dataset"))
        if options["dry_run"]:
            self._print_estimates(kind, model, problems, options)
            return
        try:
            with exclusive_lock(generation_of(kind, dataset, model.author)):
                self._write(kind, model, problems, options)
        except (AlreadyRunningError, ProviderError) as error:
            raise CommandError(str(error)) from None

    def _print_estimates(
        self,
        kind: RepresentationKind,
        model: ChosenModel,
        problems: Sequence[Problem],
        options: dict[str, Any],
    ) -> None:
        there = find(kind, model.author, problems)
        missing = [problem for problem in problems if problem.external_id not in there]
        prompts = [representation_prompt(kind, problem.statement) for problem in missing]
        estimates = estimate_prompts(prompts, model.parameters)
        price = price_of(options, model.spec, row=model.row)
        if options["json"]:
            document = {"dry_run": True, "missing": len(missing)}
            self.stdout.write(json.dumps(document | {"estimates": estimates_json(estimates, price)}))
            return
        self.stdout.write(f"{len(missing)} of {len(problems)} to be generated. No call was made.")
        self.stdout.write("\n".join(estimates_table(estimates, price)))

    def _write(
        self,
        kind: RepresentationKind,
        model: ChosenModel,
        problems: Sequence[Problem],
        options: dict[str, Any],
    ) -> None:
        there = find(kind, model.author, problems)
        missing = [problem for problem in problems if problem.external_id not in there]
        requests = generation_requests(kind, model.author, missing)
        tracker = spend_tracker(options, model, paid_for(there.values()))
        with progress_bar(total=len(problems), initial=len(there), unit="problem") as bar:
            reasons = send_under_bar(bar, requests, model.spec, model.parameters, tracker)
        self._print_result(len(problems), find(kind, model.author, problems), tracker, options)
        if reasons is not None:
            raise CommandError("\n".join([*reasons, "Not finished. Repeat the command to continue."]))

    def _print_result(
        self, problems: int, rows: dict[str, Representation], tracker: SpendTracker, options: dict[str, Any]
    ) -> None:
        fallbacks = sorted(name for name, row in rows.items() if not row.section_found)
        if options["json"]:
            tokens = [row.output_tokens for row in rows.values()]
            document = {
                "problems": problems,
                "written": len(rows),
                "without_section": fallbacks,
                "output_tokens": None if None in tokens else sum(filter(None, tokens)),
                "spent": tracker.as_json,
            }
            self.stdout.write(json.dumps(document, ensure_ascii=False))
            return
        self.stdout.write(
            f"{options['dataset']}: {len(rows)} of {problems} problems have the representation "
            f"{options['representation']}."
        )
        self.stdout.write(f"Paid for them in total: {format_spend(tracker.as_json)}")
        if fallbacks:
            named = ", ".join(fallbacks[:5]) + (" …" if len(fallbacks) > 5 else "")
            self.stdout.write(f"In {len(fallbacks)} the whole reply replaces the missing section: {named}")
