"""Plans of runs: their problems, settings and options, checked before any call is paid for."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from difflib import get_close_matches
from typing import Any, Literal

from django.db import transaction
from pydantic import ValidationError

from benchmark.methods import METHODS, Method, MethodSettings, PlannedRun, TutorModel
from benchmark.model_calls import caps, catalogue
from benchmark.model_calls.budget import Price, RunBudget
from benchmark.model_calls.catalogue import CatalogueError
from benchmark.model_calls.inserts import insert_items
from benchmark.model_calls.ledger import Account
from benchmark.model_calls.pricing import price_for
from benchmark.model_calls.rate_limit import RateLimits
from benchmark.models import Corpus, Dataset, LanguageModel, Problem, Run, RunTutor, TestCase, Verifier
from benchmark.models.metering import MeteredRun
from benchmark.oracles.store import problems_without_oracle
from benchmark.prompts import TemplateError
from benchmark.providers import ModelSpec, Parameters, check_parameters, longest_reply, parse_model_spec
from benchmark.representations import MissingRepresentationError
from benchmark.retrieval import training_part
from benchmark.runner import leases
from benchmark.runner.draws import reserve_draws
from benchmark.runner.judge_workers import judge_workers_run
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
from benchmark.runner.sampling import sampling_of
from judge import ToolMissingError, compiler_version, sandbox_status


class CannotRunError(Exception):
    """A run that cannot start or resume; the message says why and what to do."""


@dataclass(frozen=True)
class RunScope:
    """The size of a run: its problems, attempts and draws. `pilot` bounds the number of problems, drawn at random."""

    attempts: int = 1
    """Independent attempts per problem in each epoch."""
    epochs: int = 1
    first_draw: int | None = 0
    """The draw number of the first epoch; None: fresh draws."""
    problem_ids: Sequence[str] = ()
    tier: str = ""
    limit: int | None = None
    pilot: int | None = None
    former: Mapping[str, Any] | None = None
    """See `PlannedRun.former`."""


@dataclass(frozen=True)
class RunPlan:
    """A valid run before it is stored."""

    dataset: Dataset
    spec: ModelSpec
    method: Method
    settings: MethodSettings
    attempts: int
    """Chains per problem, of all epochs together."""
    problems: tuple[Problem, ...]
    skipped: Mapping[str, str]
    """The ids of chosen problems that cannot be tested, with the reasons."""
    without_samples: tuple[str, ...]
    """The ids of problems whose statement has no sample; Reflexion selects the first answer to them."""
    profile: Mapping[str, Any] | None = None
    """The record of the profile for the manifest."""
    pilot: Pilot | None = None
    epochs: int = 1
    first_draw: int | None = 0
    """None: fresh draws, numbered when the run starts."""
    failures: str = "wrong"
    """How permanent failures count in the headline: as wrong, or excluded."""
    prepared: Mapping[str, Any] = field(default_factory=dict)
    """The record of the method's preparation for the manifest."""
    chains: Mapping[str, int] | None = None
    """Chains of each problem by its id; None: `attempts` of each."""
    model: LanguageModel | None = None
    """The row that a label named. The run has this row, or a version of it with the sampling of the settings."""
    tutor: TutorModel | None = None
    """The model in the role of the tutor; None: the method has no such role."""

    @property
    def sampling(self) -> Parameters:
        """The sampling parameters of all requests."""
        return sampling_of(self.settings, self.model)

    @property
    def stored_model(self) -> LanguageModel | None:
        """The row whose price, context and cutoff apply; None: no row has this model and these parameters."""
        return self.model or catalogue.matching(self.spec, self.sampling)

    @property
    def tutor_price(self) -> Price | None:
        """The price of the tutor's model; None: unknown, or the run has no tutor."""
        if self.tutor is None:
            return None
        row = self.tutor.row or catalogue.matching(self.tutor.spec, self.tutor.parameters)
        return _price_of(self.tutor.spec, row)


def _price_of(spec: ModelSpec, row: LanguageModel | None) -> Price | None:
    """Return the typed price of the row, else the listed one; None: unknown."""
    return price_for(spec, catalogue.typed_price(row) if row else None)


Draws = Literal["repeat", "fresh"]

OPTION_COLUMNS = ("price", "budget", "limits", "distributed")
"""The columns of a run that store its `RunOptions`."""


