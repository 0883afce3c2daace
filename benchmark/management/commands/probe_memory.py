"""manage.py probe_memory: let a model complete statements and samples from their beginnings."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import date
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmark.management.arguments import chosen_problems, day, find_dataset, not_negative, positive
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
from benchmark.memorisation import (
    DEFAULT_SEED,
    KINDS,
    ProbeDesign,
    ProbedModel,
    ProbePlan,
    paid_for,
    plan_probes,
    requests_for,
)
from benchmark.model_calls.heartbeat import AlreadyRunningError, exclusive_lock
from benchmark.model_calls.requests import SpendTracker
from benchmark.models import Dataset, MemoryProbe, Problem
from benchmark.providers import ProviderError, is_scripted
from benchmark.reports.formatting import format_spend
from benchmark.reports.memory import MemoryScore, difference, read_scores, score_of, scores_by_side
from benchmark.similarity.estimates import estimate_prompts
from judge.management.tables import aligned

_SCRIPTED = "The model's replies are scripted: these scores say nothing about any model."


class Command(BaseCommand):
    help = (
        "Let a model complete statements and samples of a dataset from their beginnings. The score is the overlap of "
        "the completion with the true rest, minus that with the rests of other problems. Problems before and after the "
        "model's cutoff are compared. Stored completions are not requested again."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--model", required=True, metavar=MODEL_METAVAR, help="the model to probe")
        parser.add_argument("--dataset", required=True, metavar="NAME", help="dataset of the problems")
        parser.add_argument("--problems", metavar="ID,ID…", help="only these problems")
        parser.add_argument("--limit", type=positive, metavar="N", help="only the first N problems by id")
        parser.add_argument("--kind", choices=KINDS, help="only statements or only samples; default: both")
        parser.add_argument(
            "--draws", type=positive, default=1, metavar="K", help="completions of each text; default: 1"
        )
        parser.add_argument(
            "--seed",
            type=not_negative,
            default=DEFAULT_SEED,
            metavar="N",
            help=f"seed of the shown shares after the first draw, and of the other problems; default: {DEFAULT_SEED}",
        )
        parser.add_argument(
            "--cutoff",
            type=day,
            metavar="YYYY-MM-DD",
            help="last day of the model's training texts; default: that of the model's row, or the known cutoff",
        )
        add_model_options(parser, "the probes of this command, over all repetitions, have")

    def handle(self, **options: Any) -> None:
        dataset = find_dataset(options["dataset"])
        if dataset.known_as:
            raise CommandError(
                f"{dataset.name} holds problems of imported runs, which have no statements. Import {dataset.known_as}."
            )
        model = chosen_model(options)
        author = ProbedModel(model.spec, model.parameters)
        design = ProbeDesign(
            [options["kind"]] if options["kind"] else KINDS, options["draws"], options["seed"]
        )
        chosen = _choose(dataset, options["problems"], options["limit"])
        material = plan_probes(dataset, chosen, author, design)
        if not material.probes:
            raise CommandError(
                f"Nothing to probe in {dataset.name}: the texts are too short to be completed."
            )
        if options["dry_run"]:
            self._print_estimates(material, model, options)
            return
        try:
            with exclusive_lock(f"Memory probes of {dataset.name} by {author.spec}"):
                self._probe(material, author, model, options)
        except (AlreadyRunningError, ProviderError) as error:
            raise CommandError(str(error)) from None

    def _print_estimates(self, material: ProbePlan, model: ChosenModel, options: dict[str, Any]) -> None:
        there = {row.key for row in material.stored()}
        prompts = [probe.prompt for probe in material.probes if probe.key not in there]
        estimates = estimate_prompts(prompts, model.parameters)
        price = price_of(options, model.spec, row=model.row)
        if options["json"]:
            document = {"dry_run": True, "missing": len(prompts), "left_out": dict(material.left_out)}
            self.stdout.write(json.dumps(document | {"estimates": estimates_json(estimates, price)}))
            return
        self.stdout.write(
            f"{len(prompts)} of {len(material.probes)} completions are missing. No call was made."
        )
        self.stdout.write("\n".join(estimates_table(estimates, price)))

    def _probe(
        self, material: ProbePlan, author: ProbedModel, model: ChosenModel, options: dict[str, Any]
    ) -> None:
        there = material.stored()
        tracker = spend_tracker(options, model, paid_for(there))
        with progress_bar(total=len(material.probes), initial=len(there), unit="probe") as bar:
            requests = requests_for(material, author, there)
            reasons = send_under_bar(bar, requests, author.spec, author.parameters, tracker)
        self._print_result(material, author, tracker, options)
        if reasons is not None:
            raise CommandError("\n".join([*reasons, "Not finished. Repeat the command to continue."]))

    def _print_result(
        self, material: ProbePlan, author: ProbedModel, tracker: SpendTracker, options: dict[str, Any]
    ) -> None:
        stored = material.stored()
        cutoff = options["cutoff"] or author.cutoff()
        scores = read_scores(MemoryProbe.objects.filter(pk__in=[row.pk for row in stored]), cutoff)
        groups = [*([score_of("all", scores)] if scores else []), *(scores_by_side(scores) if cutoff else ())]
        gap = difference(groups)
        if options["json"]:
            document = {
                "dataset": options["dataset"],
                "model": str(author.spec),
                "scripted_model": is_scripted(author.spec),
                "cutoff": cutoff and cutoff.isoformat(),
                "seed": options["seed"],
                "probes": len(material.probes),
                "stored": len(stored),
                "left_out": dict(material.left_out),
                "scores": [asdict(one) for one in groups],
                "before_minus_after": gap and asdict(gap),
                "spent": tracker.as_json,
            }
            self.stdout.write(json.dumps(document, ensure_ascii=False))
            return
        if is_scripted(author.spec):
            self.stdout.write(_SCRIPTED)
        self.stdout.write(f"{len(stored)} of {len(material.probes)} completions by {author.spec}.")
        self.stdout.write("\n".join(_table(groups, cutoff)))
        if gap:
            self.stdout.write(
                f"Before minus after the cutoff: {_points(gap.value, gap.low, gap.high)} points."
            )
        if cutoff is None:
            self.stdout.write("The model's cutoff is unknown; --cutoff YYYY-MM-DD separates the problems.")
        if material.left_out:
            self.stdout.write(f"Left out, too short to be completed: {', '.join(material.left_out)}.")
        self.stdout.write(f"Paid for them in total: {format_spend(tracker.as_json)}")


def _choose(dataset: Dataset, names: str | None, limit: int | None) -> Sequence[Problem]:
    """Return the chosen problems, sorted by id. Raises CommandError for an unknown id, and if no problem is left."""
    if names is not None:
        problems = chosen_problems(dataset, names)
        if not problems:
            raise CommandError("--problems names no problem: write ID,ID.")
    else:
        problems = list(dataset.problems.only("external_id"))
    problems.sort(key=lambda problem: problem.external_id)
    if not problems:
        raise CommandError(f"{dataset.name} has no problems. `manage.py import_problems` imports them.")
    return problems[:limit]


def _table(groups: Sequence[MemoryScore], cutoff: date | None) -> list[str]:
    names = {
        "all": "all problems",
        "before": f"until {cutoff}",
        "after": f"after {cutoff}",
        "no date": "no date",
    }
    rows = [("", "problems", "probes", "overlap", "by chance", "score in points [95 %]", "")]
    rows += [
        (
            names[one.group],
            str(one.problems),
            str(one.probes),
            f"{100 * one.overlap:.1f} %",
            f"{100 * one.chance:.1f} %",
            _points(one.value, one.low, one.high),
            one.interval,
        )
        for one in groups
    ]
    return aligned(rows)


def _points(value: float, low: float, high: float) -> str:
    return f"{100 * value:+z.1f} [{100 * low:+z.1f}, {100 * high:+z.1f}]"
