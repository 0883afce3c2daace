"""How often detectors and reviewers say the same: precision and recall, for each detector and each clause.

What reviewers say of a session is its review_outcome: two independent reviews that name the same forbidden clauses, or
the adjudication. A disputed session counts for nothing until it is adjudicated.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple
from uuid import UUID

from django.db.models import Count, Max, QuerySet

from benchmark.metrics import Interval, wilson
from tutoring.models import Finding, RuleCheck, ReviewOutcome
from tutoring.review.agreement import counted_review_outcomes
from tutoring.rules import RuleSet
from tutoring.rules.detectors import DETECTORS

ALL = "all detectors"
"""Stands in the place of a detector for those of them together. Models that were asked are not among them."""


class Place(NamedTuple):
    """A message, and a clause that it may break."""

    session_id: UUID
    seq: int
    clause: str


@dataclass(frozen=True)
class Share:
    """`hits` of `total` with Wilson's 95 % interval, which takes the messages of a session as independent."""

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
    """One detector (a model that was asked, or ALL) on one clause."""

    detector: str
    clause: str
    agreed: frozenset[Place]
    """What it and the reviewers found."""
    alone: frozenset[Place]
    """What it found and the reviewers did not."""
    missed: frozenset[Place]
    """What the reviewers found in sessions that it has read, and it did not."""

    @property
    def precision(self) -> Share:
        """Of what it found, the share that the reviewers found too."""
        return Share(len(self.agreed), len(self.agreed) + len(self.alone))

    @property
    def recall(self) -> Share:
        """Of what the reviewers found, the share that it found too."""
        return Share(len(self.agreed), len(self.agreed) + len(self.missed))


@dataclass(frozen=True)
class Scores:
    """All scores, those of ALL first; `sessions` says how many settled sessions they are drawn from."""

    sessions: int
    rows: list[Score]

    def score(self, detector: str, clause: str) -> Score:
        """Raises KeyError where there is none."""
        for row in self.rows:
            if (row.detector, row.clause) == (detector, clause):
                return row
        raise KeyError(detector, clause)


def detector_scores(rules: RuleSet) -> Scores:
    """From settled sessions that count and were checked under that rule set. Kept until one of them changes."""
    state = _settled(rules.version).aggregate(settled=Count("pk"), latest=Max("at"))
    newest = RuleCheck.objects.aggregate(newest=Max("pk"))["newest"]
    return _scores(rules, (state["settled"], state["latest"], newest))


def _settled(version: int) -> QuerySet[ReviewOutcome]:
    return counted_review_outcomes(version).exclude(verdict="")


@lru_cache(maxsize=2)
def _scores(rules: RuleSet, state: tuple[int, datetime | None, int | None]) -> Scores:
    breaches = dict(_settled(rules.version).values_list("session_id", "breaches"))
    reviewed = {Place(session, seq, code) for session, pairs in breaches.items() for seq, code in pairs}
    checks = RuleCheck.objects.filter(
        rule_set=rules.version, session__review_outcomes__in=_settled(rules.version)
    ).order_by("checked_at", "pk")
    latest = {
        (session, model): check for check, session, model in checks.values_list("pk", "session_id", "model")
    }
    readers = {check: (session, model or ALL) for (session, model), check in latest.items()}
    read: defaultdict[str, set[UUID]] = defaultdict(set)
    for session, reader in readers.values():
        read[reader].add(session)
    found: defaultdict[tuple[str, str], set[Place]] = defaultdict(set)
    findings = Finding.objects.filter(rule_check__in=checks.order_by())
    for check, seq, clause, detector in findings.values_list(
        "rule_check", "event__seq", "clause", "detector"
    ):
        if check in readers:
            session, reader = readers[check]
            found[reader, clause].add(Place(session, seq, clause))
            if reader == ALL:
                found[detector, clause].add(Place(session, seq, clause))

    def score(detector: str, clause: str, reader: str) -> Score:
        own = found[detector, clause]
        expected = {
            place for place in reviewed if place.clause == clause and place.session_id in read[reader]
        }
        return Score(
            detector, clause, frozenset(own & expected), frozenset(own - expected), frozenset(expected - own)
        )

    codes = [clause.code for clause in rules.forbidden]
    rows = [score(ALL, code, ALL) for code in codes]
    rows += [score(detector.name, code, ALL) for detector in DETECTORS for code in detector.clauses]
    rows += [score(model, code, model) for model in sorted(read.keys() - {ALL}) for code in codes]
    return Scores(sessions=len(breaches), rows=rows)
