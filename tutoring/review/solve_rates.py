"""Solve rates of sessions: of all sessions, and of those whose reviews found them compliant or in breach.

Sessions of one problem are not independent. Every rate is therefore the mean over problems of the share of a problem's
solved sessions, and its interval is over problems. `contrasts` compares models or protocols on their common problems.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from statistics import fmean
from typing import Any, Self
from urllib.parse import urlencode

from django.db.models import Case, Count, OuterRef, Q, QuerySet, Subquery, Value, When

from benchmark.metrics import (
    FEWEST_TESTED_PROBLEMS,
    SIGNIFICANCE,
    NamedInterval,
    PairedDifference,
    holm,
    mcnemar,
    paired_difference,
    problem_t,
    problem_t_test,
    rate_interval,
    visible_difference,
    visible_mean,
)
from tutoring.models import Protocol, ReviewOutcome, Session
from tutoring.models.sessions import SessionQuerySet
from tutoring.review.content import COMPLIANT
from tutoring.sessions.assignments import locked_sessions, rehearsed_sessions

ATTEMPT_NAMES = {"first": "1", "later": "2 and later", "unknown": "unknown"}
"""Kinds of attempts. A tutor's later attempts at a problem depend on the first, so they have rows of their own."""

_RATES = ("all_sessions", "compliant", "breached")
"""The fields of a row that are rates."""


@dataclass(slots=True)
class ProblemTally:
    """The numbers of sessions and of solved sessions at one problem."""

    solved: int = 0
    sessions: int = 0

    @property
    def share(self) -> float:
        """Return the share of solved sessions."""
        return self.solved / self.sessions


@dataclass
class SolveRate:
    """The numbers of sessions and of solved sessions, with the rate over problems.

    The share and the interval exclude sessions with an unknown problem. If all problems are unknown, the share is over
    sessions, and there is no interval.
    """

    solved: int = 0
    sessions: int = 0
    by_problem: dict[int, ProblemTally] = field(default_factory=dict)

    def add(self, problem: int | None, solved: int, sessions: int) -> None:
        """Add sessions at one problem; None is an unknown problem."""
        self.solved += solved
        self.sessions += sessions
        if problem is not None:
            tally = self.by_problem.setdefault(problem, ProblemTally())
            tally.solved += solved
            tally.sessions += sessions

    def to_json(self) -> list[Any]:
        """Return solved sessions, sessions, and both by problem."""
        tallies = [[problem, one.solved, one.sessions] for problem, one in self.by_problem.items()]
        return [self.solved, self.sessions, tallies]

    @classmethod
    def from_json(cls, document: list[Any]) -> Self:
        """Return the rate that `to_json` stored."""
        solved, sessions, tallies = document
        return cls(solved, sessions, {problem: ProblemTally(*counts) for problem, *counts in tallies})

    @cached_property
    def excluded(self) -> int:
        """Return the number of sessions with an unknown problem."""
        return self.sessions - sum(tally.sessions for tally in self.by_problem.values())

    @cached_property
    def share(self) -> float | None:
        """Return the mean over problems of the share of solved sessions; None without sessions."""
        if self.by_problem:
            return fmean(tally.share for tally in self.by_problem.values())
        return self.solved / self.sessions if self.sessions else None

    @cached_property
    def interval(self) -> NamedInterval | None:
        """Return Wilson's interval if every problem has one session, otherwise the t interval on problem means.

        The t interval is used for many problems too: its coverage equals that of the bootstrap, which would take half
        of the page's time.
        """
        if not self.by_problem:
            return None
        shares = [tally.share for tally in self.by_problem.values()]
        if all(tally.sessions == 1 for tally in self.by_problem.values()):
            return rate_interval(shares, single=True)
        return problem_t(shares)


@dataclass
class SolveRateRow:
    """The solve rates of one model under one protocol, for one kind of attempt.

    Sessions without a decided review outcome (`unreviewed`) count in `all_sessions` only. Claimed outcomes of imported
    records have rows of their own, because this server has not judged them.
    """

    model: str
    protocol: int | None
    protocol_name: str
    attempt: str
    claimed: bool = False
    all_sessions: SolveRate = field(default_factory=SolveRate)
    compliant: SolveRate = field(default_factory=SolveRate)
    breached: SolveRate = field(default_factory=SolveRate)
    unreviewed: int = 0
    late: int = 0
    """Sessions with a delayed reply, whose delay can reveal the model to a blinded tutor."""

    def to_json(self) -> dict[str, Any]:
        """Return all fields by name."""
        return vars(self) | {name: getattr(self, name).to_json() for name in _RATES}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Self:
        """Return the row that `to_json` stored."""
        return cls(**document | {name: SolveRate.from_json(document[name]) for name in _RATES})

    @property
    def attempt_name(self) -> str:
        """Return the kind of attempt as pages show it."""
        return ATTEMPT_NAMES[self.attempt]

    @property
    def query(self) -> str:
        """Return the query string that selects the sessions of the row."""
        return urlencode(
            {"rate": 1, "model": self.model, "protocol": self.protocol or "", "attempt": self.attempt}
            | ({"claimed": 1} if self.claimed else {})
        )


def counted_sessions() -> SessionQuerySet:
    """Return the closed sessions of people with a known outcome, without invalidated ones.

    Sessions of rehearsals and of running studies are left out, and those of policies, which the figures of arms show.
    """
    known = (Session.Outcome.SOLVED, Session.Outcome.NOT_SOLVED, Session.Outcome.ABANDONED)
    counted = Session.objects.filter(state=Session.State.CLOSED, invalidated=False, outcome__in=known)
    people = counted.exclude(origin=Session.Origin.AUTOMATIC)
    return people.exclude(pk__in=rehearsed_sessions() | locked_sessions())


