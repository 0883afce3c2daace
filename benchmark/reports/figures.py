"""The figures of one run, from three queries whatever its size.

An attempt is a finished work item: its program was judged, or its reply held none (NO_CODE, not solved).
Items that failed by a fault of the provider or the judge are no attempts; they are listed apart.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Sum

from benchmark.metrics import TooFewAttempts, cluster_bootstrap, pass_at_k, wilson
from benchmark.models import Generation, Run, WorkItem
from benchmark.models.problems import Tier
from judge import Verdict

TOKEN_KINDS = ("input", "output", "cached_input", "reasoning")


@dataclass(frozen=True)
class PassAtK:
    """pass@k over `problems`, those with at least k attempts so far; no value and no interval without any.

    `interval` says how the 95 % interval was made: "wilson", "bootstrap" (whole problems drawn) or "none".
    """

    k: int
    problems: int
    value: float | None
    low: float | None
    high: float | None
    interval: str


@dataclass(frozen=True)
class Group:
    """The problems of one tier, or all; `solved` counts attempts."""

    name: str
    problems: int
    attempts: int
    solved: int
    pass_at: tuple[PassAtK, ...]


@dataclass(frozen=True)
class Tokens:
    """The tokens of all generations of the run; of `unknown` generations the provider did not say them."""

    kind: str
    known: int
    unknown: int


@dataclass(frozen=True)
class RunFigures:
    """Everything a report says about a run. `groups[0]` is all problems; `verdicts` are of attempts."""

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
    groups: tuple[Group, ...]
    verdicts: dict[str, int]
    generations: int
    tokens: tuple[Tokens, ...]
    faults: dict[str, int]
    manifest: dict[str, Any]

    @property
    def complete(self) -> bool:
        """Whether every item is done, so that the figures are final."""
        return self.done == self.total

    @property
    def caveats(self) -> list[str]:
        """What a reader must know before using the figures."""
        said = []
        if not self.complete:
            said.append(
                f"Incomplete: {self.done} of {self.total} items are done; the figures are of those only."
            )
        if self.samples_only:
            said.append(
                f"{self.samples_only} of {self.done} attempts were judged on samples only: no hidden tests known."
            )
        if self.manifest.get("scripted_model"):
            said.append("The model's replies are scripted: these figures say nothing about any model.")
        if self.manifest.get("continued_in"):
            said.append(
                "The run was continued with another version of the program or the machine; see its manifest."
            )
        return said


def measure(run: Run, ks: Sequence[int] = (1,)) -> RunFigures:
    """The figures of the run as it stands. Raises TooFewAttempts for a k above its attempts a problem."""
    for k in ks:
        if k > run.attempts:
            raise TooFewAttempts(
                f"pass@{k} needs at least {k} attempts a problem; run {run.pk} has {run.attempts}"
            )
    rows = list(
        run.items.order_by().values_list(
            "state", "fault", "problem_id", "problem__tier", "problem__samples_only", "judgement__verdict"
        )
    )
    tiers: dict[int, str] = {}
    outcomes: dict[int, list[bool]] = defaultdict(list)
    verdicts: Counter[str] = Counter()
    faults: Counter[str] = Counter()
    samples_only = 0
    for state, fault, problem, tier, only_samples, verdict in rows:
        tiers[problem] = tier
        if state == WorkItem.State.FAILED:
            faults[fault] += 1
        if state != WorkItem.State.DONE:
            continue
        verdicts[verdict or Verdict.NO_CODE] += 1
        outcomes[problem].append(verdict == Verdict.AC)
        samples_only += only_samples
    groups = [_group("all", tiers, outcomes, ks, run.attempts)]
    named = [tier for tier in Tier.values if tier in tiers.values()]
    if named:
        named += [""] if "" in tiers.values() else []
        groups += [
            _group(tier or "no tier", (p for p in tiers if tiers[p] == tier), outcomes, ks, run.attempts)
            for tier in named
        ]
    generations, tokens = _tokens(run)
    return RunFigures(
        run=str(run.pk),
        dataset=run.dataset.name,
        model=run.model_spec,
        method=run.method,
        parameters=run.parameters | {"attempts": run.attempts},
        state=run.state,
        total=len(rows),
        done=sum(verdicts.values()),
        failed=sum(faults.values()),
        solved=verdicts[Verdict.AC],
        samples_only=samples_only,
        groups=tuple(groups),
        verdicts={verdict.value: verdicts[verdict] for verdict in Verdict if verdicts[verdict]},
        generations=generations,
        tokens=tokens,
        faults=dict(faults.most_common()),
        manifest=run.manifest,
    )


def _group(
    name: str, problems: Iterable[int], outcomes: dict[int, list[bool]], ks: Sequence[int], attempts: int
) -> Group:
    chosen = list(problems)
    counts = [(len(outcomes[p]), sum(outcomes[p])) for p in chosen if p in outcomes]
    return Group(
        name=name,
        problems=len(chosen),
        attempts=sum(n for n, _ in counts),
        solved=sum(c for _, c in counts),
        pass_at=tuple(_pass_at(counts, k, attempts) for k in ks),
    )


def _pass_at(counts: list[tuple[int, int]], k: int, attempts: int) -> PassAtK:
    """One problem is one draw for the interval, however many attempts were made at it.

    Where all problems came out as 0, or all as 1, a bootstrap would claim certainty: Wilson's bound is given.
    """
    values = [pass_at_k(n, c, k) for n, c in counts if n >= k]
    if not values:
        return PassAtK(k, 0, None, None, None, "none")
    if attempts == 1 or set(values) in ({0.0}, {1.0}):
        interval, method = wilson(int(sum(values)), len(values)), "wilson"
    else:
        interval, method = cluster_bootstrap(values), "bootstrap"
    return PassAtK(k, len(values), sum(values) / len(values), interval.low, interval.high, method)


def _tokens(run: Run) -> tuple[int, tuple[Tokens, ...]]:
    """How many generations there are, and their tokens by kind."""
    sums = {f"{kind}_sum": Sum(f"{kind}_tokens") for kind in TOKEN_KINDS}
    known = {f"{kind}_known": Count(f"{kind}_tokens") for kind in TOKEN_KINDS}
    row = Generation.objects.filter(work_item__run=run).aggregate(generations=Count("pk"), **sums, **known)
    generations: int = row["generations"]
    return generations, tuple(
        Tokens(kind, row[f"{kind}_sum"] or 0, generations - row[f"{kind}_known"]) for kind in TOKEN_KINDS
    )
