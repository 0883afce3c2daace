"""Deciding what a run consists of, before anything is paid for."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from difflib import get_close_matches
from typing import Any, Literal

from django.db import transaction

from benchmark.methods import METHODS, Method, Sampling
from benchmark.model_calls.budget import Budget, Price
from benchmark.model_calls.inserts import insert_items
from benchmark.model_calls.rate_limit import Limits
from benchmark.models import Corpus, Dataset, Problem, Run, TestCase, Verifier
from benchmark.models.metering import PaidRun
from benchmark.oracles.store import problems_without_oracle
from benchmark.prompts import TemplateError
from benchmark.providers import ModelSpec, parse_model_spec
from benchmark.representations import NotRepresented
from benchmark.retrieval import training_part
from benchmark.runner import leases
from benchmark.runner.draws import take_draws
from benchmark.runner.manifest import (
    dataset_hash,
    environment,
    make_manifest,
    representations,
    suites,
    template_hashes,
    textbook,
)
from benchmark.runner.pilot import Pilot, choose_pilot
from judge import ToolMissing, compiler_version, sandbox_status


class CannotRun(Exception):
    """The run cannot start or go on; the message says why and what to do."""


@dataclass(frozen=True)
class Plan:
    """A run as it was asked for, checked but not yet stored."""

    dataset: Dataset
    spec: ModelSpec
    method: Method
    settings: Sampling
    attempts: int
    """Chains a problem, of all epochs together."""
    profile: Mapping[str, Any] | None
    """What the manifest says of the profile."""
    problems: tuple[Problem, ...]
    left_out: Mapping[str, str]
    """Ids of chosen problems that cannot be tested, with the reasons."""
    without_samples: tuple[str, ...]
    """Ids of the problems whose statement has no sample; Reflexion takes the first answer to them."""
    pilot: Pilot | None = None
    epochs: int = 1
    first_draw: int | None = 0
    """None: fresh draws, numbered when the run starts."""
    failures: str = "wrong"
    """How permanent failures count in the headline: as wrong, or excluded."""


Draws = Literal["repeat", "fresh"]

TERMS = ("price", "budget", "limits", "distributed")
"""The columns of a run that `Terms` are kept in."""


@dataclass(frozen=True)
class Terms:
    """How a run is carried out; nothing of it touches a result, so a resumed run may have others."""

    price: Price | None = None
    budget: Budget = field(default_factory=Budget)
    limits: Limits = field(default_factory=Limits)
    distributed: bool = False
    batch: bool = False
    """Questions are handed to the provider in batches; a run does so from its start or never, as its manifest says."""

    @classmethod
    def of_run(cls, run: PaidRun) -> "Terms":
        """As the run was carried out last."""
        means = Price.of_run(run), Budget(**run.budget), Limits(**run.limits)
        return cls(*means, run.distributed, run.in_batches) if isinstance(run, Run) else cls(*means)

    def apply_to(self, run: PaidRun) -> None:
        """Write them into the row, which is not saved. Raises CannotRun for terms that do not go together."""
        if self.batch and self.distributed:
            raise CannotRun(
                "--batch and --distribute exclude each other: a batch is made of the questions of one process, and "
                "while it waits no worker is needed. Leave one of them out."
            )
        if self.batch and (self.limits.requests_per_minute or self.limits.tokens_per_minute):
            raise CannotRun(
                "--requests-per-minute and --tokens-per-minute have no use with --batch: batches have limits of their "
                "own. --concurrency N makes batches of N questions at most."
            )
        if self.budget.cost is not None and self.price is None:
            raise CannotRun(
                "--max-cost needs a price: give --price INPUT OUTPUT, in US dollars for a million tokens; none is "
                "listed for this model."
            )
        run.price = asdict(self.price) if self.price else None
        run.budget = {name: bound for name, bound in asdict(self.budget).items() if bound is not None}
        run.limits = self.limits.to_json()
        if isinstance(run, Run):
            run.distributed = self.distributed


def plan_run(
    dataset: Dataset,
    spec: ModelSpec,
    method: Method,
    settings: Sampling,
    *,
    attempts: int = 1,
    epochs: int = 1,
    first_draw: int | None = 0,
    profile: Mapping[str, Any] | None = None,
    problem_ids: Sequence[str] = (),
    tier: str = "",
    limit: int | None = None,
    pilot: int | None = None,
) -> Plan:
    """Return the plan of a run with so many attempts a problem in each epoch, over `pilot` problems at most.

    `first_draw` None asks for fresh draws. Raises CannotRun when there is nothing to run.
    """
    chosen = _choose(dataset, problem_ids, tier, limit)
    tests = TestCase.objects.filter(problem__dataset=dataset).order_by()
    judgeable = set(tests.values_list("problem_id", flat=True).distinct())
    sampled = set(tests.filter(origin=TestCase.Origin.SAMPLE).values_list("problem_id", flat=True).distinct())
    left_out = {problem.external_id: "it has no tests" for problem in chosen if problem.pk not in judgeable}
    if (tested := suites(dataset, settings)) is not None:
        left_out = {
            problem.external_id: "it has no released suite"
            for problem in chosen
            if problem.external_id not in tested
        }
    if method.needs_analysis:
        without = dataset.problems.filter(analysis="").values_list("external_id", flat=True)
        left_out |= dict.fromkeys(without, "it has no analysis")
    if method.needs_outputs:
        left_out |= problems_without_oracle(dataset)
    if method.needs_verifier:
        built = Verifier.objects.exclude(state=Verifier.State.PROGRAMS)
        without = dataset.problems.exclude(verifiers__in=built).values_list("external_id", flat=True)
        left_out |= dict.fromkeys(
            without, f"it has no verifier (manage.py build_verifier --dataset {dataset.name})"
        )
    left_out |= dict.fromkeys(_training_part(dataset, settings), "it is in the part that is searched in")
    problems = tuple(problem for problem in chosen if problem.external_id not in left_out)
    left_out = {
        problem.external_id: left_out[problem.external_id]
        for problem in chosen
        if problem.external_id in left_out
    }
    if not problems:
        reasons = {reason.replace("it ", "", 1) for reason in left_out.values()}
        why = (
            f"each of the chosen problems {' or '.join(sorted(reasons))}"
            if reasons
            else "no problem was chosen"
        )
        raise CannotRun(f"Nothing to run in {dataset.name}: {why}.")
    _textbook(settings)
    _representations(dataset, spec, settings)
    tried = choose_pilot(problems, pilot, attempts * epochs) if pilot else None
    if tried:
        problems = tuple(problem for problem in problems if problem.external_id in tried.problems)
    return Plan(
        dataset,
        spec,
        method,
        settings,
        attempts * epochs,
        profile,
        problems,
        left_out=left_out,
        without_samples=tuple(problem.external_id for problem in problems if problem.pk not in sampled),
        pilot=tried,
        epochs=epochs,
        first_draw=first_draw,
    )


def start_run(plan: Plan, terms: Terms) -> Run:
    """A new run with one pending item for each problem and chain. Raises CannotRun."""
    run = Run(
        dataset=plan.dataset,
        method=plan.method.name,
        model_spec=str(plan.spec),
        parameters=asdict(plan.settings),
        attempts=plan.attempts,
        epochs=plan.epochs,
    )
    terms.apply_to(run)
    check_judge(plan.settings.language)
    manifest = make_manifest(plan.dataset, plan.spec, plan.method, plan.settings)
    manifest["left_out"] = [{"id": name, "reason": reason} for name, reason in plan.left_out.items()]
    manifest["without_samples"] = plan.without_samples
    manifest["batch"] = terms.batch
    manifest["failures"] = plan.failures
    if plan.profile:
        manifest["profile"] = dict(plan.profile)
    if plan.pilot:
        manifest["pilot"] = plan.pilot.to_json()
    run.manifest = manifest
    with transaction.atomic():
        run.first_draw = take_draws(run.model_spec, run.epochs, plan.first_draw)
        run.save()
        insert_items(run, plan.problems)
    return run


def _choose(dataset: Dataset, problem_ids: Sequence[str], tier: str, limit: int | None) -> list[Problem]:
    problems = list(dataset.problems.only("external_id", "tier", "dataset").order_by())
    problems.sort(key=lambda problem: problem.external_id)
    if problem_ids:
        known = {problem.external_id for problem in problems}
        for unknown in [wanted for wanted in problem_ids if wanted not in known]:
            near = get_close_matches(unknown, known, n=3)
            hint = f" Did you mean {' or '.join(near)}?" if near else ""
            raise CannotRun(f"{dataset.name} has no problem {unknown!r}.{hint}")
        problems = [problem for problem in problems if problem.external_id in set(problem_ids)]
    if tier:
        problems = [problem for problem in problems if problem.tier == tier]
    return problems[:limit]


def _training_part(dataset: Dataset, settings: Sampling) -> frozenset[str]:
    """The ids of the problems that are searched in and not tested. Raises CannotRun."""
    if settings.train is None:
        return frozenset()
    try:
        return training_part(
            dataset.problems.values_list("external_id", "tier"), settings.train, settings.split_seed
        )
    except ValueError as error:
        raise CannotRun(f"Nothing to run in {dataset.name}: {error}.") from None


def _textbook(settings: Sampling) -> dict[str, str] | None:
    """What the manifest says of the textbook; refuses to pay for drafts that there is nothing to search with."""
    try:
        return textbook(settings)
    except Corpus.DoesNotExist as error:
        names = ", ".join(Corpus.objects.values_list("name", flat=True)) or "none yet"
        raise CannotRun(
            f"{error} There are: {names}. --set textbook=NAME names one, `manage.py import_corpus` makes one "
            "(without a path it loads ours)."
        ) from None


def _representations(dataset: Dataset, spec: ModelSpec, settings: Sampling) -> dict[str, str] | None:
    """What the manifest says of the representations; refuses to search in some of them only."""
    try:
        return representations(dataset, spec, settings)
    except NotRepresented as error:
        raise CannotRun(str(error)) from None


def check_judge(language: str) -> None:
    """Raises CannotRun where programs in this language cannot be judged: nobody is to pay for their replies."""
    status = sandbox_status()
    if not status.available:
        raise CannotRun(f"Programs cannot be judged here: {status.problem}. {status.remedy}")
    try:
        compiler_version(language)
    except ToolMissing as error:
        raise CannotRun(str(error)) from None


def plan_like(run: Run, draws: Draws = "repeat") -> Plan:
    """Return the plan of a new run like this one: problems, model, settings, attempts, epochs and choice of failures.

    "repeat" gives it the draw numbers of the run too. Raises CannotRun when the problems, the textbook or the prompts
    are not those the run had.
    """
    _check_unchanged(run)
    method = METHODS[run.method]
    if suites(run.dataset, method.settings(**run.parameters)) != run.manifest.get("suites"):
        raise CannotRun(
            f"Suites of {run.dataset.name} were released since run {run.pk} began: start a new run."
        )
    plan = plan_run(
        run.dataset,
        parse_model_spec(run.model_spec),
        method,
        method.settings(**run.parameters),
        attempts=run.attempts_per_epoch,
        epochs=run.epochs,
        first_draw=None if draws == "fresh" else run.first_draw,
        profile=run.manifest.get("profile"),
        problem_ids=list(run.items.filter(chain=0).values_list("problem__external_id", flat=True)),
    )
    return replace(plan, failures=run.failures)


def _check_unchanged(run: Run) -> None:
    """Raises CannotRun when the run's problems, textbook or prompts are no longer what they were."""
    if run.method not in METHODS:
        raise CannotRun(f"Run {run.pk} uses the method {run.method!r}, which this version does not have.")
    began = run.manifest
    if dataset_hash(run.dataset) != began["dataset"]["content_hash"]:
        raise CannotRun(
            f"The problems of {run.dataset.name} changed since run {run.pk} began, so its results would not "
            "belong together. Import the former version again, or start a new run."
        )
    if _textbook(METHODS[run.method].settings(**run.parameters)) != began.get("textbook"):
        raise CannotRun(
            f"The textbook {run.parameters['textbook']} changed since run {run.pk} began, so its results would not "
            "belong together. Import the former version again, or start a new run."
        )
    settings = METHODS[run.method].settings(**run.parameters)
    written = _representations(run.dataset, parse_model_spec(run.model_spec), settings)
    if written != began.get("representations"):
        raise CannotRun(
            f"The representations by {run.model_spec} changed since run {run.pk} began, so its results would not "
            "belong together. Start a new run."
        )
    try:
        now_used = template_hashes(METHODS[run.method], METHODS[run.method].settings(**run.parameters))
    except TemplateError as error:
        raise CannotRun(f"The prompts of run {run.pk} cannot be read: {error}") from None
    # A template that was added since is no change: the run's prompts so far did without it.
    changed = sorted(name for name, digest in began["templates"].items() if now_used.get(name) != digest)
    if changed:
        raise CannotRun(
            f"Prompt templates changed since run {run.pk} began: {', '.join(changed)}. "
            "Go back to the version it began with, or start a new run."
        )


def prepare_resume(run: Run, terms: Terms) -> None:
    """Make everything that is not done pending again, failed items included. Raises CannotRun.

    A run only goes on with the problems and prompts it began with. Another version of the program or of the
    compiler is allowed and noted in the manifest.
    """
    _check_unchanged(run)
    began = run.manifest
    check_judge(run.parameters["language"])
    now = environment(run.parameters["language"])
    with transaction.atomic():
        leases.free_lost(run.pk)
        leases.retry_failed(run)
        if now != began.get("continued_in", [began["environment"]])[-1]:
            began["continued_in"] = [*began.get("continued_in", []), now]
        terms.apply_to(run)
        run.state, run.finished_at, run.stop_reason = Run.State.OPEN, None, ""
        run.save(update_fields=["manifest", "state", "finished_at", "stop_reason", *TERMS])
