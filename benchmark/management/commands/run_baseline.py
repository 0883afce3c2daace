"""manage.py run_baseline: carry out a method with a model over a dataset, or go on with a run."""

import asyncio
import json
import signal
import sys
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from tqdm import tqdm

from benchmark.management.arguments import dollars, find_dataset, find_run, positive
from benchmark.methods import METHODS, PROFILES, Reflexion, SettingsError, parse_settings
from benchmark.models import Run
from benchmark.models.problems import Tier
from benchmark.providers import (
    ModelSpec,
    ModelSpecError,
    ProviderError,
    is_scripted,
    open_provider,
    parse_model_spec,
)
from benchmark.reports import RunFigures, measure
from benchmark.runner import (
    ASSUMED,
    CannotRun,
    Plan,
    Price,
    Progress,
    Stop,
    estimate,
    execute,
    plan_like,
    plan_run,
    prepare_resume,
    start_run,
)
from judge.management.tables import aligned

_OF_NEW_RUNS = (
    "dataset", "model", "method", "profile", "set", "attempts", "problems", "tier", "limit", "dry_run", "price", "like",
)  # fmt: skip
_SUMMARIES = "; ".join(f"{profile.name}, {profile.summary}" for profile in PROFILES.values())
_REQUIRED = ("dataset", "model", "method")


