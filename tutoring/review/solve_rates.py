"""How often sessions end solved: all of them, and those that reviews found compliant.

Sessions of one problem are alike, so every rate is the mean over problems of the share of a problem's sessions, and
its interval is over problems. `contrasts` compares models or protocols on the problems that both have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from statistics import fmean
from urllib.parse import urlencode

from django.db.models import Case, Count, OuterRef, Q, QuerySet, Subquery, Value, When

from benchmark.metrics import (
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
from tutoring.models import Protocol, Session, ReviewOutcome
from tutoring.models.sessions import SessionQuerySet
from tutoring.review.content import COMPLIANT

ATTEMPTS = {"first": "1", "later": "2 and later", "unknown": "unknown"}
"""A tutor who tries again knows the trap by then: later attempts are not independent of the first."""


FEWEST_TO_TEST = 6
"""Problems in common from which a contrast is tested (docs/spec.md 9.1)."""


@dataclass
class Tally:
    """Sessions at one problem, and how many of them were solved."""

    solved: int = 0
    sessions: int = 0

    @property
    def share(self) -> float:
        return self.solved / self.sessions


@dataclass
class Rate:
    """Solved sessions among some. The share and the interval leave out the sessions whose problem is unknown.

    Where no problem is known, the share is of sessions, and there is no interval.
    """

    solved: int = 0
    sessions: int = 0
    by_problem: dict[int, Tally] = field(default_factory=dict)

    def add(self, problem: int | None, solved: int, sessions: int) -> None:
        """Count sessions at one problem, or at an unknown one."""
        self.solved += solved
        self.sessions += sessions
        if problem is not None:
            tally = self.by_problem.setdefault(problem, Tally())
            tally.solved += solved
            tally.sessions += sessions

    @cached_property
    def left_out(self) -> int:
        """How many sessions are of an unknown problem."""
        return self.sessions - sum(tally.sessions for tally in self.by_problem.values())

    @cached_property
    def share(self) -> float | None:
        """The mean over problems of the share of solved sessions; None without sessions."""
        if self.by_problem:
            return fmean(tally.share for tally in self.by_problem.values())
        return self.solved / self.sessions if self.sessions else None

    @cached_property
    def interval(self) -> NamedInterval | None:
        """Wilson's where every problem has a single session, else t on problem means.

        t is taken for many problems too: it covers as well there as the bootstrap, which would take half of the page's
        time.
        """
        if not self.by_problem:
            return None
        shares = [tally.share for tally in self.by_problem.values()]
        if all(tally.sessions == 1 for tally in self.by_problem.values()):
            return rate_interval(shares, single=True)
        return problem_t(shares)


@dataclass
class SolveRates:
    """One model under one protocol, at one attempt. `unreviewed` sessions are in `everything` only.

    Outcomes that imported records only claim (`claimed`) are rows of their own: nothing here has judged them.
    """

    model: str
    protocol: int | None
    protocol_name: str
    attempt: str
    claimed: bool = False
    everything: Rate = field(default_factory=Rate)
    compliant: Rate = field(default_factory=Rate)
    breached: Rate = field(default_factory=Rate)
    unreviewed: int = 0
    late: int = 0
    """Sessions in which a blind tutor could have noticed the model's pace, because a reply came late."""

    @property
    def attempt_name(self) -> str:
        return ATTEMPTS[self.attempt]

    @property
    def query(self) -> str:
        """The part of an address that names these sessions."""
        return urlencode(
            {"rate": 1, "model": self.model, "protocol": self.protocol or "", "attempt": self.attempt}
            | ({"claimed": 1} if self.claimed else {})
        )


def counted_sessions() -> SessionQuerySet:
    """Closed sessions with a known outcome that were not invalidated."""
    known = (Session.Outcome.SOLVED, Session.Outcome.NOT_SOLVED, Session.Outcome.ABANDONED)
    return Session.objects.filter(state=Session.State.CLOSED, invalidated=False, outcome__in=known)


