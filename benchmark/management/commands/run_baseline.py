"""manage.py run_baseline: carry out a method with a model over a dataset, or go on with a run."""

import asyncio
import json
import signal
import sys
from contextlib import suppress
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from tqdm import tqdm

from benchmark.management.arguments import find_dataset, find_run, positive
from benchmark.methods import METHODS, SettingsError, parse_settings
from benchmark.models import Run
from benchmark.models.problems import Tier
from benchmark.providers import ModelSpec, ModelSpecError, ProviderError, open_provider, parse_model_spec
from benchmark.reports import RunFigures, measure
from benchmark.runner import CannotRun, Progress, Stop, execute, prepare_resume, start_run

_OF_NEW_RUNS = ("dataset", "model", "method", "set", "attempts", "problems", "tier", "limit")
_REQUIRED = ("dataset", "model", "method")


class Command(BaseCommand):
    help = (
        "Run a method with a model over the problems of a dataset and judge every attempt on the hidden tests. "
        f"Methods: {' '.join(f'{method.name}: {method.summary}' for method in METHODS.values())}"
    )

    requires_system_checks = []  # it shows no page, so it need not load them

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dataset", metavar="NAME")
        parser.add_argument("--model", metavar="PROVIDER:MODEL")
        parser.add_argument("--method", choices=METHODS)
        parser.add_argument(
            "--set", nargs="+", action="extend", metavar="NAME=VALUE", help="settings of the method"
        )
        parser.add_argument(
            "--attempts", type=positive, metavar="N", help="independent attempts a problem; default: 1"
        )
        parser.add_argument("--problems", metavar="ID,ID…", help="only these problems")
        parser.add_argument("--tier", choices=Tier.values)
        parser.add_argument("--limit", type=positive, metavar="N", help="only the first N problems by id")
        parser.add_argument(
            "--resume", metavar="RUN", help="go on with this run; failed items are tried again"
        )
        parser.add_argument(
            "--concurrency", type=positive, default=8, metavar="N", help="calls in flight; default: 8"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON document on standard output")

    def handle(self, **options: Any) -> None:
        try:
            run = _resumed(options) if options["resume"] else _started(options)
        except (CannotRun, ModelSpecError, ProviderError, SettingsError) as error:
            raise CommandError(str(error)) from None
        for left_out in run.manifest["left_out"]:
            self.stderr.write(f"Left out: {left_out['id']}, because {left_out['reason']}.")
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


def _started(options: dict[str, Any]) -> Run:
    """A new run as the options describe it. Raises what is wrong with them before anything is stored."""
    missing = [f"--{name}" for name in _REQUIRED if not options[name]]
    if missing:
        raise CommandError(f"Missing: {', '.join(missing)} (or --resume RUN to go on with a run).")
    method = METHODS[options["method"]]
    dataset = find_dataset(options["dataset"])
    spec = parse_model_spec(options["model"])
    settings = parse_settings(method.settings, options["set"] or [])
    asyncio.run(_try_to_open(spec))
    return start_run(
        dataset,
        spec,
        method,
        settings,
        attempts=options["attempts"] or 1,
        problem_ids=[name.strip() for name in (options["problems"] or "").split(",") if name.strip()],
        tier=options["tier"] or "",
        limit=options["limit"],
    )


def _resumed(options: dict[str, Any]) -> Run:
    """The run to go on with. Raises what stands against it before anything is changed."""
    given = [f"--{name}" for name in _OF_NEW_RUNS if options[name] is not None]
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
