"""manage.py run_baseline: run a method with a model over a dataset, or resume a run."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, fields, replace
from typing import Any, get_args

from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmark.management import model_options
from benchmark.management.arguments import add_failures, day, find_dataset, find_run, listed_ids, positive
from benchmark.management.run_progress import execute_run, run_bar
from benchmark.methods import (
    METHODS,
    PROFILES,
    Method,
    ReflexionSettings,
    SettingsError,
    format_value,
    parse_settings,
)
from benchmark.model_calls import IN_BATCHES, Price, Spending, Stop, catalogue
from benchmark.model_calls.catalogue import CatalogueError
from benchmark.models import LanguageModel, Run, RunTutor
from benchmark.models.finishes import finish_warnings
from benchmark.models.problems import Tier
from benchmark.providers import (
    ModelSpec,
    ModelSpecError,
    Parameters,
    ProviderError,
    parse_model_spec,
    price_factor,
)
from benchmark.reports import RunFigures, run_report
from benchmark.reports.draws import replay_note
from benchmark.reports.formatting import format_broken_calls, format_epochs, format_spent_money
from benchmark.runner import (
    RUN_ASSUMPTIONS,
    TUTOR_ASSUMPTIONS,
    CannotRunError,
    Draws,
    Estimate,
    QueueUnavailableError,
    RunOptions,
    RunPlan,
    RunScope,
    check_own,
    dispatch,
    estimate,
    estimate_from_pilot,
    plan_like,
    plan_run,
    prepare_resume,
    start_run,
)

_OF_NEW_RUNS = (
    "dataset", "model", "method", "profile", "set", "attempts", "epochs", "problems", "tier", "limit", "dry_run",
    "pilot", "like", "draws", "batch",
)  # fmt: skip
_SUMMARIES = "; ".join(f"{profile.name}, {profile.summary}" for profile in PROFILES.values())
_REQUIRED = ("dataset", "model", "method")
_ALL = "all"
_USACO_METHODS = [name for name, method in METHODS.items() if method.in_usaco_paper]
_EACH_ALONE = (
    "Each row is for that method alone; prompts that methods share, for example drafts, are paid for once."
)
_STORED_ARE_FREE = "These numbers include prompts with a stored reply, which is not paid for again."
_BY_PILOT = "Mean and 95 % interval. "
_PILOT_IS_REPEATED = f"{_BY_PILOT}A run of all problems does not pay again for those of the pilot."
_PILOT_IS_FRESH = (
    f"{_BY_PILOT}A run of all problems pays for those of the pilot too, because its draws differ."
)


class Command(BaseCommand):
    help = (
        "Run a method with a model over the problems of a dataset and judge every attempt on the hidden tests. "
        "A method is zero-shot, or retrieval (semantic: a textbook, episodic: solved problems) and reflexion "
        "(corrections with the results of the samples) joined by +; `manage.py methods` lists them with their controls "
        f"and settings. Profiles: {_SUMMARIES}."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dataset", metavar="NAME", help="dataset of the problems")
        parser.add_argument(
            "--model",
            metavar=model_options.MODEL_METAVAR,
            help="a label (manage.py models), or LABEL@VERSION, sets the defaults of the sampling settings",
        )
        parser.add_argument(
            "--method",
            type=_canonical_method_name,
            choices=[*METHODS, _ALL],
            help="a name that manage.py methods lists",
        )
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
            help="independent attempts per problem in each epoch; default: the profile's, or 1",
        )
        parser.add_argument(
            "--epochs",
            type=positive,
            metavar="N",
            help="N passes over all problems, each with its own draws; default: 1",
        )
        parser.add_argument(
            "--draws",
            choices=get_args(Draws),
            help="repeat: prompts with a paid reply get the stored reply; fresh: every prompt is sent again. Default: "
            "repeat, but fresh for the arms (session-…), whose replies must not be those that selected the problems",
        )
        parser.add_argument("--problems", metavar="ID,ID…", help="only these problems")
        parser.add_argument("--tier", choices=Tier.values, help="only problems of this tier")
        parser.add_argument("--limit", type=positive, metavar="N", help="only the first N problems by id")
        parser.add_argument(
            "--dry-run", action="store_true", default=None, help="make no call; print what the run would cost"
        )
        parser.add_argument(
            "--pilot",
            type=positive,
            metavar="N",
            help="run N problems, drawn with a fixed seed, and print what all of them would cost",
        )
        parser.add_argument(
            "--like",
            metavar="RUN",
            help="start a new run with the problems, model, settings and prompts of this one",
        )
        parser.add_argument("--resume", metavar="RUN", help="resume this run; failed items are tried again")
        parser.add_argument(
            "--cutoff",
            type=day,
            metavar="YYYY-MM-DD",
            help="last day of the model's training texts, for the figures; default: the known cutoff of the model",
        )
        add_failures(parser, "wrong; stored with the run and used by its reports and pages")
        model_options.add_budget(parser, "the whole run has")
        model_options.add_limits(
            parser, f"calls in flight; default: 8, with --batch {IN_BATCHES.concurrency:,}"
        )
        parser.add_argument(
            "--batch",
            action="store_true",
            default=None,
            help="send requests in the provider's batches, which are answered within a day at a lower price; --price "
            "stays the price of single calls",
        )
        parser.add_argument(
            "--cancel-batches",
            action="store_true",
            help="with --resume: store the replies there are, and cancel requests without a reply",
        )
        parser.add_argument(
            "--distribute",
            action="store_true",
            default=None,
            help="let the workers on all machines execute the run, and monitor it",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON document to standard output")

    def handle(self, **options: Any) -> None:
        if options["dry_run"] and not options["resume"]:
            with _command_errors():
                self._print_estimates(options)
            return
        with _command_errors():
            run = self._opened(options)
        self.stderr.write(f"Run {run.pk}")
        with run_bar(run) as bar:
            execute_run(run, bar, Stop(), cancel_batches=options["cancel_batches"])
        run.refresh_from_db()
        figures = run_report(run)
        self._print_result(run, figures, options["json"])
        if run.state != Run.State.FINISHED:
            reasons = [f"Stopped: {run.stop_reason}"] if run.stop_reason else []
            reasons += [f"{count} failed: {fault}" for fault, count in figures.faults.items()]
            reasons.append(f"Not finished. Resume with: manage.py run_baseline --resume {run.pk}")
            raise CommandError("\n".join(reasons))
        if figures.rejected:
            raise CommandError(_rejected_text(run, figures))

    def _opened(self, options: dict[str, Any]) -> Run:
        """Return the new or resumed run of the options, with its manifest up to date."""
        if options["cancel_batches"] and not options["resume"]:
            raise CommandError("--cancel-batches needs --resume RUN.")
        run = _resumed(options) if options["resume"] else self._started(options)
        if options["cutoff"]:
            run.manifest["cutoff"] = options["cutoff"].isoformat()
        if options["failures"]:
            run.manifest["failures"] = options["failures"]
        if options["cutoff"] or options["failures"]:
            run.save(update_fields=["manifest"])
        if run.distributed:
            dispatch(run)
        return run

    def _started(self, options: dict[str, Any]) -> Run:
        """Store and return a new run. Raises the errors of invalid options before anything is stored."""
        plan = _planned(options)
        usual = RunOptions(batch=True, limits=IN_BATCHES) if _uses_batches(options) else RunOptions()
        row = plan.stored_model
        run_options = _run_options(options, model_options.with_context(usual, row), plan.spec, row)
        asyncio.run(model_options.try_to_open(plan.spec, batch=run_options.batch))
        if plan.tutor:
            asyncio.run(model_options.try_to_open(plan.tutor.spec))
        run = start_run(plan, run_options)
        for reason in sorted(set(plan.skipped.values())):
            names = [name for name, why in plan.skipped.items() if why == reason]
            self.stderr.write(f"Left out, each because {reason}: {', '.join(names)}.")
        if plan.without_samples and isinstance(plan.settings, ReflexionSettings):
            self.stderr.write(
                f"Without samples; the first answer with a program counts: {', '.join(plan.without_samples)}."
            )
        return run

    def _print_estimates(self, options: dict[str, Any]) -> None:
        plans, batch = _all_planned(options), _uses_batches(options)
        price = model_options.price_of(options, plans[0].spec, row=plans[0].stored_model, batch=batch)
        estimates = asyncio.run(estimate(plans))
        if options["json"]:
            documents = [
                {
                    "dry_run": True,
                    "method": plan.method.name,
                    "parameters": plan.settings.to_json(),
                    "problems": len(plan.problems),
                    "attempts": plan.attempts,
                    "epochs": plan.epochs,
                    "draws": "fresh" if plan.first_draw is None else "repeat",
                    "price": price and asdict(price),
                    "left_out": list(plan.skipped),
                    "batch": batch,
                    "estimates": model_options.estimates_json(found, price),
                    **_tutor_json(plan, found),
                }
                for plan, found in zip(plans, estimates, strict=True)
            ]
            several = {"dry_run": True, "methods": documents}
            self.stdout.write(json.dumps(documents[0] if len(plans) == 1 else several))
            return
        for plan, found in zip(plans, estimates, strict=True):
            problems = _count(len(plan.problems), "problem", "problems")
            attempts = _count(plan.attempts, "attempt", "attempts")
            if plan.epochs > 1:
                attempts += f" in {plan.epochs} epochs"
            batches = f", in batches, {_discount(plan.spec)}" if batch else ""
            self.stdout.write(
                f"{plan.method.name} on {problems}, {attempts} each{batches}. No call was made."
            )
            *table, assumed = model_options.estimates_table(found, price, RUN_ASSUMPTIONS)
            self.stdout.write("\n".join(table))
            if plan.tutor:
                of_tutor = model_options.tutor_estimates(found)
                self.stdout.write(f"Calls to the tutor's model {plan.tutor.spec}:")
                lines = model_options.estimates_table(of_tutor, plan.tutor_price, TUTOR_ASSUMPTIONS)
                self.stdout.write("\n".join(lines))
                if plan.tutor_price:
                    self.stdout.write(f"Price of the tutor's model: {plan.tutor_price.described}.")
        if price:
            self.stdout.write(f"Price: {price.described}.")
        if plans[0].first_draw == 0:
            self.stdout.write(_STORED_ARE_FREE)
        self.stdout.write(assumed if len(plans) == 1 else f"{_EACH_ALONE}\n{assumed}")

    def _print_result(self, run: Run, figures: RunFigures, as_json: bool) -> None:
        price, spent = Price.of_run(run), Spending.of_run(run)
        estimates, reason = _estimates_from_pilot(run)
        tutor = RunTutor.objects.filter(run=run).first()
        if as_json:
            document = {
                "run": figures.run,
                "state": figures.state,
                "batch": run.in_batches,
                "stop_reason": run.stop_reason,
                "total": figures.total,
                "done": figures.done,
                "failed": figures.failed,
                "solved": figures.solved,
                "generations": figures.generations,
                "epochs": figures.epochs,
                "first_draw": figures.first_draw,
                "between_epochs": [asdict(one) for one in figures.between_epochs],
                "replies_repeated": figures.replies_repeated,
                "failures": figures.failures,
                "permanently_failed": figures.rejected,
                "finishes": figures.finishes,
                "tokens": {t.kind: None if t.unknown else t.known for t in figures.tokens},
                "price": price and asdict(price),
                "paid": spent.to_json(price),
            }
            if tutor:
                document["tutor"] = {
                    "model": tutor.model_spec,
                    "price": tutor.price,
                    "paid": Spending.of_run(tutor).to_json(Price.of_run(tutor)),
                }
            if "pilot" in run.manifest:
                document |= {
                    "pilot": run.manifest["pilot"],
                    "estimates": estimates and model_options.estimates_json(estimates, price),
                }
            self.stdout.write(json.dumps(document))
            return
        solved = "" if figures.solved is None else f"{figures.solved} solved, "
        self.stdout.write(
            f"{figures.done} of {figures.total} items done, {solved}{figures.failed} failed. "
            f"Figures: manage.py report {figures.run}"
        )
        for warning in finish_warnings(figures.finishes):
            self.stdout.write(warning)
        self.stdout.write(
            f"Paid for {spent.calls:,} of {_count(figures.generations, 'reply', 'replies')}, "
            f"{format_spent_money(spent.to_json(price))}."
        )
        if tutor:
            paid = Spending.of_run(tutor)
            self.stdout.write(
                f"Tutor {tutor.model_spec}: paid for {_count(paid.calls, 'reply', 'replies')}, "
                f"{format_spent_money(paid.to_json(Price.of_run(tutor)))}."
            )
        for line in (
            format_broken_calls(spent.calls_broken_off),
            replay_note(figures.replies_repeated, figures.generations),
            *format_epochs(figures),
        ):
            if line:
                self.stdout.write(line)
        if "pilot" in run.manifest:
            problems = run.manifest["pilot"]["of_problems"]
            if estimates is None:
                self.stdout.write(f"No estimate: {reason}.")
            else:
                self.stdout.write(f"All {_count(problems, 'problem', 'problems')} would take, by this pilot:")
                by_pilot = _PILOT_IS_FRESH if run.first_draw else _PILOT_IS_REPEATED
                self.stdout.write("\n".join(model_options.estimates_table(estimates, price, by_pilot)))


@contextmanager
def _command_errors() -> Iterator[None]:
    """Turn the errors of a run that cannot start or resume into CommandError."""
    try:
        yield
    except (
        CannotRunError,
        CatalogueError,
        ModelSpecError,
        ProviderError,
        QueueUnavailableError,
        SettingsError,
    ) as error:
        raise CommandError(str(error)) from None


def _rejected_text(run: Run, figures: RunFigures) -> str:
    """Return the message about items that failed permanently."""
    reasons = [f"{count} failed permanently: {fault}" for fault, count in figures.permanent.items()]
    if figures.headline:
        treated = "Counted as wrong" if figures.failures == "wrong" else "Left out of the headline"
        reasons.append(f"{treated} (--failures).")
    reasons.append(f"Send them again with: manage.py run_baseline --resume {run.pk}")
    return "\n".join(reasons)


def _canonical_method_name(name: str) -> str:
    """Return the method with these components, which may be named in any order."""
    parts = sorted(name.split("+"))
    return next((known for known in METHODS if sorted(known.split("+")) == parts), name)


def _tutor_json(plan: RunPlan, found: dict[str, Estimate]) -> dict[str, Any]:
    """Return the estimates of the calls to the tutor's model for --json; empty if the run has no tutor."""
    if plan.tutor is None:
        return {}
    price = plan.tutor_price
    estimates = model_options.estimates_json(model_options.tutor_estimates(found), price)
    return {
        "tutor": {"model": str(plan.tutor.spec), "price": price and asdict(price), "estimates": estimates}
    }


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def _estimates_from_pilot(run: Run) -> tuple[dict[str, Estimate] | None, str]:
    """Return the estimates of a pilot, or None and why it gives none; the reason is blank for another run."""
    if "pilot" not in run.manifest:
        return None, ""
    try:
        return estimate_from_pilot(run), ""
    except ValueError as error:
        return None, str(error)


