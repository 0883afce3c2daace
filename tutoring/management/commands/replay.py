"""manage.py replay: show recorded hints to another model at the same place of the same dialogue."""

from __future__ import annotations

import asyncio
import json
from typing import Any, get_args

from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmark.management.arguments import find_by_id, find_dataset, find_run, not_negative, positive
from benchmark.management.interrupts import run_interruptibly
from benchmark.management.model_options import (
    MODEL_METAVAR,
    add_model_options,
    chosen_model,
    estimates_json,
    estimates_table,
    monitor_under,
    price_of,
    run_options,
    try_to_open,
    with_context,
)
from benchmark.management.progress import progress_bar
from benchmark.model_calls import Stop
from benchmark.model_calls.heartbeat import AlreadyRunningError, exclusive_lock
from benchmark.model_calls.requests import SpendTracker
from benchmark.providers import ModelSpecError, ProviderError, parse_model_spec
from benchmark.reports.formatting import format_faults, format_spend
from benchmark.runner import CannotRunError, RunOptions
from benchmark.runner.judges import cores
from benchmark.similarity.estimates import estimate_prompts
from tutoring.models import ReplayRun
from tutoring.replay.applicability import missing_labels
from tutoring.replay.cards import SELECTIONS, Selection
from tutoring.replay.drawing import conclude, execute, judge_draws
from tutoring.replay.planning import (
    CannotReplayError,
    ReplayDesign,
    ReplayPlan,
    counted,
    excluded_text,
    fix_placements,
    judge_states,
    plan_replay,
)
from tutoring.replay.text import figures_text

_SEED = 307


