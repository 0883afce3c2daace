"""The figures of one run, from a number of queries that does not depend on its size.

An attempt is a finished work item: its program was judged, or its reply held none (NO_CODE, not solved). In a refine
run every reply of a chain is an attempt. Items that failed because of the provider or the judge are not attempts and
are listed separately. Items that failed permanently are planned chains without an answer: the headline counts them as
wrong or leaves them out (`failures`), and reports show both figures.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from django.db.models import Count

from benchmark.methods import METHODS, Scoring, scoring_of
from benchmark.metrics import TooFewAttemptsError
from benchmark.model_calls import Price
from benchmark.models import Problem, Run, Verifier, WorkItem
from benchmark.models.finishes import counted, finish_kind, finish_terms, finish_warnings
from benchmark.reports.cutoffs import cutoff_of
from benchmark.reports.draws import BetweenEpochs, between_epochs, count_repeated, replay_note
from benchmark.reports.groups import (
    ChainOutcome,
    GroupFigures,
    PassAtK,
    ProblemFacts,
    ScoreRules,
    group_figures,
)
from benchmark.reports.memory import MemoryScore, run_memory
from benchmark.reports.published_tables import PublishedRow, comparable_rows
from benchmark.reports.refinement.curves import Refinement
from benchmark.reports.refinement.runs import attempts_allowed, chains_of
from benchmark.reports.run_metrics import measure_metrics
from benchmark.reports.steps import AfterReflections, after_reflections
from benchmark.reports.usage import Tokens, measure_usage, replies_of
from judge import Verdict


@dataclass(frozen=True)
class RunFigures:
    """All figures of a run, as reports show them. `groups[0]` is all problems.

    `scoring` names the scores: "pass" (pass@k), "refine" (Refine@k) or "none" (a run that builds verifiers: `solved` is
    None, and `verifiers` counts them by state). `verdicts` counts finished chains; for a refine run these are verdicts
    of last attempts. `failed` items include those that failed permanently, which `permanent` counts by reason;
    `failures` says how these count in the headline, and `failures_stored` whether the run has a stored choice.
    `finishes` counts the replies by how they ended (`benchmark.models.finishes`). The usage is as in
    `benchmark.reports.usage.Usage`. `replies_repeated` counts replies that repeat a paid reply of another run.
    `models_returned` are the model names in the provider's replies, `after` the scores after fewer reflections,
    `metrics` the values of `benchmark.reports.run_metrics`, `memory` the scores of memory probes of the run's problems
    by its model, for each side of the cutoff. `near_limit` counts the verdicts that a slightly different time would
    have changed, `time_factors` are the factors of the time limits besides those of languages. `rejudged` is the day of
    the last rejudging that replaced verdicts, or blank.
    """

    run: str
    dataset: str
    model: str
    method: str
    parameters: dict[str, Any]
    state: str
    total: int
    done: int
    failed: int
    solved: int | None
    scoring: Scoring
    failures: str
    failures_stored: bool
    permanent: dict[str, int]
    verifiers: dict[str, int]
    samples_only: int
    cutoff: date | None
    groups: tuple[GroupFigures, ...]
    verdicts: dict[str, int]
    generations: int
    finishes: dict[str, int]
    tokens: tuple[Tokens, ...]
    seconds: float
    wall_seconds: float | None
    price: Price | None
    cost: float | None
    cost_at_least: bool
    calls_broken_off: int
    epochs: int
    first_draw: int
    between_epochs: tuple[BetweenEpochs, ...]
    replies_repeated: int
    faults: dict[str, int]
    published: tuple[PublishedRow, ...]
    models_returned: tuple[str, ...]
    after: tuple[AfterReflections, ...]
    metrics: dict[str, float]
    manifest: dict[str, Any]
    memory: tuple[MemoryScore, ...] = ()
    near_limit: int = 0
    time_factors: tuple[float, ...] = ()
    rejudged: str = ""

    def memory_of(self, group: GroupFigures) -> MemoryScore | None:
        """Return the score of the memory probes of a group by cutoff; None for other groups and without probes."""
        found = (one for one in self.memory if group.by == "cutoff" and one.group == group.name)
        return next(found, None)

    @property
    def complete(self) -> bool:
        """Return whether every item is done or failed permanently, so that the figures are final."""
        return self.done + self.rejected == self.total

    @property
    def rejected(self) -> int:
        """Return the number of items that failed permanently."""
        return sum(self.permanent.values())

    @property
    def headline(self) -> PassAtK | None:
        """Return the main score, pass@1 or Refine@K over all problems; None for a run without attempts."""
        return self.groups[0].headline

    def figure_name(self, k: int) -> str:
        """Return the name of the score for k attempts: "pass@1" or "Refine@5"."""
        return f"{'Refine' if self.scoring == 'refine' else 'pass'}@{k}"

    @property
    def depends_on(self) -> dict[str, Any]:
        """Return what the result depends on: parameters, the returned model names, draw numbers and the manifest."""
        return {
            "parameters": self.parameters,
            "models_returned": list(self.models_returned),
            "draw_numbers": list(range(self.first_draw, self.first_draw + self.epochs)),
            **self.manifest,
        }

    @property
    def warnings(self) -> list[str]:
        """Return the sentences that readers need before they use the figures."""
        method = METHODS.get(self.method)
        return [
            *([method.warning] if method and method.warning else []),
            *self._completeness_warnings(),
            *finish_warnings(self.finishes),
            *self._score_warnings(),
            *self._model_warnings(),
        ]

    def _completeness_warnings(self) -> list[str]:
        """Return the warnings about items that are not done and items that failed permanently."""
        warnings = []
        if not self.complete:
            rest = f", and {self.rejected} failed permanently" if self.rejected else ""
            warnings.append(
                f"Incomplete: {self.done:,} of {self.total:,} items are done{rest}; the figures are of those only."
            )
        if self.rejected:
            warnings += self._failure_warnings()
        return warnings

    def _failure_warnings(self) -> list[str]:
        """Return the number of items that failed permanently and, if there is a headline, how it counts them."""
        items = f"{self.rejected:,} of {self.total:,} items"
        failed = f"{items} failed permanently, because the provider rejected the request"
        if self.headline is None:
            return [f"{failed}."]
        treated = (
            "they count as wrong (--failures excluded leaves them out)"
            if self.failures == "wrong"
            else "they are left out (--failures wrong counts them as wrong)"
        )
        assumed = "The run stores no choice of --failures; its headline assumes wrong."
        return [f"{failed}: {treated}.", *([] if self.failures_stored else [assumed])]

    def _score_warnings(self) -> list[str]:
        """Return the warnings about restarts, repeated replies, missing hidden tests and training cutoffs."""
        warnings = []
        if self.scoring == "refine" and int(self.parameters.get("g", 1)) > 1:
            warnings.append(
                f"Refine@k counts the first of up to {self.parameters['g']} starts of a chain; solved attempts are of "
                "all starts."
            )
        if self.near_limit:
            warnings.append(
                f"{self.near_limit} of {self.done} verdicts are near the time limit: a slightly faster or slower "
                "machine may give another verdict."
            )
        if len(self.time_factors) > 1:
            factors = ", ".join(f"{factor:.2f}" for factor in self.time_factors)
            warnings.append(f"Machines of different speeds judged the run, with time factors {factors}.")
        if self.rejudged:
            warnings.append(
                f"A rejudging replaced verdicts on {self.rejudged}. Prompts and the choices of chains are those under "
                "the former verdicts."
            )
        if replay := replay_note(self.replies_repeated, self.generations):
            warnings.append(replay)
        if self.samples_only:
            warnings.append(
                f"{self.samples_only} of {self.done} attempts were judged on samples only: no hidden tests known."
            )
        seen = sum(group.problems for group in self.groups if (group.by, group.name) == ("cutoff", "before"))
        if seen:
            warnings.append(
                f"The model may have read {seen} of {self.groups[0].problems} problems: they are from contests "
                f"until its cutoff, {self.cutoff}."
            )
        return warnings

    def _model_warnings(self) -> list[str]:
        """Return the warnings about scripted replies, several models and a changed environment."""
        warnings = []
        if self.manifest.get("scripted_model"):
            warnings.append("The model's replies are scripted: these figures say nothing about any model.")
        if len(self.models_returned) > 1:
            warnings.append(f"The provider answered with several models: {', '.join(self.models_returned)}.")
        if self.manifest.get("continued_in"):
            warnings.append(
                "The run was continued with another version of the program or the machine; see its manifest."
            )
        return warnings


def measure(
    run: Run,
    ks: Sequence[int] = (1,),
    *,
    cutoff: date | None = None,
    usual_price: Price | None = None,
    failures: str = "",
) -> RunFigures:
    """Return the figures of the run in its present state.

    `cutoff`, `usual_price` (as in `measure_usage`) and `failures` override what the run stores and what is known of the
    model. `ks` are for pass@k; a refine run always has Refine@1 … Refine@K. Raises TooFewAttemptsError for a k above
    the run's attempts per problem.
    """
    rules = _score_rules(run, ks, failures or run.failures)
    facts = _facts(run)
    items = _read_items(run, rules.scoring, facts)
    usage = measure_usage(run, usual_price)
    models, finishes = _replies(run)
    cutoff = cutoff or _known_cutoff(run, models)
    return RunFigures(
        run=str(run.pk),
        dataset=run.dataset.name,
        model=run.model_spec,
        method=run.method,
        parameters=run.parameters | {"attempts": run.attempts},
        state=run.state,
        total=items.total,
        done=items.done,
        failed=items.faults.total(),
        solved=None if rules.scoring == "none" else items.verdicts[Verdict.AC],
        scoring=rules.scoring,
        failures=rules.failures,
        failures_stored="failures" in run.manifest,
        permanent=dict(items.permanent.most_common()),
        verifiers=_verifiers(run) if rules.scoring == "none" else {},
        samples_only=items.samples_only,
        cutoff=cutoff,
        groups=group_figures(
            {problem: fact for problem, fact in facts.items() if problem in items.problems},
            {problem: list(chains.values()) for problem, chains in items.outcomes.items()},
            rules,
            cutoff,
        ),
        verdicts={verdict.value: items.verdicts[verdict] for verdict in Verdict if items.verdicts[verdict]},
        finishes=finishes,
        **vars(usage),
        epochs=run.epochs,
        first_draw=run.first_draw,
        between_epochs=between_epochs(run, rules, items.outcomes),
        # A run that has paid for all of its replies repeats none.
        replies_repeated=count_repeated(run) if run.paid_calls < usage.generations else 0,
        faults=dict(items.faults.most_common()),
        published=tuple(comparable_rows(run)),
        models_returned=models,
        after=after_reflections(run, rules.failures),
        metrics=measure_metrics(items.outcomes, rules),
        manifest=run.manifest,
        memory=run_memory(run, cutoff),
        near_limit=items.near_limit,
        time_factors=tuple(sorted(items.time_factors)),
        rejudged=f"{run.rejudged_at:%Y-%m-%d}" if run.rejudged_at else "",
    )


@dataclass
class _ItemCounts:
    """The counts of a run's items, and the outcome of each chain by problem and number of the chain.

    `problems` are those with an item. `faults` counts failed items by reason, `permanent` permanently failed ones.
    """

    total: int = 0
    done: int = 0
    samples_only: int = 0
    problems: set[int] = field(default_factory=set)
    outcomes: dict[int, dict[int, ChainOutcome]] = field(default_factory=lambda: defaultdict(dict))
    verdicts: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    permanent: Counter[str] = field(default_factory=Counter)
    near_limit: int = 0
    time_factors: set[float] = field(default_factory=set)


def _read_items(run: Run, scoring: Scoring, facts: Mapping[int, ProblemFacts]) -> _ItemCounts:
    """Count the items of the run, from one query and one more for a refine run."""
    chains = chains_of(run) if scoring == "refine" else {}
    by_suites = run.parameters.get("tests") == "suite"
    counts = _ItemCounts()
    rows = run.items.order_by("chain").values_list(
        "pk",
        "state",
        "fault",
        "permanent",
        "problem_id",
        "chain",
        "judgement__verdict",
        "judgement__passed",
        "judgement__total",
        "judgement__stop_at_first_failure",
        "judgement__near_limit",
        "judgement__time_factor",
    )
    for item, state, fault, rejected, problem, number, verdict, passed, tests, stopped, near, factor in rows:
        counts.total += 1
        counts.problems.add(problem)
        chain = chains.get(item)
        if state == WorkItem.State.FAILED:
            counts.faults[fault] += 1
        if rejected:
            counts.permanent[fault] += 1
            attempts = chain.attempts if chain else 0
            counts.outcomes[problem][number] = ChainOutcome(
                False, 0.0, True, permanent=True, attempts=attempts
            )
        if state != WorkItem.State.DONE:
            continue
        counts.done += 1
        if scoring == "none":
            counts.outcomes[problem][number] = ChainOutcome(False, 0.0, True, attempts=0)
            continue
        counts.verdicts[verdict or Verdict.NO_CODE] += 1
        counts.near_limit += bool(near)
        if factor is not None:
            counts.time_factors.add(factor)
        counts.outcomes[problem][number] = _outcome(chain, verdict, passed, tests, stopped)
        counts.samples_only += facts[problem].samples_only and not by_suites
    return counts


def _outcome(
    chain: Refinement | None, verdict: str | None, passed: int | None, tests: int | None, stopped: bool | None
) -> ChainOutcome:
    """Return the outcome of a finished chain; without a judgement its reply held no program."""
    accepted = verdict == Verdict.AC
    return ChainOutcome(
        accepted,
        1.0 if accepted else (passed or 0) / tests if tests else 0.0,
        accepted or not verdict or not stopped,
        attempts=chain.attempts if chain else 1,
        accepted_at=chain.accepted_at if chain else None,
    )


def _known_cutoff(run: Run, models_returned: Sequence[str]) -> date | None:
    """Return the cutoff stored with the run, or else the latest cutoff of the models that answered.

    A returned name without a known cutoff has that of the requested model. Returns None if one of them is unknown.
    """
    if stored := run.manifest.get("cutoff"):
        return date.fromisoformat(stored)
    requested = cutoff_of(run.model_spec.partition(":")[2])
    known = [cutoff_of(name) or requested for name in models_returned] or [requested]
    return None if None in known else max(day for day in known if day)


def _score_rules(run: Run, ks: Sequence[int], failures: str) -> ScoreRules:
    """Return the rules of the run's scores. Raises TooFewAttemptsError."""
    scoring = scoring_of(run.method)
    if scoring == "refine":
        ks = range(1, attempts_allowed(run) + 1)
    for k in ks if scoring == "pass" else ():
        if k > run.attempts:
            raise TooFewAttemptsError(
                f"pass@{k} needs at least {k} attempts per problem; run {run.pk} has {run.attempts}"
            )
    return ScoreRules(scoring, tuple(ks), run.attempts, failures)


def _replies(run: Run) -> tuple[tuple[str, ...], dict[str, int]]:
    """Return the model names in the replies of the run's model, and the number of replies by how they ended."""
    rows = (
        replies_of(run)
        .order_by()
        .alias(**finish_terms())
        .annotate(finish=finish_kind())
        .values_list("model_returned", "finish")
        .annotate(Count("pk"))
    )
    finishes: Counter[str] = Counter()
    models = set()
    for model, finish, count in rows:
        models.add(model)
        finishes[finish] += count
    return tuple(sorted(models - {""})), counted(finishes)


def _verifiers(run: Run) -> dict[str, int]:
    rows = Verifier.objects.filter(run=run).order_by("state").values_list("state").annotate(Count("pk"))
    return dict(rows)


def _facts(run: Run) -> dict[int, ProblemFacts]:
    """Return the facts of the problems of the run's dataset by key, in the order of their ids."""
    rows = (
        Problem.objects.filter(dataset=run.dataset_id)
        .order_by("external_id")
        .values_list("pk", "tier", "tags", "contest", "contest_date", "samples_only")
    )
    return {
        pk: ProblemFacts(tier, tuple(tags), contest, day, only) for pk, tier, tags, contest, day, only in rows
    }