def decided_outcome(version: int) -> QuerySet[ReviewOutcome]:
    """Return the decided review outcome of the session in the outer query; no row if there is none."""
    return ReviewOutcome.objects.filter(session=OuterRef("pk"), rule_set=version).exclude(verdict="")


def solve_rates(version: int) -> list[SolveRateRow]:
    """Return a row for each model, protocol, kind of attempt and kind of outcome. Two queries."""
    names = {
        pk: f"{name} v{number}" for pk, name, number in Protocol.objects.values_list("pk", "name", "version")
    }
    attempt_of = Case(
        When(number=None, then=Value("unknown")), When(number=1, then=Value("first")), default=Value("later")
    )
    counts = (
        counted_sessions()
        .order_by()
        .values_list(
            "model_spec",
            "protocol",
            attempt_of,
            "outcome_claimed",
            Subquery(decided_outcome(version).values("verdict")),
            "problem",
        )
        .annotate(
            sessions=Count("pk"),
            solved=Count("pk", filter=Q(outcome=Session.Outcome.SOLVED)),
            late=Count("pk", filter=Q(late_replies__gt=0)),
        )
    )
    rows: dict[tuple[str, int | None, str, bool], SolveRateRow] = {}
    for model, protocol, attempt, claimed, found, problem, sessions, solved, late in counts:
        key = (model, protocol, attempt, claimed)
        if key not in rows:
            rows[key] = SolveRateRow(model, protocol, names.get(protocol, ""), attempt, claimed)
        row = rows[key]
        row.late += late
        row.all_sessions.add(problem, solved, sessions)
        if found is None:
            row.unreviewed += sessions
        else:
            (row.compliant if found == COMPLIANT else row.breached).add(problem, solved, sessions)
    order = list(ATTEMPT_NAMES)
    return sorted(
        rows.values(), key=lambda row: (row.model, row.protocol_name, order.index(row.attempt), row.claimed)
    )


@dataclass(frozen=True)
class SolveRateContrast:
    """The comparison of two rows that differ only in the model or only in the protocol, on their common problems.

    `difference` is the first row's share minus the second's. `p` is from McNemar's exact test if every problem has one
    session in each row, otherwise from the t test on problem means; `holm` is p with Holm's correction for all
    contrasts. Both are None for fewer than FEWEST_TESTED_PROBLEMS problems. `detectable` is the difference that these
    problems would detect with a power of 80 %.
    """

    first: SolveRateRow
    second: SolveRateRow
    problems: int
    first_sessions: int
    second_sessions: int
    excluded: int
    difference: PairedDifference
    detectable: float
    p: float | None
    holm: float | None

    @property
    def not_significant(self) -> bool:
        """Return whether the test, or without a test the interval, shows no significant difference."""
        if self.holm is not None:
            return self.holm >= SIGNIFICANCE
        return self.difference.interval.low <= 0 <= self.difference.interval.high

    @property
    def first_query(self) -> str:
        """Return the query string that selects the compared sessions of the first row."""
        return _query_with_other(self.first, self.second)

    @property
    def second_query(self) -> str:
        """Return the query string that selects the compared sessions of the second row."""
        return _query_with_other(self.second, self.first)


def _query_with_other(row: SolveRateRow, other: SolveRateRow) -> str:
    compared = urlencode({"other_model": other.model, "other_protocol": other.protocol or ""})
    return f"{row.query}&{compared}"


def contrasts(rows: Sequence[SolveRateRow]) -> list[SolveRateContrast]:
    """Return the contrasts of all pairs of judged rows with the same kind of attempt and common problems."""
    found = [
        fields
        for one, other in combinations([row for row in rows if not row.claimed], 2)
        if one.attempt == other.attempt
        and (one.model == other.model) != (one.protocol_name == other.protocol_name)
        and (fields := _contrast(one, other))
    ]
    tested = [contrast.p for contrast in found if contrast.p is not None]
    adjusted = iter(holm(tested))
    return [replace(one, holm=next(adjusted) if one.p is not None else None) for one in found]


def _contrast(first: SolveRateRow, second: SolveRateRow) -> SolveRateContrast | None:
    one, other = first.all_sessions.by_problem, second.all_sessions.by_problem
    common = sorted(one.keys() & other.keys())
    if not common:
        return None
    shares = [one[problem].share for problem in common], [other[problem].share for problem in common]
    sessions = [sum(tallies[problem].sessions for problem in common) for tallies in (one, other)]
    single = all(tallies[problem].sessions == 1 for tallies in (one, other) for problem in common)
    differences = [before - after for before, after in zip(*shares, strict=True)]
    won, lost = sum(value > 0 for value in differences), sum(value < 0 for value in differences)
    if single:
        p, detectable = mcnemar(won, lost), visible_difference(len(common), (won + lost) / len(common))
    else:
        p, detectable = problem_t_test(differences), visible_mean(differences)
    return SolveRateContrast(
        first=first,
        second=second,
        problems=len(common),
        first_sessions=sessions[0],
        second_sessions=sessions[1],
        excluded=first.all_sessions.sessions + second.all_sessions.sessions - sum(sessions),
        difference=paired_difference(*shares, binary=single),
        detectable=detectable,
        p=p if len(common) >= FEWEST_TESTED_PROBLEMS else None,
        holm=None,
    )