def _all_planned(options: dict[str, Any]) -> list[RunPlan]:
    """Return the plan of a dry run, or for `--method all` those of the methods of the USACO paper."""
    methods = _USACO_METHODS if options["method"] == _ALL else [options["method"]]
    return [_planned(options | {"method": method}) for method in methods]


def _planned(options: dict[str, Any]) -> RunPlan:
    """Return the plan of a new run. Raises the errors of invalid options."""
    if options["like"]:
        given = [
            f"--{name}"
            for name in _OF_NEW_RUNS
            if name not in ("dry_run", "like", "draws") and options[name] is not None
        ]
        if given:
            raise CommandError(
                f"A run like another one has the same options: leave out {', '.join(given)} with --like."
            )
        return plan_like(find_run(options["like"]), options["draws"] or "repeat")
    missing = [f"--{name}" for name in _REQUIRED if not options[name]]
    if missing:
        raise CommandError(f"Missing: {', '.join(missing)} (or --resume RUN to resume a run).")
    if options["method"] == _ALL:
        raise CommandError("A run has one method; --method all is for --dry-run.")
    method = METHODS[options["method"]]
    profile = PROFILES[options["profile"]] if options["profile"] else None
    dataset = find_dataset(options["dataset"])
    spec, row = catalogue.choose(options["model"])
    defaults = _sampling_settings(row) if row else []
    defaults += profile.settings_for(spec.model, method.name) if profile else []
    settings = parse_settings(method.settings, options["set"] or [], defaults)
    attempts = profile.attempts.get(method.name, 1) if profile else 1
    scope = RunScope(
        attempts=options["attempts"] or attempts,
        epochs=options["epochs"] or 1,
        first_draw=None if (options["draws"] or _default_draws(method)) == "fresh" else 0,
        problem_ids=listed_ids(options["problems"]),
        tier=options["tier"] or "",
        limit=options["limit"],
        pilot=options["pilot"],
    )
    plan = plan_run(dataset, spec, method, settings, scope)
    return replace(plan, profile=profile.record if profile else None, model=row)