def settled(version: int) -> QuerySet[ReviewOutcome]:
    """What the reviews of the session in the outer query came to; no row while that is open."""
    return ReviewOutcome.objects.filter(session=OuterRef("pk"), rule_set=version).exclude(verdict="")


def solve_rates(version: int) -> list[SolveRates]:
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
            Subquery(settled(version).values("verdict")),
            "problem",
        )
        .annotate(
            sessions=Count("pk"),
            solved=Count("pk", filter=Q(outcome=Session.Outcome.SOLVED)),
            late=Count("pk", filter=Q(late_replies__gt=0)),
        )
    )
    rows: dict[tuple[str, int | None, str, bool], SolveRates] = {}
    for model, protocol, attempt, claimed, found, problem, sessions, solved, late in counts:
        key = (model, protocol, attempt, claimed)
        if key not in rows:
            rows[key] = SolveRates(model, protocol, names.get(protocol, ""), attempt, claimed)
        row = rows[key]
        row.late += late
        row.everything.add(problem, solved, sessions)
        if found is None:
            row.unreviewed += sessions
        else:
            (row.compliant if found == COMPLIANT else row.breached).add(problem, solved, sessions)
    order = list(ATTEMPTS)
    return sorted(
        rows.values(), key=lambda row: (row.model, row.protocol_name, order.index(row.attempt), row.claimed)
    )


@dataclass(frozen=True)
class Contrast:
    """Two rows that differ in the model or the protocol alone, on the problems that both have.

    `difference` is the first row's share minus the second's. `p` is McNemar's exact test where every problem has one
    session of each, else the t test on problem means; `holm` is p adjusted for all contrasts. Both are None for fewer
    than FEWEST_TO_TEST problems. `visible` is the difference that these problems would show with a power of 80 %.
    """

    first: SolveRates
    second: SolveRates
    problems: int
    first_sessions: int
    second_sessions: int
    left_out: int
    difference: PairedDifference
    visible: float
    p: float | None
    holm: float | None

    @property
    def inside_noise(self) -> bool:
        """Whether the test, or the interval where there is none, shows no difference."""
        if self.holm is not None:
            return self.holm >= SIGNIFICANCE
        return self.difference.interval.low <= 0 <= self.difference.interval.high

    @property
    def first_query(self) -> str:
        """The part of an address that names the sessions of the first row that are compared."""
        return _compared_query(self.first, self.second)

    @property
    def second_query(self) -> str:
        """The same of the second row."""
        return _compared_query(self.second, self.first)


def _compared_query(row: SolveRates, other: SolveRates) -> str:
    beside = urlencode({"beside_model": other.model, "beside_protocol": other.protocol or ""})
    return f"{row.query}&{beside}"


def contrasts(rows: Sequence[SolveRates]) -> list[Contrast]:
    """Return the contrast of every two judged rows of the same attempt that have problems in common."""
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


def _contrast(first: SolveRates, second: SolveRates) -> Contrast | None:
    one, other = first.everything.by_problem, second.everything.by_problem
    common = sorted(one.keys() & other.keys())
    if not common:
        return None
    shares = [one[problem].share for problem in common], [other[problem].share for problem in common]
    sessions = [sum(tallies[problem].sessions for problem in common) for tallies in (one, other)]
    single = all(tallies[problem].sessions == 1 for tallies in (one, other) for problem in common)
    differences = [before - after for before, after in zip(*shares, strict=True)]
    won, lost = sum(value > 0 for value in differences), sum(value < 0 for value in differences)
    if single:
        p, visible = mcnemar(won, lost), visible_difference(len(common), (won + lost) / len(common))
    else:
        p, visible = problem_t_test(differences), visible_mean(differences)
    return Contrast(
        first=first,
        second=second,
        problems=len(common),
        first_sessions=sessions[0],
        second_sessions=sessions[1],
        left_out=first.everything.sessions + second.everything.sessions - sum(sessions),
        difference=paired_difference(*shares, binary=single),
        visible=visible,
        p=p if len(common) >= FEWEST_TO_TEST else None,
        holm=None,
    )
