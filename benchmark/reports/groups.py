"""The groups of problems that figures are given for, and the figures of one group."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

from benchmark.metrics import mean_interval, pass_at_k, rate_interval, share_at_k, standard_error
from benchmark.models.problems import Tier
from benchmark.tags import readable_tags, tag_keys

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
    """One attempt: whether it was accepted, and the share of its tests it passed.

    `all_tests` is False where judging stopped at the first failed test, so that the share is a lower bound.
    """

    accepted: bool
    share: float
    all_tests: bool


@dataclass(frozen=True)
class PassAtK:
    """pass@k over `problems`, those with at least k attempts so far; without any there is only that number.

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
    """All problems, or those of one tier, tag, year or side of the model's cutoff; `solved` counts attempts."""

    by: By
    name: str
    problems: int
    attempts: int
    solved: int
    pass_at: tuple[PassAtK, ...]
    tests_at: tuple[TestsAtK, ...]


def group_figures(
    facts: Mapping[int, Facts],
    outcomes: Mapping[int, Sequence[Outcome]],
    ks: Sequence[int],
    attempts: int,
    cutoff: date | None,
) -> tuple[Group, ...]:
    """The figures of every group that is not empty: all problems, then tiers, sides of the cutoff, tags and years."""
    return tuple(
        _group(by, name, chosen, facts, outcomes, ks, attempts)
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


def _group(
    by: By,
    name: str,
    chosen: Sequence[int],
    facts: Mapping[int, Facts],
    outcomes: Mapping[int, Sequence[Outcome]],
    ks: Sequence[int],
    attempts: int,
) -> Group:
    tried = [(facts[problem], outcomes[problem]) for problem in chosen if problem in outcomes]
    return Group(
        by=by,
        name=name,
        problems=len(chosen),
        attempts=sum(len(of_problem) for _, of_problem in tried),
        solved=sum(outcome.accepted for _, of_problem in tried for outcome in of_problem),
        pass_at=tuple(_pass_at(tried, k, attempts, clustered=by in CLUSTERED) for k in ks),
        tests_at=tuple(_tests_at(tried, k) for k in ks),
    )


Tried = Sequence[tuple[Facts, Sequence[Outcome]]]


def _pass_at(tried: Tried, k: int, attempts: int, *, clustered: bool) -> PassAtK:
    """Return pass@k. Each problem is one value for the interval, however many attempts were made at it."""
    enough = [(fact, of_problem) for fact, of_problem in tried if len(of_problem) >= k]
    values = [
        pass_at_k(len(of_problem), sum(outcome.accepted for outcome in of_problem), k)
        for _, of_problem in enough
    ]
    contests = [
        fact.contest or str(fact.contest_date) for fact, _ in enough if fact.contest or fact.contest_date
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


def _tests_at(tried: Tried, k: int) -> TestsAtK:
    enough = [of_problem for _, of_problem in tried if len(of_problem) >= k]
    values = [share_at_k([outcome.share for outcome in of_problem], k) for of_problem in enough]
    at_least = any(not outcome.all_tests for of_problem in enough for outcome in of_problem)
    return TestsAtK(k, len(values), sum(values) / len(values) if values else None, at_least)