class Command(BaseCommand):
    help = (
        "Run a method with a model over the problems of a dataset and judge every attempt on the hidden tests. "
        "A method is zero-shot, or searches (semantic: a textbook, episodic: solved problems) and reflexion "
        "(corrections with the results of the samples) joined by +; `manage.py methods` lists them with their controls "
        f"and settings. Profiles: {_SUMMARIES}."
    )

    requires_system_checks = []  # it shows no page, so it need not load them

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dataset", metavar="NAME")
        parser.add_argument("--model", metavar="PROVIDER:MODEL")
        parser.add_argument("--method", type=_in_our_order, choices=METHODS)
        parser.add_argument(
            "--profile", choices=PROFILES, help="settings and attempts of a published evaluation"
        )
        parser.add_argument(
            "--set", nargs="+", action="extend", metavar="NAME=VALUE", help="settings of the method"
        )
        parser.add_argument(
            "--attempts",
            type=positive,
            metavar="N",
            help="independent attempts a problem; default: the profile's, or 1",
        )
        parser.add_argument("--problems", metavar="ID,ID…", help="only these problems")
        parser.add_argument("--tier", choices=Tier.values)
        parser.add_argument("--limit", type=positive, metavar="N", help="only the first N problems by id")
        parser.add_argument(
            "--dry-run", action="store_true", default=None, help="call nobody and say what the run would cost"
        )
        parser.add_argument(
            "--price",
            nargs=2,
            type=dollars,
            metavar=("INPUT", "OUTPUT"),
            help="US dollars for a million tokens, for --dry-run; without it the cost is unknown",
        )
        parser.add_argument(
            "--resume", metavar="RUN", help="go on with this run; failed items are tried again"
        )
        parser.add_argument(
            "--like", metavar="RUN", help="a new run of the problems, model, settings and prompts of this one"
        )
        parser.add_argument(
            "--concurrency", type=positive, default=8, metavar="N", help="calls in flight; default: 8"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON document on standard output")

    def handle(self, **options: Any) -> None:
        try:
            if options["dry_run"] and not options["resume"]:
                return self._tell_cost(_planned(options), options["price"], options["json"])
            run = _resumed(options) if options["resume"] else self._started(options)
        except (CannotRun, ModelSpecError, ProviderError, SettingsError) as error:
            raise CommandError(str(error)) from None
        self.stderr.write(f"Run {run.pk}")
        stop = Stop()
        before = measure(run)
        quiet = 0.1 if sys.stderr.isatty() else 10  # seconds between two states of the bar
        with (
            tqdm(
                total=before.total, initial=before.done, unit="item", desc=run.method, mininterval=quiet
            ) as bar,
            suppress(asyncio.CancelledError),
        ):
            asyncio.run(_work(run, options["concurrency"], _progress(before, bar), stop))
        run.refresh_from_db()
        figures = measure(run)
        self._tell(figures, options["json"])
        if run.state != Run.State.FINISHED:
            reasons = [f"Stopped: {stop.reason}"] if stop.reason else []
            reasons += [f"{count} failed: {fault}" for fault, count in figures.faults.items()]
            reasons.append(f"Not finished. Go on with: manage.py run_baseline --resume {run.pk}")
            raise CommandError("\n".join(reasons))

    def _started(self, options: dict[str, Any]) -> Run:
        """A new run as the options describe it. Raises what is wrong with them before anything is stored."""
        if options["price"]:
            raise CommandError("--price has no use without --dry-run. Leave it out.")
        plan = _planned(options)
        asyncio.run(_try_to_open(plan.spec))
        run = start_run(plan)
        for reason in sorted(set(plan.left_out.values())):
            names = [name for name, why in plan.left_out.items() if why == reason]
            self.stderr.write(f"Left out, each because {reason}: {', '.join(names)}.")
        if plan.without_samples and isinstance(plan.settings, Reflexion):
            self.stderr.write(
                f"Without samples, so that the first answer with a program counts: {', '.join(plan.without_samples)}."
            )
        return run

    def _tell_cost(self, plan: Plan, price: list[float] | None, as_json: bool) -> None:
        estimates = asyncio.run(estimate(plan))
        known = Price(0, 0) if is_scripted(plan.spec) else Price(*price) if price else None
        if as_json:
            document = {
                "dry_run": True,
                "method": plan.method.name,
                "parameters": asdict(plan.settings),
                "problems": len(plan.problems),
                "attempts": plan.attempts,
                "left_out": list(plan.left_out),
                "estimates": {
                    name: asdict(one) | {"cost_usd": None if known is None else one.cost(known)}
                    for name, one in estimates.items()
                },
            }
            self.stdout.write(json.dumps(document))
            return
        problems, attempts = _counted(len(plan.problems), "problem"), _counted(plan.attempts, "attempt")
        self.stdout.write(f"{plan.method.name} on {problems}, {attempts} each. Nobody was called.")
        rows = [("", "calls", "input tokens", "output tokens", "US dollars")]
        rows += [
            (
                name,
                f"{one.generations:,}",
                f"{one.input_tokens:,}",
                f"{one.output_tokens:,}",
                "unknown" if known is None else f"{one.cost(known):,.2f}",
            )
            for name, one in estimates.items()
        ]
        for line in aligned(rows):
            self.stdout.write(line)
        self.stdout.write(ASSUMED)

    def _tell(self, figures: RunFigures, as_json: bool) -> None:
        if as_json:
            document = {
                "run": figures.run,
                "state": figures.state,
                "total": figures.total,
                "done": figures.done,
                "failed": figures.failed,
                "solved": figures.solved,
                "generations": figures.generations,
                "tokens": {t.kind: None if t.unknown else t.known for t in figures.tokens},
            }
            self.stdout.write(json.dumps(document))
            return
        self.stdout.write(
            f"{figures.done} of {figures.total} items done, {figures.solved} solved, {figures.failed} failed. "
            f"Figures: manage.py report {figures.run}"
        )


def _in_our_order(name: str) -> str:
    """The method of these parts, in whichever order they are written."""
    parts = sorted(name.split("+"))
    return next((known for known in METHODS if sorted(known.split("+")) == parts), name)


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _planned(options: dict[str, Any]) -> Plan:
    """The run that the options describe. Raises what is wrong with them."""
    if options["like"]:
        given = [
            f"--{name}"
            for name in _OF_NEW_RUNS
            if name not in ("dry_run", "price", "like") and options[name] is not None
        ]
        if given:
            raise CommandError(
                f"A run like another takes everything from it: leave out {', '.join(given)} with --like."
            )
        return plan_like(find_run(options["like"]))
    missing = [f"--{name}" for name in _REQUIRED if not options[name]]
    if missing:
        raise CommandError(f"Missing: {', '.join(missing)} (or --resume RUN to go on with a run).")
    method = METHODS[options["method"]]
    profile = PROFILES[options["profile"]] if options["profile"] else None
    dataset = find_dataset(options["dataset"])
    spec = parse_model_spec(options["model"])
    defaults = profile.settings_for(spec.model) if profile else []
    settings = parse_settings(method.settings, options["set"] or [], defaults)
    return plan_run(
        dataset,
        spec,
        method,
        settings,
        attempts=options["attempts"] or (profile.attempts.get(method.name, 1) if profile else 1),
        profile=profile,
        problem_ids=[name.strip() for name in (options["problems"] or "").split(",") if name.strip()],
        tier=options["tier"] or "",
        limit=options["limit"],
    )


def _resumed(options: dict[str, Any]) -> Run:
    """The run to go on with. Raises what stands against it before anything is changed."""
    given = [f"--{name.replace('_', '-')}" for name in _OF_NEW_RUNS if options[name] is not None]
    if given:
        raise CommandError(f"A run goes on as it began: leave out {', '.join(given)} with --resume.")
    run = find_run(options["resume"])
    asyncio.run(_try_to_open(parse_model_spec(run.model_spec)))
    prepare_resume(run)
    return run


async def _try_to_open(spec: ModelSpec) -> None:
    """Raises ProviderError when the provider lacks its key or address."""
    await open_provider(spec).aclose()


def _progress(before: RunFigures, bar: "tqdm[Any]") -> Progress:
    """Progress that goes on from what was done before and is shown in the bar."""

    def show(progress: Progress) -> None:
        bar.set_postfix(solved=progress.solved, failed=progress.failed, tokens=progress.tokens, refresh=False)
        bar.update(progress.done - bar.n)

    tokens = sum(counted.known for counted in before.tokens if counted.kind in {"input", "output"})
    return Progress(before.done, 0, before.solved, tokens, show)


async def _work(run: Run, concurrency: int, progress: Progress, stop: Stop) -> None:
    """Execute the run; the first Ctrl-C or SIGTERM asks it to stop, the second cancels it."""
    working = asyncio.current_task()
    assert working is not None

    def interrupt() -> None:
        if stop.reason:
            working.cancel()
            return
        stop.ask("interrupted")
        tqdm.write(
            "Waiting for the calls in flight, which are paid for. Once more drops them.", file=sys.stderr
        )

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, interrupt)
    await execute(run, concurrency=concurrency, progress=progress, stop=stop)
