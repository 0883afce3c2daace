"""Groups of problems, and the figures of a group."""

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
"""Kinds of groups with enough contests for a meaningful interval over contests."""


@dataclass(frozen=True)
class ProblemFacts:
    """The properties by which a problem is grouped."""

    tier: str
    tags: tuple[str, ...]
    contest: str
    contest_date: date | None
    samples_only: bool


@dataclass(frozen=True)
class ChainOutcome:
    """The outcome of a chain: whether it was accepted, and the share of tests that it passed.

    `all_tests` is False if judging stopped at the first failed test, so that the share is a lower bound. `permanent`
    marks a chain that ended because the provider rejected its request. `attempts` counts the attempts of a refine
    chain; `accepted_at` is the number of the accepted attempt in its first start.
    """

    accepted: bool
    share: float
    all_tests: bool
    permanent: bool = False
    attempts: int = 1
    accepted_at: int | None = None


@dataclass(frozen=True)
class PassAtK:
    """pass@k over the `problems` with at least k attempts; of a refine run Refine@k over all problems with a chain.

    Without such problems all values are None. `interval` and `contest_interval` name the method of the 95 % intervals
    over problems and over contests (`benchmark.metrics.IntervalMethod`), or are "none". `contest_low` and
    `contest_high` are None for fewer than two contests. `standard_error` is that of the mean over problems, as in the
    code of the USACO paper.
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
    """Tests@k over `problems`, a lower bound (`at_least`) if judging stopped at the first failed test."""

    __test__ = False  # pytest collects classes of this name

    k: int
    problems: int
    value: float | None
    at_least: bool


@dataclass(frozen=True)
class GroupFigures:
    """The figures of all problems, or of those of one tier, tag, year or side of the model's cutoff.

    `chains` counts finished items and `permanent` those that the provider rejected. `attempts` counts chains, or all
    attempts of the chains of a refine run; `solved` counts accepted chains. `pass_at` holds the scores of a run of
    independent attempts, `refine_at` Refine@1 … Refine@K of a refine run; the other is empty. `answered_at` has these
    scores over answered chains, `planned_at` with permanent failures as wrong; the headline is one of the two.
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
        """Return the scores, pass@k or Refine@k."""
        return self.pass_at or self.refine_at

    @property
    def headline(self) -> PassAtK | None:
        """Return the main score: pass@k of the first k, or Refine@K; None for a run without attempts."""
        return self.pass_at[0] if self.pass_at else self.refine_at[-1] if self.refine_at else None


@dataclass(frozen=True)
class ScoreRules:
    """The scores that a run has: pass@k or Refine@k for each of `ks`, or none for a run without attempts.

    `attempts` is the number of chains per problem. With `failures="wrong"` the headline counts permanent failures.
    """

    scoring: Scoring
    ks: tuple[int, ...]
    attempts: int
    failures: str


def group_figures(
    facts: Mapping[int, ProblemFacts],
    outcomes: Mapping[int, Sequence[ChainOutcome]],
    rules: ScoreRules,
    cutoff: date | None,
) -> tuple[GroupFigures, ...]:
    """Return the figures of all problems, then of each tier, side of the cutoff, tag and year with a problem."""
    return tuple(
        _group(by, name, [(facts[problem], outcomes.get(problem, ())) for problem in chosen], rules)
        for by, name, chosen in _groupings(facts, cutoff)
    )


Grouping = tuple[By, str, list[int]]
"""The kind and the name of a group, and the keys of its problems."""


def _groupings(facts: Mapping[int, ProblemFacts], cutoff: date | None) -> Iterator[Grouping]:
    yield "all", "all", list(facts)
    yield from _by_tier(facts)
    if cutoff:
        yield from _by_cutoff(facts, cutoff)
    yield from _by_tag(facts)
    yield from _by_year(facts)


def _by_tier(facts: Mapping[int, ProblemFacts]) -> Iterator[Grouping]:
    """Yield the tiers in their order, unknown ones and problems without a tier last; nothing without any tier."""
    tiers: dict[str, list[int]] = defaultdict(list)
    for problem, fact in facts.items():
        tiers[fact.tier].append(problem)
    unknown = sorted(tiers.keys() - {*Tier.values, ""})
    if any(tiers):
        for tier in [*Tier.values, *unknown, ""]:
            if tier in tiers:
                yield "tier", tier or "no tier", tiers[tier]


def _by_cutoff(facts: Mapping[int, ProblemFacts], cutoff: date) -> Iterator[Grouping]:
    sides: dict[str, list[int]] = defaultdict(list)
    for problem, fact in facts.items():
        sides[side_of(fact.contest_date, cutoff)].append(problem)
    for side in ("before", "after", "no date"):
        if side in sides:
            yield "cutoff", side, sides[side]


