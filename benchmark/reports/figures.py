"""The figures of one run, from as many queries whatever its size.

An attempt is a finished work item: its program was judged, or its reply held none (NO_CODE, not solved).
Items that failed by a fault of the provider or the judge are no attempts; they are listed apart.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from benchmark.methods import METHODS
from benchmark.metrics import TooFewAttempts
from benchmark.models import Generation, Problem, Run, WorkItem
from benchmark.reports.cutoffs import cutoff_of
from benchmark.reports.draws import BetweenEpochs, between_epochs, count_repeated, replay_note
from benchmark.reports.groups import Facts, Group, Outcome, group_figures
from benchmark.reports.published_tables import Beside, beside
from benchmark.reports.steps import AfterReflections, after_reflections
from benchmark.reports.usage import Tokens, measure_usage
from benchmark.runner import Price
from judge import Verdict


@dataclass(frozen=True)
class RunFigures:
    """Everything a report says about a run. `groups[0]` is all problems; `verdicts` are of attempts.

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
    solved: int
    samples_only: int
    cutoff: date | None
    groups: tuple[Group, ...]
    verdicts: dict[str, int]
    generations: int
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
        """Whether every item is done, so that the figures are final."""
        return self.done == self.total

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
        said = [method.caveat] if method and method.caveat else []
        if not self.complete:
            said.append(
                f"Incomplete: {self.done} of {self.total} items are done; the figures are of those only."
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


def measure(
    run: Run, ks: Sequence[int] = (1,), *, cutoff: date | None = None, usual_price: Price | None = None
) -> RunFigures:
    """The figures of the run as it stands.

    `cutoff` and `usual_price` (as of `measure_usage`) go before what is known of the model and stored with the run.
    Raises TooFewAttempts for a k above the run's attempts a problem.
    """
    for k in ks:
        if k > run.attempts:
            raise TooFewAttempts(
                f"pass@{k} needs at least {k} attempts a problem; run {run.pk} has {run.attempts}"
            )
    facts = _facts(run)
    outcomes: dict[int, list[Outcome]] = defaultdict(list)
    verdicts: Counter[str] = Counter()
    faults: Counter[str] = Counter()
    samples_only = total = 0
    by_suites = run.parameters.get("tests") == "suite"
    tried: set[int] = set()
    rows = run.items.order_by("chain").values_list(
        "state",
        "fault",
        "problem_id",
        "judgement__verdict",
        "judgement__passed",
        "judgement__total",
        "judgement__stop_at_first_failure",
    )
    for state, fault, problem, verdict, passed, tests, stopped in rows:
        total += 1
        tried.add(problem)
        if state == WorkItem.State.FAILED:
            faults[fault] += 1
        if state != WorkItem.State.DONE:
            continue
        verdicts[verdict or Verdict.NO_CODE] += 1
        accepted = verdict == Verdict.AC
        share = 1.0 if accepted else (passed or 0) / tests if tests else 0.0
        outcomes[problem].append(Outcome(accepted, share, accepted or not verdict or not stopped))
        samples_only += facts[problem].samples_only and not by_suites
    usage = measure_usage(run, usual_price)
    models = _models_returned(run)
    cutoff = cutoff or _known_cutoff(run, models)
    return RunFigures(
        run=str(run.pk),
        dataset=run.dataset.name,
        model=run.model_spec,
        method=run.method,
        parameters=run.parameters | {"attempts": run.attempts},
        state=run.state,
        total=total,
        done=sum(verdicts.values()),
        failed=sum(faults.values()),
        solved=verdicts[Verdict.AC],
        samples_only=samples_only,
        cutoff=cutoff,
        groups=group_figures(
            {problem: fact for problem, fact in facts.items() if problem in tried},
            outcomes,
            ks,
            run.attempts,
            cutoff,
        ),
        verdicts={verdict.value: verdicts[verdict] for verdict in Verdict if verdicts[verdict]},
        **vars(usage),
        epochs=run.epochs,
        first_draw=run.first_draw,
        between_epochs=between_epochs(run, ks),
        # Without a reply that was not paid for here, no query is needed.
        replies_repeated=count_repeated(run) if run.paid_calls < usage.generations else 0,
        faults=dict(faults.most_common()),
        published=tuple(beside(run)),
        models_returned=models,
        after=after_reflections(run),
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


def _models_returned(run: Run) -> tuple[str, ...]:
    rows = Generation.objects.filter(work_item__run=run).exclude(model_returned="").order_by("model_returned")
    return tuple(rows.values_list("model_returned", flat=True).distinct())


def _facts(run: Run) -> dict[int, Facts]:
    """What the problems of the run's dataset are grouped by, in the order of their ids."""
    rows = (
        Problem.objects.filter(dataset=run.dataset_id)
        .order_by("external_id")
        .values_list("pk", "tier", "tags", "contest", "contest_date", "samples_only")
    )
    return {pk: Facts(tier, tuple(tags), contest, day, only) for pk, tier, tags, contest, day, only in rows}