@dataclass(frozen=True)
class RunOptions:
    """The options of a run that do not affect results; a resumed run may have others."""

    price: Price | None = None
    budget: RunBudget = field(default_factory=RunBudget)
    limits: RateLimits = field(default_factory=RateLimits)
    distributed: bool = False
    batch: bool = False
    """Whether requests are sent in the provider's batches; fixed when the run starts, and stored in its manifest."""

    @classmethod
    def of_run(cls, run: MeteredRun) -> "RunOptions":
        """Return the options with which the run was last executed."""
        common = Price.of_run(run), RunBudget(**run.budget), RateLimits(**run.limits)
        return cls(*common, run.distributed, run.in_batches) if isinstance(run, Run) else cls(*common)

    def apply_to(self, run: MeteredRun) -> None:
        """Set the columns of the row without saving it. Raises CannotRunError for invalid options.

        Options exclude each other, or a budget or spending cap in US dollars needs a price.
        """
        if self.batch and self.distributed:
            raise CannotRunError(
                "--batch and --distribute exclude each other: a batch contains the requests of one process, and no "
                "worker is needed while it waits. Leave one of them out."
            )
        if self.batch and (self.limits.requests_per_minute or self.limits.tokens_per_minute):
            raise CannotRunError(
                "--requests-per-minute and --tokens-per-minute cannot be used with --batch: batches have their own. "
                "--concurrency N makes batches of N requests at most."
            )
        if self.budget.cost is not None and self.price is None:
            raise CannotRunError(
                "--max-cost needs a price: give --price INPUT OUTPUT, in US dollars for a million tokens; none is "
                "listed for this model."
            )
        run.price = asdict(self.price) if self.price else None
        if run.model_spec and (reason := caps.unknown_price(Account.of_run(run))):
            raise CannotRunError(f"{reason[0].upper()}{reason[1:]}.")
        run.budget = {name: bound for name, bound in asdict(self.budget).items() if bound is not None}
        run.limits = self.limits.to_json()
        if isinstance(run, Run):
            run.distributed = self.distributed


def plan_run(
    dataset: Dataset, spec: ModelSpec, method: Method, settings: MethodSettings, scope: RunScope
) -> RunPlan:
    """Return the plan of a run.

    Raises CannotRunError when there is nothing to run or the model's API refuses the sampling parameters, and
    SettingsError when the method refuses the run.
    """
    try:
        check_parameters(spec.provider, settings.parameters)
    except ValueError as error:
        raise CannotRunError(f"{spec}: {error}") from None
    chosen = _choose(dataset, scope)
    reasons = _untestable(dataset, method, settings, chosen)
    testable = tuple(problem for problem in chosen if problem.external_id not in reasons)
    planned = PlannedRun(dataset, spec, settings, testable, scope.attempts, scope.epochs, scope.former)
    prepared = method.prepare(planned)
    settings, reasons = prepared.settings, {**reasons, **prepared.left_out}
    attempts = scope.attempts * scope.epochs
    if prepared.chains is not None:
        attempts = max(prepared.chains.values())
    problems = tuple(problem for problem in chosen if problem.external_id not in reasons)
    skipped = {
        problem.external_id: reasons[problem.external_id]
        for problem in chosen
        if problem.external_id in reasons
    }
    if not problems:
        why = " or ".join(sorted({reason.replace("it ", "", 1) for reason in skipped.values()}))
        why = f"each of the chosen problems {why}" if why else "no problem was chosen"
        raise CannotRunError(f"Nothing to run in {dataset.name}: {why}.")
    _textbook(settings)
    _representations(dataset, spec, settings)
    pilot = choose_pilot(problems, scope.pilot, attempts) if scope.pilot else None
    if pilot:
        problems = tuple(problem for problem in problems if problem.external_id in pilot.problems)
    samples = TestCase.objects.filter(problem__dataset=dataset, origin=TestCase.Origin.SAMPLE)
    sampled = set(samples.order_by().values_list("problem_id", flat=True).distinct())
    return RunPlan(
        dataset,
        spec,
        method,
        settings,
        attempts,
        problems,
        skipped=skipped,
        without_samples=tuple(problem.external_id for problem in problems if problem.pk not in sampled),
        pilot=pilot,
        epochs=scope.epochs,
        first_draw=scope.first_draw,
        prepared=prepared.record,
        chains=prepared.chains,
        tutor=prepared.tutor,
    )