def _by_tag(facts: Mapping[int, ProblemFacts]) -> Iterator[Grouping]:
    """Yield the tags in the order of their names. Spellings of one tag are one group."""
    tags: dict[str, list[int]] = defaultdict(list)
    for problem, fact in facts.items():
        for key in tag_keys(fact.tags):
            tags[key].append(problem)
    names = readable_tags(tag for fact in facts.values() for tag in fact.tags)
    for key in sorted(tags, key=names.__getitem__):
        yield "tag", names[key], tags[key]


def _by_year(facts: Mapping[int, ProblemFacts]) -> Iterator[Grouping]:
    """Yield the years of contests; nothing for a single year."""
    years: dict[int, list[int]] = defaultdict(list)
    for problem, fact in facts.items():
        if fact.contest_date:
            years[fact.contest_date.year].append(problem)
    if len(years) > 1:
        for year in sorted(years):
            yield "year", str(year), years[year]


def side_of(contest_date: date | None, cutoff: date | None) -> str:
    """Return whether the contest was "before" the cutoff (or on its day), "after" it, or has "no date"."""
    if contest_date is None or cutoff is None:
        return "no date"
    return "before" if contest_date <= cutoff else "after"


Tried = Sequence[tuple[ProblemFacts, Sequence[ChainOutcome]]]


def _group(by: By, name: str, planned: Tried, rules: ScoreRules) -> GroupFigures:
    answered = [(fact, [one for one in outcomes if not one.permanent]) for fact, outcomes in planned]
    chains = [one for _, outcomes in answered for one in outcomes]
    permanent = sum(len(outcomes) for _, outcomes in planned) - len(chains)
    clustered = by in CLUSTERED
    answered_at = _points(answered, rules, clustered=clustered)
    planned_at = _points(planned, rules, clustered=clustered) if permanent else answered_at
    headline = planned_at if rules.failures == "wrong" else answered_at
    return GroupFigures(
        by=by,
        name=name,
        problems=len(planned),
        chains=len(chains),
        permanent=permanent,
        attempts=sum(one.attempts for _, outcomes in planned for one in outcomes),
        solved=sum(one.accepted for one in chains),
        pass_at=headline if rules.scoring == "pass" else (),
        refine_at=headline if rules.scoring == "refine" else (),
        answered_at=answered_at,
        planned_at=planned_at,
        tests_at=_tests(planned if rules.failures == "wrong" else answered, rules),
    )


def _points(tried: Tried, rules: ScoreRules, *, clustered: bool) -> tuple[PassAtK, ...]:
    if rules.scoring == "none":
        return ()
    return tuple(_point(k, _scores(tried, k, rules), rules.attempts, clustered=clustered) for k in rules.ks)


Scores = list[tuple[ProblemFacts, float]]


def _scores(tried: Tried, k: int, rules: ScoreRules) -> Scores:
    found = ((fact, score(outcomes, k, rules)) for fact, outcomes in tried)
    return [(fact, value) for fact, value in found if value is not None]


def score(outcomes: Sequence[ChainOutcome], k: int, rules: ScoreRules) -> float | None:
    """Return a problem's pass@k or Refine@k; None with fewer than k independent attempts, and without any chain.

    Refine@k is the share of the problem's chains that were accepted within k attempts.
    """
    if rules.scoring == "refine":
        return share_within([one.accepted_at for one in outcomes], k) if outcomes else None
    return pass_at_k(len(outcomes), sum(one.accepted for one in outcomes), k) if len(outcomes) >= k else None


def _point(k: int, scores: Scores, attempts: int, *, clustered: bool) -> PassAtK:
    """Return the score of a group. Each problem is one value for the interval, whatever its number of chains."""
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


def _tests(tried: Tried, rules: ScoreRules) -> tuple[TestsAtK, ...]:
    """Return Tests@k of independent attempts. A refine run has none: samples alone judge most of its attempts."""
    return tuple(_tests_at(tried, k) for k in rules.ks) if rules.scoring == "pass" else ()


def _tests_at(tried: Tried, k: int) -> TestsAtK:
    enough = [of_problem for _, of_problem in tried if len(of_problem) >= k]
    values = [share_at_k([outcome.share for outcome in of_problem], k) for of_problem in enough]
    at_least = any(not outcome.all_tests for of_problem in enough for outcome in of_problem)
    return TestsAtK(k, len(values), sum(values) / len(values) if values else None, at_least)