class Command(BaseCommand):
    help = (
        "Show recorded hints to a model at the same place of the same dialogue (transplant), or after a wrong program "
        "of its own (own), and compare the hints with a neutral sentence, a stated verdict and hints of other "
        "problems. The placements are fixed before the first call. Repeat an interrupted replay with --resume; stored "
        "draws are not requested again."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--model", metavar=MODEL_METAVAR, help="the model that gets the hints")
        parser.add_argument(
            "--cards",
            choices=get_args(Selection),
            default="primary",
            help="; ".join(f"{name}: {meaning}" for name, meaning in SELECTIONS.items())
            + "; default: primary",
        )
        parser.add_argument(
            "--mode", choices=ReplayRun.Mode.values, default="transplant", help="default: %(default)s"
        )
        parser.add_argument(
            "--programs",
            metavar="RUN",
            help="for own: the stored run of the same model whose first wrong program of each problem is used",
        )
        parser.add_argument("--dataset", metavar="NAME", help="only cards of this dataset's problems")
        parser.add_argument(
            "--draws",
            type=positive,
            default=4,
            metavar="K",
            help="draws of each arm at each state; default: 4",
        )
        parser.add_argument(
            "--seed",
            type=not_negative,
            default=_SEED,
            metavar="N",
            help=f"seed of the order of the draws; default: {_SEED}",
        )
        parser.add_argument(
            "--jobs", type=positive, default=cores(), metavar="N", help="programs at once; default: the cores"
        )
        parser.add_argument(
            "--freeze",
            action="store_true",
            help="fix the placements and make no call; continue with --resume",
        )
        parser.add_argument("--resume", metavar="REPLAY", help="request the missing draws of this replay")
        parser.add_argument(
            "--unlabelled",
            action="store_true",
            help="with --resume: request the first draw although labels of reviewers are missing, which fixes them",
        )
        add_model_options(parser, "the whole replay, with all its resumptions, has")

    def handle(self, **options: Any) -> None:
        try:
            if options["resume"]:
                self._resume(options)
            else:
                self._begin(options)
        except (
            AlreadyRunningError,
            CannotReplayError,
            CannotRunError,
            ModelSpecError,
            ProviderError,
        ) as error:
            raise CommandError(str(error)) from None

    def _begin(self, options: dict[str, Any]) -> None:
        design, chosen = self._designed(options)
        if not options["dry_run"]:
            asyncio.run(try_to_open(design.spec))
        plan = plan_replay(design, chosen.limits.context_tokens)
        if options["dry_run"]:
            self._print_estimates(plan, chosen, options)
            return
        with progress_bar(unit="program") as bar:
            judge_states(plan, jobs=options["jobs"], judged=bar.update)
        run = fix_placements(plan, chosen)
        if options["freeze"]:
            placements = sum(len(state.cards) for state in plan.states)
            _, labelled = missing_labels(run)
            labels = (
                f"{labelled} of them wait for labels of two reviewers (/review/hints/). " if labelled else ""
            )
            self.stdout.write(
                f"Replay {run.pk}: {placements} placements at {len(plan.states)} states are fixed. {labels}"
                f"{excluded_text(plan.excluded)}"
            )
            return
        self._draw(run, options)

    def _designed(self, options: dict[str, Any]) -> tuple[ReplayDesign, RunOptions]:
        """Return the design and the options of a new replay. Raises CommandError before anything is read."""
        if not options["model"]:
            raise CommandError("--model is missing: name the model to which the hints are shown.")
        if (options["mode"] == "own") != bool(options["programs"]):
            raise CommandError("--mode own and --programs RUN belong together: give both or neither.")
        if options["dataset"]:
            find_dataset(options["dataset"])
        model = chosen_model(options)
        programs = find_run(options["programs"]) if options["programs"] else None
        if programs is not None and programs.model_spec != str(model.spec):
            raise CommandError(
                f"Run {programs.pk} has programs of {programs.model_spec}, not of {model.spec}: own programs are "
                "those of the model itself."
            )
        design = ReplayDesign(
            model.spec, model.parameters, model.row, options["cards"], options["draws"], options["seed"],
            options["dataset"], programs,
        )  # fmt: skip
        price = price_of(options, model.spec, row=model.row)
        return design, run_options(options, price, with_context(RunOptions(), model.row))

    def _resume(self, options: dict[str, Any]) -> None:
        run = find_by_id(ReplayRun.objects.select_related("model"), options["resume"], "replay")
        missing, labelled = missing_labels(run)
        if not run.labels_fixed and missing and not options["unlabelled"]:
            raise CommandError(
                f"{missing} of {labelled} placements lack a label of two reviewers (/review/hints/), and no label is "
                "stored after the first draw. Wait for them, or add --unlabelled to continue without them."
            )
        former = RunOptions.of_run(run)
        spec = parse_model_spec(run.model_spec)
        run_options(options, price_of(options, spec, row=run.model, former=former.price), former).apply_to(
            run
        )
        run.save(update_fields=["price", "budget", "limits"])
        asyncio.run(try_to_open(spec))
        self._draw(run, options)

    def _draw(self, run: ReplayRun, options: dict[str, Any]) -> None:
        tracker, stop = SpendTracker.of_run(run), Stop()
        with exclusive_lock(f"Replay {run.pk}"):
            with progress_bar(unit="draw") as bar:
                run_interruptibly(execute(run, tracker, monitor_under(bar, stop, tracker)), stop)
            with progress_bar(unit="program") as bar:
                judge_draws(run, jobs=options["jobs"], begin=bar.reset, judged=bar.update)
            conclude(run)
        if options["json"]:
            document = {"replay": str(run.pk), "state": run.state, "figures": run.figures}
            self.stdout.write(json.dumps(document | {"spent": tracker.as_json}, ensure_ascii=False))
        else:
            self.stdout.write(figures_text(run))
            self.stdout.write(f"Paid: {format_spend(tracker.as_json)}")
        if run.state != ReplayRun.State.FINISHED:
            reasons = [f"Stopped: {stop.reason}"] if stop.reason else []
            reasons += format_faults({one["about"]: one["fault"] for one in run.faults})
            raise CommandError("\n".join([*reasons, f"Not finished. Continue with --resume {run.pk}."]))

    def _print_estimates(self, plan: ReplayPlan, chosen: RunOptions, options: dict[str, Any]) -> None:
        estimates = estimate_prompts(plan.prompts(), plan.design.parameters)
        if options["json"]:
            document = {"dry_run": True, "states": len(plan.states), "excluded": counted(plan.excluded)}
            estimated = {"estimates": estimates_json(estimates, chosen.price)}
            self.stdout.write(json.dumps(document | estimated))
            return
        self.stdout.write(
            f"{plan.calls} draws at {len(plan.states)} states, if all their programs are wrong. No call was made. "
            f"{excluded_text(plan.excluded)}"
        )
        self.stdout.write("\n".join(estimates_table(estimates, chosen.price)))