def _untestable(
    dataset: Dataset, method: Method, settings: MethodSettings, chosen: Sequence[Problem]
) -> dict[str, str]:
    """Return the reasons why problems of the dataset cannot be tested, by id. Raises CannotRunError."""
    tests = TestCase.objects.filter(problem__dataset=dataset).order_by()
    with_tests = set(tests.values_list("problem_id", flat=True).distinct())
    reasons = {problem.external_id: "it has no tests" for problem in chosen if problem.pk not in with_tests}
    if (released := suites(dataset, settings)) is not None:
        reasons = {
            problem.external_id: "it has no released suite"
            for problem in chosen
            if problem.external_id not in released
        }
    if method.needs_analysis:
        without = dataset.problems.filter(analysis="").values_list("external_id", flat=True)
        reasons |= dict.fromkeys(without, "it has no analysis")
    if method.needs_outputs:
        reasons |= problems_without_oracle(dataset)
    if method.needs_verifier:
        built = Verifier.objects.exclude(state=Verifier.State.PROGRAMS)
        without = dataset.problems.exclude(verifiers__in=built).values_list("external_id", flat=True)
        reasons |= dict.fromkeys(
            without, f"it has no verifier (manage.py build_verifier --dataset {dataset.name})"
        )
    return reasons | dict.fromkeys(_training_part(dataset, settings), "it is in the part that is searched in")


def start_run(plan: RunPlan, options: RunOptions) -> Run:
    """Store a new run with one pending item for each problem and chain, and return it. Raises CannotRunError.

    The run freezes the row of its model.
    """
    run = Run(
        dataset=plan.dataset,
        method=plan.method.name,
        model_spec=str(plan.spec),
        parameters=plan.settings.to_json(),
        attempts=plan.attempts,
        epochs=plan.epochs,
    )
    options.apply_to(run)
    if options.batch:
        _check_longest_reply(run, plan, options)
    tutor = _planned_tutor(run, plan, options)
    check_judge(plan.settings.language)
    manifest = make_manifest(plan.dataset, plan.spec, plan.method, plan.settings)
    manifest["left_out"] = [{"id": name, "reason": reason} for name, reason in plan.skipped.items()]
    manifest["without_samples"] = plan.without_samples
    manifest["batch"] = options.batch
    manifest["failures"] = plan.failures
    manifest["draws"] = "fresh" if plan.first_draw is None else "repeat"
    if plan.prepared:
        manifest["prepared"] = dict(plan.prepared)
    if plan.profile:
        manifest["profile"] = dict(plan.profile)
    if plan.pilot:
        manifest["pilot"] = plan.pilot.to_json()
    run.manifest = manifest
    with transaction.atomic():
        run.model = _frozen_row(plan.model, plan.spec, plan.sampling)
        if run.model.cutoff:
            manifest["cutoff"] = run.model.cutoff.isoformat()
        run.first_draw = reserve_draws(run.model_spec, run.epochs, plan.first_draw)
        run.save()
        if tutor and plan.tutor:
            tutor.model = _frozen_row(plan.tutor.row, plan.tutor.spec, plan.tutor.parameters)
            tutor.save(force_insert=True)
        insert_items(run, plan.problems, plan.chains)
    return run


def _check_longest_reply(run: Run, plan: RunPlan, options: RunOptions) -> None:
    """Raise CannotRunError if a budget or a cap bounds the cost of batches whose replies have no limit."""
    limited = longest_reply(plan.spec.provider, plan.sampling) is not None
    if not limited and (options.budget.needs_tokens or caps.dollars_left(Account.of_run(run)) is not None):
        raise CannotRunError(
            "--batch with --max-cost, --max-tokens or a spending cap needs a longest reply, because nothing in a "
            "batch can be stopped: give --set max_output_tokens=N."
        )


def _planned_tutor(run: Run, plan: RunPlan, options: RunOptions) -> RunTutor | None:
    """Return the unsaved row of the run's tutor; None without one. Raises CannotRunError for invalid options."""
    if plan.tutor is None:
        return None
    if options.batch:
        raise CannotRunError(
            "--batch is for runs with one model: the requests of student and tutor follow each other. Leave it out."
        )
    tutor = RunTutor(run=run, model_spec=str(plan.tutor.spec), parameters=plan.tutor.parameters.to_json())
    row = plan.tutor.row
    _apply_to_tutor(tutor, options, plan.tutor_price, row.context_tokens if row else None)
    return tutor


