"""How often sessions end solved: all of them, and those that reviews found compliant."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import urlencode

from django.db.models import Count, F, OuterRef, QuerySet, Subquery
from django.db.models.lookups import GreaterThan

from benchmark.metrics import Interval, wilson
from tutoring.models import Session, Settlement
from tutoring.models.sessions import SessionQuerySet
from tutoring.review.content import COMPLIANT

ATTEMPTS = {"first": "1", "later": "2 and later", "unknown": "unknown"}
"""A tutor who tries again knows the trap by then: later attempts are not independent of the first."""


@dataclass
class Rate:
    """Solved sessions among some, with Wilson's 95 % interval."""

    solved: int = 0
    sessions: int = 0

    @property
    def share(self) -> float | None:
        return self.solved / self.sessions if self.sessions else None

    @property
    def interval(self) -> Interval | None:
        return wilson(self.solved, self.sessions) if self.sessions else None


@dataclass
class SolveRates:
    """One model under one protocol, at one attempt. `unreviewed` sessions are in `everything` only."""

    model: str
    protocol: int | None
    protocol_name: str
    attempt: str
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
        )


def counted_sessions() -> SessionQuerySet:
    """Closed sessions with a known outcome that were not invalidated."""
    known = (Session.Outcome.SOLVED, Session.Outcome.NOT_SOLVED, Session.Outcome.ABANDONED)
    return Session.objects.filter(state=Session.State.CLOSED, invalidated=False, outcome__in=known)


def settled(version: int) -> QuerySet[Settlement]:
    """What the reviews of the session in the outer query came to; no row while that is open."""
    return Settlement.objects.filter(session=OuterRef("pk"), rule_set=version).exclude(verdict="")


def solve_rates(version: int) -> list[SolveRates]:
    """A row for each model, protocol and kind of attempt. One query."""
    counts = (
        counted_sessions()
        .order_by()
        .values_list(
            "model_spec",
            "protocol",
            "protocol__name",
            "protocol__version",
            "number",
            "outcome",
            GreaterThan(F("late_replies"), 0),
            Subquery(settled(version).values("verdict")),
        )
        .annotate(count=Count("pk"))
    )
    rows: dict[tuple[str, str, str], SolveRates] = {}
    for model, protocol, name, protocol_version, number, outcome, late, found, count in counts:
        attempt = "unknown" if number is None else "first" if number == 1 else "later"
        protocol_name = f"{name} v{protocol_version}" if name else ""
        key = (model, protocol_name, attempt)
        row = rows.setdefault(key, SolveRates(model, protocol, protocol_name, attempt))
        row.late += count if late else 0
        rates = [row.everything]
        if found is None:
            row.unreviewed += count
        else:
            rates.append(row.compliant if found == COMPLIANT else row.breached)
        for rate in rates:
            rate.sessions += count
            rate.solved += count if outcome == Session.Outcome.SOLVED else 0
    order = list(ATTEMPTS)
    return sorted(rows.values(), key=lambda row: (row.model, row.protocol_name, order.index(row.attempt)))
