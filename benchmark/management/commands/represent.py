"""manage.py represent: let a model write what stands for the problems of a dataset in comparisons."""

import json
from collections.abc import Sequence
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmark.management.arguments import find_dataset
from benchmark.management.model_options import (
    add_model_options,
    estimates_json,
    estimates_table,
    ledger,
    price_of,
    sampling,
    send_under_bar,
)
from benchmark.management.progress import progress_bar
from benchmark.model_calls.heartbeat import CarriedOut, alone_with
from benchmark.model_calls.requests import SpendTracker
from benchmark.models import Problem, Representation
from benchmark.providers import ModelSpecError, ProviderError, parse_model_spec
from benchmark.reports.formatting import paid_told
from benchmark.representations import (
    KINDS,
    Author,
    Kind,
    find,
    representation_prompt,
    writing_of,
)
from benchmark.similarity.estimates import estimate_writing
from benchmark.similarity.runs import paid_for, write_calls

MADE = [name for name, kind in KINDS.items() if kind.made]


class Command(BaseCommand):
    help = (
        "Let a model write a representation of every problem of a dataset: a summary, or an attempted solution in "
        "English (asm_nl) or Python (asm_pl). Each is written once for a model and its parameters; what is there "
        "already is not asked for again, so the command can be stopped and repeated."
    )

    requires_system_checks = []  # it shows no page, so it need not load them

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dataset", required=True, metavar="NAME")
        parser.add_argument("--model", required=True, metavar="PROVIDER:MODEL")
        parser.add_argument("--representation", required=True, choices=MADE)
        add_model_options(parser, "the writing of this representation, however often it goes on, has")

    def handle(self, **options: Any) -> None:
        dataset = find_dataset(options["dataset"])
        kind = KINDS[options["representation"]]
        try:
            spec = parse_model_spec(options["model"])
        except ModelSpecError as error:
            raise CommandError(str(error)) from None
        author = Author(str(spec), sampling(options))
        problems = list(dataset.problems.only("external_id", "statement", "dataset"))
        if options["dry_run"]:
            return self._tell_estimate(kind, author, problems, options)
        try:
            with alone_with(writing_of(kind, dataset, author)):
                self._write(kind, author, problems, options)
        except (CarriedOut, ProviderError) as error:
            raise CommandError(str(error)) from None

    def _tell_estimate(
        self, kind: Kind, author: Author, problems: Sequence[Problem], options: dict[str, Any]
    ) -> None:
        there = find(kind, author, problems)
        missing = [problem for problem in problems if problem.external_id not in there]
        prompts = [representation_prompt(kind, problem.statement) for problem in missing]
        estimates = estimate_writing(prompts, author.parameters)
        price = price_of(options, parse_model_spec(author.spec))
        if options["json"]:
            document = {"dry_run": True, "missing": len(missing)}
            self.stdout.write(json.dumps(document | {"estimates": estimates_json(estimates, price)}))
            return
        self.stdout.write(f"{len(missing)} of {len(problems)} to be written. Nobody was called.")
        self.stdout.write("\n".join(estimates_table(estimates, price)))

    def _write(
        self, kind: Kind, author: Author, problems: Sequence[Problem], options: dict[str, Any]
    ) -> None:
        there = find(kind, author, problems)
        missing = [problem for problem in problems if problem.external_id not in there]
        spec = parse_model_spec(author.spec)
        spent = ledger(options, spec, paid_for(there.values()))
        with progress_bar(total=len(problems), initial=len(there), unit="problem") as bar:
            reasons = send_under_bar(bar, write_calls(kind, author, missing), spec, author.parameters, spent)
        self._tell(len(problems), find(kind, author, problems), spent, options)
        if reasons is not None:
            raise CommandError("\n".join([*reasons, "Not finished. The same command goes on."]))

    def _tell(
        self, problems: int, rows: dict[str, Representation], spent: SpendTracker, options: dict[str, Any]
    ) -> None:
        fallbacks = sorted(name for name, row in rows.items() if not row.section_found)
        if options["json"]:
            tokens = [row.output_tokens for row in rows.values()]
            document = {
                "problems": problems,
                "written": len(rows),
                "without_section": fallbacks,
                "output_tokens": None if None in tokens else sum(filter(None, tokens)),
                "spent": spent.told,
            }
            self.stdout.write(json.dumps(document, ensure_ascii=False))
            return
        self.stdout.write(
            f"{options['dataset']}: {len(rows)} of {problems} problems have their {options['representation']}."
        )
        self.stdout.write(f"Paid for them in all: {paid_told(spent.told)}")
        if fallbacks:
            named = ", ".join(fallbacks[:5]) + (" …" if len(fallbacks) > 5 else "")
            self.stdout.write(f"In {len(fallbacks)} the whole reply stands for the missing section: {named}")