def _apply_to_tutor(tutor: RunTutor, options: RunOptions, price: Price | None, context: int | None) -> None:
    """Set price and limits of the tutor's row without saving it. Raises CannotRunError where the price is missing."""
    if options.budget.cost is not None and price is None:
        raise CannotRunError(
            f"--max-cost needs a price of the tutor's model {tutor.model_spec} too. Type one on the model's page."
        )
    tutor.price = asdict(price) if price else None
    tutor.limits = replace(options.limits, context_tokens=context).to_json()
    if reason := caps.unknown_price(Account.of_run(tutor)):
        raise CannotRunError(f"{reason[0].upper()}{reason[1:]}.")


def _frozen_row(row: LanguageModel | None, spec: ModelSpec, parameters: Parameters) -> LanguageModel:
    try:
        return catalogue.frozen_row(row, spec, parameters)
    except CatalogueError as error:
        raise CannotRunError(str(error)) from None


def _choose(dataset: Dataset, scope: RunScope) -> list[Problem]:
    """Return the problems of the scope, sorted by id. Raises CannotRunError for an unknown id."""
    problems = list(dataset.problems.only("external_id", "tier", "dataset").order_by())
    problems.sort(key=lambda problem: problem.external_id)
    if scope.problem_ids:
        known = {problem.external_id for problem in problems}
        for unknown in [wanted for wanted in scope.problem_ids if wanted not in known]:
            near = get_close_matches(unknown, known, n=3)
            hint = f" Did you mean {' or '.join(near)}?" if near else ""
            raise CannotRunError(f"{dataset.name} has no problem {unknown!r}.{hint}")
        problems = [problem for problem in problems if problem.external_id in set(scope.problem_ids)]
    if scope.tier:
        problems = [problem for problem in problems if problem.tier == scope.tier]
    return problems[: scope.limit]


def _training_part(dataset: Dataset, settings: MethodSettings) -> frozenset[str]:
    """Return the ids of the problems that are searched and not tested. Raises CannotRunError."""
    if settings.train is None:
        return frozenset()
    try:
        return training_part(
            dataset.problems.values_list("external_id", "tier"), settings.train, settings.split_seed
        )
    except ValueError as error:
        raise CannotRunError(f"Nothing to run in {dataset.name}: {error}.") from None


def _textbook(settings: MethodSettings) -> dict[str, str] | None:
    """Return the textbook's record for the manifest. Raises CannotRunError without a textbook."""
    try:
        return textbook(settings)
    except Corpus.DoesNotExist as error:
        names = ", ".join(Corpus.objects.values_list("name", flat=True)) or "none yet"
        raise CannotRunError(
            f"{error} There are: {names}. --set textbook=NAME names one, `manage.py import_corpus` makes one "
            "(without a path it loads ours)."
        ) from None


def _representations(dataset: Dataset, spec: ModelSpec, settings: MethodSettings) -> dict[str, str] | None:
    """Return the representations' record for the manifest. Raises CannotRunError when some are missing."""
    try:
        return representations(dataset, spec, settings)
    except MissingRepresentationError as error:
        raise CannotRunError(str(error)) from None


def check_judge(language: str) -> None:
    """Raise CannotRunError where programs in this language cannot be judged, before their replies are paid.

    Where judge workers judge them, their hosts decide.
    """
    if judge_workers_run():
        return
    status = sandbox_status()
    if not status.available:
        raise CannotRunError(f"Programs cannot be judged here: {status.problem}. {status.remedy}")
    try:
        compiler_version(language)
    except ToolMissingError as error:
        raise CannotRunError(str(error)) from None


