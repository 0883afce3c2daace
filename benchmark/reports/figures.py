"""The figures of one run, from as many queries whatever its size.

An attempt is a finished work item: its program was judged, or its reply held none (NO_CODE, not solved). Of a refine
run every reply of a chain is one. Items that failed by a fault of the provider or the judge are no attempts and are
listed apart. Those that failed permanently are planned chains without an answer: the headline counts them as wrong or
leaves them out (`failures`), and both figures are given.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from django.db.models import Count

from benchmark.methods import METHODS, Scoring, scoring_of
from benchmark.metrics import TooFewAttempts
from benchmark.model_calls import Price
from benchmark.models import Generation, Problem, Run, Verifier, WorkItem
from benchmark.models.finishes import counted, finish_kind, finish_terms, finish_warnings
from benchmark.reports.cutoffs import cutoff_of
from benchmark.reports.draws import BetweenEpochs, between_epochs, count_repeated, replay_note
from benchmark.reports.groups import Facts, Group, Outcome, PassAtK, Scale, group_figures
from benchmark.reports.published_tables import Beside, beside
from benchmark.reports.refinement.runs import attempts_allowed, chains_of
from benchmark.reports.steps import AfterReflections, after_reflections
from benchmark.reports.usage import Tokens, measure_usage
from judge import Verdict


@dataclass(frozen=True)
class RunFigures:
    """Everything a report says about a run. `groups[0]` is all problems.

    `verdicts` are of finished chains, so of a refine run those of last attempts. `scoring` says which figures it has:
    "pass" (pass@k), "refine" (Refine@k) or "none" (a run that builds verifiers: `solved` is None, and `verifiers`
    counts them by state). `failed` items include those that failed permanently, whose reasons are `permanent`;
    `failures` says how these count in the headline, and `failures_stored` whether the run has a stored choice.
    `finishes` counts all replies by how they ended (`benchmark.models.finishes`).
    `seconds` is the time of all calls together, `wall_seconds` from the start of the run to its end (None before);
    `cost` is in US dollars, None where the price or the tokens are unknown, and `cost_at_least` where some are.
    Calls that broke off gave no complete reply and are possibly billed. `replies_repeated` are those that another run
    paid for. `models_returned` are the names that the provider gave the model in its replies, `after` the scores
    after fewer reflections.
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
    groups: tuple[Group, ...]
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
    published: tuple[Beside, ...]
    models_returned: tuple[str, ...]
    after: tuple[AfterReflections, ...]
    manifest: dict[str, Any]

    @property
    def complete(self) -> bool:
        """Whether every item is done or failed permanently, so that the figures are final."""
        return self.done + self.rejected == self.total

    @property
    def rejected(self) -> int:
        """How many items failed permanently."""
        return sum(self.permanent.values())

    @property
    def headline(self) -> PassAtK | None:
        """The figure that stands for the run: pass@1 or Refine@K over all problems; None for one without attempts."""
        return self.groups[0].headline

    def figure_name(self, k: int) -> str:
        """What the figure for k attempts is called: "pass@1" or "Refine@5"."""
        return f"{'Refine' if self.scoring == 'refine' else 'pass'}@{k}"

    @property
    def depends_on(self) -> dict[str, Any]:
        """What the result depends on: the parameters, the model as it was returned, and the manifest."""
        return {
            "parameters": self.parameters,
            "models_returned": list(self.models_returned),
            "draws": list(range(self.first_draw, self.first_draw + self.epochs)),
            **self.manifest,
        }

    @property
    def caveats(self) -> list[str]:
        """What a reader must know before using the figures."""
        method = METHODS.get(self.method)
        said = [method.warning] if method and method.warning else []
        if not self.complete:
            rest = f", and {self.rejected} failed permanently" if self.rejected else ""
            said.append(
                f"Incomplete: {self.done} of {self.total} items are done{rest}; the figures are of those only."
            )
        if self.rejected:
            said += self._about_failures()
        said += finish_warnings(self.finishes)
        if self.scoring == "refine" and int(self.parameters.get("g", 1)) > 1:
            said.append(
                f"Refine@k counts the first of up to {self.parameters['g']} starts of a chain; solved attempts are of "
                "all starts."
            )
        if replay := replay_note(self.replies_repeated, self.generations):
            said.append(replay)
        if self.samples_only:
            said.append(
                f"{self.samples_only} of {self.done} attempts were judged on samples only: no hidden tests known."
            )
        before = sum(
            group.problems for group in self.groups if (group.by, group.name) == ("cutoff", "before")
        )
        if before:
            said.append(
                f"The model may have read {before} of {self.groups[0].problems} problems: they are from contests "
                f"until its cutoff, {self.cutoff}."
            )
        if self.manifest.get("scripted_model"):
            said.append("The model's replies are scripted: these figures say nothing about any model.")
        if len(self.models_returned) > 1:
            said.append(f"The provider answered with several models: {', '.join(self.models_returned)}.")
        if self.manifest.get("continued_in"):
            said.append(
                "The run was continued with another version of the program or the machine; see its manifest."
            )
        return said

    def _about_failures(self) -> list[str]:
        """Say how many items failed permanently and, if there is a headline, what it makes of them."""
        said = f"{self.rejected} of {self.total} items failed permanently, because the provider rejected the request"
        if self.headline is None:
            return [f"{said}."]
        treated = (
            "they count as wrong (--failures excluded leaves them out)"
            if self.failures == "wrong"
            else "they are left out (--failures wrong counts them as wrong)"
        )
        assumed = "The run stores no choice of --failures; its headline assumes wrong."
        return [f"{said}: {treated}.", *([] if self.failures_stored else [assumed])]


