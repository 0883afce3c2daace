"""The groups of problems that figures are given for, and the figures of one group."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

from benchmark.methods import Scoring
from benchmark.metrics import mean_interval, pass_at_k, rate_interval, share_at_k, standard_error
from benchmark.models.problems import Tier
from benchmark.reports.refinement.curves import share_within
from benchmark.text.tags import readable_tags, tag_keys

By = Literal["all", "tier", "cutoff", "tag", "year"]

CLUSTERED: frozenset[By] = frozenset({"all", "tier", "cutoff"})
"""Groups that hold enough contests for an interval over contests to mean something."""


@dataclass(frozen=True)
class Facts:
    """What a problem is grouped by."""

    tier: str
    tags: tuple[str, ...]
    contest: str
    contest_date: date | None
    samples_only: bool


@dataclass(frozen=True)
class Outcome:
    """One chain: whether it was accepted, and the share of its tests it passed.

    `all_tests` is False where judging stopped at the first failed test, so that the share is a lower bound.
    `permanent` marks a chain that the provider ended by rejecting its request. A refine chain has `attempts`, and
    `accepted_at` the place of the accepted one in its first start.
    """

    accepted: bool
    share: float
    all_tests: bool
    permanent: bool = False
    attempts: int = 1
    accepted_at: int | None = None


@dataclass(frozen=True)
class PassAtK:
    """pass@k over `problems`, those with at least k attempts so far; without any there is only that number.

    Of a refine run it is Refine@k, over all problems with a chain.

    `interval` and `contest_interval` name the method of the 95 % intervals over problems and over contests
    (`benchmark.metrics.IntervalMethod`), or are "none". `contest_low` and `contest_high` are None for fewer than two
    contests.
    `standard_error` is that of the mean over problems, as the USACO paper's code has it.
    """

    k: int
    problems: int
    value: float | None
    low: float | None
    high: float | None
    interval: str
    contests: int
    contest_low: float | None
    contest_high: float | None
    contest_interval: str
    standard_error: float | None


@dataclass(frozen=True)
class TestsAtK:
    """Tests@k over `problems`; `at_least` where some judging stopped at the first failed test."""

    __test__ = False  # not a test class, whatever pytest thinks of the name

    k: int
    problems: int
    value: float | None
    at_least: bool


@dataclass(frozen=True)
class Group:
    """All problems, or those of one tier, tag, year or side of the model's cutoff.

    `chains` are finished items and `permanent` those that the provider rejected; `attempts` are the chains, of a
    refine run all their attempts; `solved` counts accepted ones. `pass_at` holds the headline figures of a run of
    independent attempts, `refine_at` Refine@1 … Refine@K of a refine run, and the other is empty. `answered_at` has
    the same figures over answered chains, `planned_at` with permanent failures as wrong; the headline is one of the
    two.
    """

    by: By
    name: str
    problems: int
    chains: int
    permanent: int
    attempts: int
    solved: int
    pass_at: tuple[PassAtK, ...]
    refine_at: tuple[PassAtK, ...]
    answered_at: tuple[PassAtK, ...]
    planned_at: tuple[PassAtK, ...]
    tests_at: tuple[TestsAtK, ...]

    @property
    def points(self) -> tuple[PassAtK, ...]:
        """The headline figures, whichever they are."""
        return self.pass_at or self.refine_at

    @property
    def headline(self) -> PassAtK | None:
        """The one figure of the group: pass@k of the first k, or Refine@K; None where no attempts are made."""
        return self.pass_at[0] if self.pass_at else self.refine_at[-1] if self.refine_at else None


@dataclass(frozen=True)
class Scale:
    """What the figures of a run are: pass@k for each of `ks`, or Refine@k, or none for a run without attempts.

    `attempts` is the number of chains a problem; with `failures="wrong"` the headline counts permanent failures.
    """

    scoring: Scoring
    ks: tuple[int, ...]
    attempts: int
    failures: str


def group_figures(
    facts: Mapping[int, Facts],
    outcomes: Mapping[int, Sequence[Outcome]],
    scale: Scale,
    cutoff: date | None,
) -> tuple[Group, ...]:
    """The figures of every group that is not empty: all problems, then tiers, sides of the cutoff, tags and years."""
    return tuple(
        _group(by, name, [(facts[problem], outcomes.get(problem, ())) for problem in chosen], scale)
        for by, name, chosen in _groupings(facts, cutoff)
    )


def _groupings(facts: Mapping[int, Facts], cutoff: date | None) -> Iterator[tuple[By, str, list[int]]]:
    yield "all", "all", list(facts)
    tiers = defaultdict(list)
    sides = defaultdict(list)
    tags = defaultdict(list)
    years = defaultdict(list)
    for problem, fact in facts.items():
        tiers[fact.tier].append(problem)
        sides[side_of(fact.contest_date, cutoff)].append(problem)
        for key in tag_keys(fact.tags):
            tags[key].append(problem)
        if fact.contest_date:
            years[str(fact.contest_date.year)].append(problem)
    if any(tiers.keys() - {""}):
        for tier in [*Tier.values, *sorted(tiers.keys() - {*Tier.values, ""}), ""]:
            if tier in tiers:
                yield "tier", tier or "no tier", tiers[tier]
    if cutoff:
        for side in ("before", "after", "no date"):
            if side in sides:
                yield "cutoff", side, sides[side]
    names = readable_tags(tag for fact in facts.values() for tag in fact.tags)
    for key in sorted(tags, key=names.__getitem__):
        yield "tag", names[key], tags[key]
    if len(years) > 1:
        for year in sorted(years):
            yield "year", year, years[year]


def side_of(contest_date: date | None, cutoff: date | None) -> str:
    """Whether the contest was "before" the cutoff (or on its day), "after" it, or has "no date"."""
    if contest_date is None or cutoff is None:
        return "no date"
    return "before" if contest_date <= cutoff else "after"


Tried = Sequence[tuple[Facts, Sequence[Outcome]]]


def _group(by: By, name: str, planned: Tried, scale: Scale) -> Group:
    answered = [(fact, [one for one in outcomes if not one.permanent]) for fact, outcomes in planned]
    chains = [one for _, outcomes in answered for one in outcomes]
    permanent = sum(len(outcomes) for _, outcomes in planned) - len(chains)
    clustered = by in CLUSTERED
    answered_at = _points(answered, scale, clustered=clustered)
    planned_at = _points(planned, scale, clustered=clustered) if permanent else answered_at
    headline = planned_at if scale.failures == "wrong" else answered_at
    return Group(
        by=by,
        name=name,
        problems=len(planned),
        chains=len(chains),
        permanent=permanent,
        attempts=sum(one.attempts for _, outcomes in planned for one in outcomes),
        solved=sum(one.accepted for one in chains),
        pass_at=headline if scale.scoring == "pass" else (),
        refine_at=headline if scale.scoring == "refine" else (),
        answered_at=answered_at,
        planned_at=planned_at,
        tests_at=_tests(planned if scale.failures == "wrong" else answered, scale),
    )


def _points(tried: Tried, scale: Scale, *, clustered: bool) -> tuple[PassAtK, ...]:
    if scale.scoring == "none":
        return ()
    return tuple(_point(k, _scores(tried, k, scale), scale.attempts, clustered=clustered) for k in scale.ks)


Scores = list[tuple[Facts, float]]


def _scores(tried: Tried, k: int, scale: Scale) -> Scores:
    found = ((fact, score(outcomes, k, scale)) for fact, outcomes in tried)
    return [(fact, value) for fact, value in found if value is not None]


def score(outcomes: Sequence[Outcome], k: int, scale: Scale) -> float | None:
    """Return a problem's pass@k or Refine@k; None with fewer than k independent attempts, and without any chain.

    Refine@k is the share of the problem's chains that were accepted within k attempts.
    """
    if scale.scoring == "refine":
        return share_within([one.accepted_at for one in outcomes], k) if outcomes else None
    return pass_at_k(len(outcomes), sum(one.accepted for one in outcomes), k) if len(outcomes) >= k else None


def _point(k: int, scores: Scores, attempts: int, *, clustered: bool) -> PassAtK:
    """Return the figure of a group: one problem is one value for the interval, however many chains it has."""
    values = [value for _, value in scores]
    contests = [
        fact.contest or str(fact.contest_date) for fact, _ in scores if fact.contest or fact.contest_date
    ]
    number = len(set(contests))
    if not values:
        return PassAtK(k, 0, None, None, None, "none", 0, None, None, "none", None)
    interval, method = rate_interval(values, single=attempts == 1)
    over_contests = None
    if clustered and number > 1 and len(contests) == len(values):
        over_contests = mean_interval(values, contests)
    return PassAtK(
        k,
        len(values),
        sum(values) / len(values),
        interval.low,
        interval.high,
        method,
        number,
        over_contests.interval.low if over_contests else None,
        over_contests.interval.high if over_contests else None,
        over_contests.method if over_contests else "none",
        standard_error(values),
    )


def _tests(tried: Tried, scale: Scale) -> tuple[TestsAtK, ...]:
    """Tests@k of independent attempts; most attempts of a refine chain are judged on the samples only."""
    return tuple(_tests_at(tried, k) for k in scale.ks) if scale.scoring == "pass" else ()


def _tests_at(tried: Tried, k: int) -> TestsAtK:
    enough = [of_problem for _, of_problem in tried if len(of_problem) >= k]
    values = [share_at_k([outcome.share for outcome in of_problem], k) for of_problem in enough]
    at_least = any(not outcome.all_tests for of_problem in enough for outcome in of_problem)
    return TestsAtK(k, len(values), sum(values) / len(values) if values else None, at_least)