def plan_like(run: Run, draws: Draws = "repeat") -> RunPlan:
    """Return the plan of a new run with the problems, model, settings, attempts, epochs and failures of this one.

    "repeat" repeats the run's draw numbers too. Raises CannotRunError when the problems, the textbook or the prompts
    have changed since.
    """
    _check_unchanged(run)
    method = METHODS[run.method]
    if suites(run.dataset, method.settings(**run.parameters)) != run.manifest.get("suites"):
        raise CannotRunError(
            f"Suites of {run.dataset.name} were released since run {run.pk} began: start a new run."
        )
    scope = RunScope(
        attempts=run.attempts_per_epoch,
        epochs=run.epochs,
        first_draw=None if draws == "fresh" else run.first_draw,
        problem_ids=list(run.items.filter(chain=0).values_list("problem__external_id", flat=True)),
        # The record of another site names rows of that site.
        former={} if run.source else run.manifest.get("prepared", {}),
    )
    settings = method.settings(**run.parameters)
    plan = plan_run(run.dataset, parse_model_spec(run.model_spec), method, settings, scope)
    plan = replace(plan, profile=run.manifest.get("profile"), failures=run.failures, model=run.model)
    former = RunTutor.objects.select_related("model").filter(run=run).first()
    if former is None:
        return plan
    tutor = TutorModel(
        parse_model_spec(former.model_spec), Parameters.from_json(former.parameters), former.model
    )
    return replace(plan, tutor=tutor)


def _check_unchanged(run: Run) -> None:
    """Raise CannotRunError when the run's problems, textbook or prompts have changed since it began."""
    if run.method not in METHODS:
        raise CannotRunError(
            f"Run {run.pk} uses the method {run.method!r}, which this version does not have."
        )
    method, began = METHODS[run.method], run.manifest
    try:
        settings = method.settings(**run.parameters)
    except ValidationError as error:
        names = ", ".join(sorted({str(one["loc"][0]) for one in error.errors()}))
        raise CannotRunError(
            f"The settings of run {run.pk} are not valid in this version: {names}."
        ) from None
    restore = "Import the former version again, or start a new run."
    if dataset_hash(run.dataset) != began["dataset"]["content_hash"]:
        raise _changed(run, f"The problems of {run.dataset.name}", restore)
    if _textbook(settings) != began.get("textbook"):
        raise _changed(run, f"The textbook {run.parameters['textbook']}", restore)
    generated = _representations(run.dataset, parse_model_spec(run.model_spec), settings)
    if generated != began.get("representations"):
        raise _changed(run, f"The representations by {run.model_spec}", "Start a new run.")
    try:
        now_used = template_hashes(method, settings)
    except TemplateError as error:
        raise CannotRunError(f"The prompts of run {run.pk} cannot be read: {error}") from None
    # A template that was added since is not a change: the run's prompts did not use it.
    changed = sorted(name for name, digest in began["templates"].items() if now_used.get(name) != digest)
    if changed:
        raise CannotRunError(
            f"Prompt templates changed since run {run.pk} began: {', '.join(changed)}. "
            "Restore the version it began with, or start a new run."
        )


def _changed(run: Run, subject: str, remedy: str) -> CannotRunError:
    return CannotRunError(
        f"{subject} changed since run {run.pk} began, so its results would not be comparable. {remedy}"
    )


def check_own(run: Run) -> None:
    """Raise CannotRunError for an imported run, whose record must not change."""
    if run.source:
        raise CannotRunError(
            f"Run {run.pk} was imported from {run.source['site']}; its record does not change here. "
            f"`run_baseline --like {run.pk}` starts a run of this site with the same problems, settings and prompts."
        )


def prepare_resume(run: Run, options: RunOptions) -> None:
    """Make everything that is not done pending again, failed items included. Raises CannotRunError.

    The run must have the problems and prompts it began with. Another version of the program or of the compiler is
    allowed and recorded in the manifest. An imported run cannot be resumed. The tutor's model gets the limits of the
    options, and its price if it had none.
    """
    check_own(run)
    _check_unchanged(run)
    began = run.manifest
    check_judge(run.parameters["language"])
    now = environment(run.parameters["language"])
    with transaction.atomic():
        leases.release_lost(run.pk)
        leases.retry_failed(run)
        if now != began.get("continued_in", [began["environment"]])[-1]:
            began["continued_in"] = [*began.get("continued_in", []), now]
        options.apply_to(run)
        run.state, run.finished_at, run.stop_reason = Run.State.OPEN, None, ""
        run.save(update_fields=["manifest", "state", "finished_at", "stop_reason", *OPTION_COLUMNS])
        if tutor := RunTutor.objects.select_related("model").filter(run=run).first():
            price = Price.of_run(tutor) or _price_of(parse_model_spec(tutor.model_spec), tutor.model)
            _apply_to_tutor(tutor, options, price, tutor.limits.get("context_tokens"))
            tutor.save(update_fields=["price", "limits"])