def measure(
    run: Run,
    ks: Sequence[int] = (1,),
    *,
    cutoff: date | None = None,
    usual_price: Price | None = None,
    failures: str = "",
) -> RunFigures:
    """Return the figures of the run as it stands.

    `cutoff`, `usual_price` (as of `measure_usage`) and `failures` override what is known of the model and stored with
    the run. `ks` are for pass@k; a refine run always has Refine@1 … Refine@K. Raises TooFewAttempts for a k above the
    run's attempts a problem.
    """
    scale = _scale(run, ks, failures or run.failures)
    chains = chains_of(run) if scale.scoring == "refine" else {}
    facts = _facts(run)
    by_chain: dict[int, dict[int, Outcome]] = defaultdict(dict)
    verdicts: Counter[str] = Counter()
    faults: Counter[str] = Counter()
    permanent: Counter[str] = Counter()
    samples_only = total = 0
    by_suites = run.parameters.get("tests") == "suite"
    tried: set[int] = set()
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
    )
    done = 0
    for item, state, fault, rejected, problem, number, verdict, passed, tests, stopped in rows:
        total += 1
        tried.add(problem)
        chain = chains.get(item)
        if state == WorkItem.State.FAILED:
            faults[fault] += 1
        if rejected:
            permanent[fault] += 1
            attempts = chain.attempts if chain else 0
            by_chain[problem][number] = Outcome(False, 0.0, True, permanent=True, attempts=attempts)
        if state != WorkItem.State.DONE:
            continue
        done += 1
        if scale.scoring == "none":
            by_chain[problem][number] = Outcome(False, 0.0, True, attempts=0)
            continue
        verdicts[verdict or Verdict.NO_CODE] += 1
        accepted = verdict == Verdict.AC
        share = 1.0 if accepted else (passed or 0) / tests if tests else 0.0
        by_chain[problem][number] = Outcome(
            accepted,
            share,
            accepted or not verdict or not stopped,
            attempts=chain.attempts if chain else 1,
            accepted_at=chain.accepted_at if chain else None,
        )
        samples_only += facts[problem].samples_only and not by_suites
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
        total=total,
        done=done,
        failed=sum(faults.values()),
        solved=None if scale.scoring == "none" else verdicts[Verdict.AC],
        scoring=scale.scoring,
        failures=scale.failures,
        failures_stored="failures" in run.manifest,
        permanent=dict(permanent.most_common()),
        verifiers=_verifiers(run) if scale.scoring == "none" else {},
        samples_only=samples_only,
        cutoff=cutoff,
        groups=group_figures(
            {problem: fact for problem, fact in facts.items() if problem in tried},
            {problem: list(chains.values()) for problem, chains in by_chain.items()},
            scale,
            cutoff,
        ),
        verdicts={verdict.value: verdicts[verdict] for verdict in Verdict if verdicts[verdict]},
        finishes=finishes,
        **vars(usage),
        epochs=run.epochs,
        first_draw=run.first_draw,
        between_epochs=between_epochs(run, scale, by_chain),
        # Without a reply that was not paid for here, no query is needed.
        replies_repeated=count_repeated(run) if run.paid_calls < usage.generations else 0,
        faults=dict(faults.most_common()),
        published=tuple(beside(run)),
        models_returned=models,
        after=after_reflections(run, scale.failures),
        manifest=run.manifest,
    )


def _known_cutoff(run: Run, models_returned: Sequence[str]) -> date | None:
    """The cutoff stored with the run, else the latest of the models that answered, else that of the name asked for.

    None where that of one of them is unknown.
    """
    if stored := run.manifest.get("cutoff"):
        return date.fromisoformat(stored)
    asked_for = cutoff_of(run.model_spec.partition(":")[2])
    known = [cutoff_of(name) or asked_for for name in models_returned] or [asked_for]
    return None if None in known else max(day for day in known if day)


def _scale(run: Run, ks: Sequence[int], failures: str) -> Scale:
    """Return which figures the run has. Raises TooFewAttempts."""
    scoring = scoring_of(run.method)
    if scoring == "refine":
        ks = range(1, attempts_allowed(run) + 1)
    for k in ks if scoring == "pass" else ():
        if k > run.attempts:
            raise TooFewAttempts(
                f"pass@{k} needs at least {k} attempts a problem; run {run.pk} has {run.attempts}"
            )
    return Scale(scoring, tuple(ks), run.attempts, failures)


def _replies(run: Run) -> tuple[tuple[str, ...], dict[str, int]]:
    """Return the models' names in all replies of the run, and how many replies ended in which way."""
    rows = (
        Generation.objects.filter(work_item__run=run)
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


def _facts(run: Run) -> dict[int, Facts]:
    """What the problems of the run's dataset are grouped by, in the order of their ids."""
    rows = (
        Problem.objects.filter(dataset=run.dataset_id)
        .order_by("external_id")
        .values_list("pk", "tier", "tags", "contest", "contest_date", "samples_only")
    )
    return {pk: Facts(tier, tuple(tags), contest, day, only) for pk, tier, tags, contest, day, only in rows}