def _sampling_settings(row: LanguageModel) -> list[str]:
    """Return the row's sampling parameters as settings of a method: `none` for those that are not sent."""
    names = [field.name for field in fields(Parameters) if field.name != "extra"]
    return [f"{name}={format_value(row.parameters.get(name))}" for name in names]


def _default_draws(method: Method) -> Draws:
    return "fresh" if method.fresh_draws else "repeat"


def _uses_batches(options: dict[str, Any]) -> bool:
    """Return whether the new run sends its requests in batches."""
    return find_run(options["like"]).in_batches if options["like"] else bool(options["batch"])


def _discount(spec: ModelSpec) -> str:
    part = price_factor(spec, batch=True)
    return f"at {part:.0%} of the usual price" if part < 1 else "for which no discount is known"


def _run_options(
    options: dict[str, Any], former: RunOptions, spec: ModelSpec, row: LanguageModel | None
) -> RunOptions:
    """Return the former run options with what the command line sets, and the price."""
    price = model_options.price_of(options, spec, row=row, former=former.price, batch=former.batch)
    return model_options.run_options(options, price, former)


def _resumed(options: dict[str, Any]) -> Run:
    """Return the run, prepared to resume. Raises the errors that prevent it before anything is changed."""
    given = [f"--{name.replace('_', '-')}" for name in _OF_NEW_RUNS if options[name] is not None]
    if given:
        raise CommandError(f"A resumed run keeps its options: leave out {', '.join(given)} with --resume.")
    run = find_run(options["resume"])
    check_own(run)
    if options["cancel_batches"] and not run.in_batches:
        raise CommandError(f"Run {run.pk} has no batches: leave out --cancel-batches.")
    spec = parse_model_spec(run.model_spec)
    asyncio.run(model_options.try_to_open(spec, batch=run.in_batches))
    prepare_resume(run, _run_options(options, RunOptions.of_run(run), spec, run.model))
    return run
