"""How often detectors and reviewers say the same: precision and recall, for each detector and each clause.

What reviewers say of a session is its settlement: two independent reviews that name the same forbidden clauses, or
the adjudication. A disputed session counts for nothing until it is adjudicated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple
from uuid import UUID

from django.db.models import F, Max, QuerySet

from benchmark.metrics import Interval, wilson
from tutoring.models import Finding, RuleCheck, Settlement
from tutoring.rules import RuleSet

Outcome = Literal["agreed", "alone", "missed"]
"""Found by both, by the detector alone, by the reviewers alone."""

ANY = ""
"""Stands for all detectors together, and for all clauses."""


class Place(NamedTuple):
    """A message, and a clause that it may break."""

    session_id: UUID
    seq: int
    clause: str


@dataclass(frozen=True)
class Share:
    """`hits` of `total` with Wilson's 95 % interval. Messages of one session are taken as independent."""

    hits: int
    total: int

    @property
    def value(self) -> float | None:
        return self.hits / self.total if self.total else None

    @property
    def interval(self) -> Interval | None:
        return wilson(self.hits, self.total) if self.total else None


@dataclass(frozen=True)
class Score:
    """One detector (or all of them) on one clause (or all of them)."""

    detector: str
    clause: str
    agreed: int
    alone: int
    missed: int

    @property
    def precision(self) -> Share:
        """Of what the detector found, the share that the reviewers found too."""
        return Share(self.agreed, self.agreed + self.alone)

    @property
    def recall(self) -> Share:
        """Of what the reviewers found, the share that the detector found too."""
        return Share(self.agreed, self.agreed + self.missed)


@dataclass(frozen=True)
class Evidence:
    """What settled sessions say: the reviewers' places, and each detector's, in sessions that it has read."""

    sessions: int
    reviewed: frozenset[Place]
    found: dict[str, frozenset[Place]]
    read: dict[str, frozenset[UUID]]

    def places(self, detector: str, clause: str, outcome: Outcome) -> set[Place]:
        """The places behind a count; ANY stands for all detectors, or for all clauses."""
        chosen = [detector] if detector != ANY else [name for name in self.found if not is_model(name)]
        found = frozenset().union(*(self.found.get(name, frozenset()) for name in chosen))
        read = frozenset().union(*(self.read.get(name, frozenset()) for name in chosen))
        expected = {place for place in self.reviewed if place.session_id in read}
        places = {
            "agreed": found & expected,
            "alone": found - expected,
            "missed": expected - found,
        }[outcome]
        return {place for place in places if clause in (ANY, place.clause)}


MODEL = "model "
"""How the names of models that were asked begin, to tell them from the detectors."""


def is_model(detector: str) -> bool:
    return detector.startswith(MODEL)


def evidence(rules: RuleSet) -> Evidence:
    """The settled sessions under that rule set that count and that detectors have read. Four queries."""
    settled = Settlement.objects.filter(rule_set=rules.version, session__invalidated=False).exclude(verdict="")
    breaches = dict(settled.values_list("session_id", "breaches"))
    forbidden = {clause.code for clause in rules.forbidden}
    found: dict[str, set[Place]] = {}
    read: dict[str, set[UUID]] = {}
    for check_id, session_id, names in _latest_checks(settled, rules.version):
        for name in names:
            read.setdefault(name, set()).add(session_id)
            found.setdefault(name, set())
    return Evidence(
        sessions=len(breaches),
        reviewed=frozenset(
            Place(session_id, seq, clause) for session_id, pairs in breaches.items() for seq, clause in pairs
        ),
        found={name: frozenset(places) for name, places in found.items()},
        read={name: frozenset(sessions) for name, sessions in read.items()},
    )
