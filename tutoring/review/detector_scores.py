"""Detector scores: precision and recall of each detector on each clause, against the reviewers' labels.

The reviewers' labels of a session are those of its review outcome: two independent reviews with the same forbidden
clauses, or the adjudication. A disputed session is excluded until its adjudication.
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
from tutoring.models import Finding, ReviewOutcome, RuleCheck
from tutoring.review.agreement import counted_review_outcomes
from tutoring.rules import RuleSet
from tutoring.rules.detection import Detector
from tutoring.rules.detectors import DETECTORS

ALL_DETECTORS = "all detectors"
"""Name of the score of all detectors together, without models."""


class MessageClause(NamedTuple):
    """A message and a clause that it may break."""

    session_id: UUID
    seq: int
    clause: str


@dataclass(frozen=True)
class Proportion:
    """A share, `hits` of `total`, with Wilson's 95 % interval, which assumes that messages are independent."""

    hits: int
    total: int

    @property
    def value(self) -> float | None:
        """Return the share, or None for a total of 0."""
        return self.hits / self.total if self.total else None

    @property
    def interval(self) -> Interval | None:
        """Return the confidence interval, or None for a total of 0."""
        return wilson(self.hits, self.total) if self.total else None


@dataclass(frozen=True)
class DetectorScore:
    """The score of one detector, one model or ALL_DETECTORS on one clause."""

    detector: str
    clause: str
    agreed: frozenset[MessageClause]
    """Messages with the clause found by both."""
    alone: frozenset[MessageClause]
    """Messages with the clause found by the detector only."""
    missed: frozenset[MessageClause]
    """Messages with the clause found by the reviewers only, in sessions that the detector has checked."""

    @property
    def precision(self) -> Proportion:
        """Return the share of the detector's findings that the reviewers found too."""
        return Proportion(len(self.agreed), len(self.agreed) + len(self.alone))

    @property
    def recall(self) -> Proportion:
        """Return the share of the reviewers' findings that the detector found too."""
        return Proportion(len(self.agreed), len(self.agreed) + len(self.missed))


@dataclass(frozen=True)
class DetectorScores:
    """All scores, those of ALL_DETECTORS first, from `sessions` decided sessions."""

    sessions: int
    rows: list[DetectorScore]

    def score(self, detector: str, clause: str) -> DetectorScore:
        """Return the score of a detector on a clause. Raise KeyError if there is none."""
        for row in self.rows:
            if (row.detector, row.clause) == (detector, clause):
                return row
        raise KeyError(detector, clause)


def detector_scores(rules: RuleSet) -> DetectorScores:
    """Return the scores from decided, not invalidated sessions that were checked under the rule set.

    The result is cached until a review outcome, a check or a detector changes.
    """
    outcomes = _decided_outcomes(rules.version).aggregate(decided=Count("pk"), latest=Max("at"))
    newest = RuleCheck.objects.aggregate(newest=Max("pk"))["newest"]
    return _scores(rules, tuple(DETECTORS.values()), (outcomes["decided"], outcomes["latest"], newest))


def _decided_outcomes(version: int) -> QuerySet[ReviewOutcome]:
    return counted_review_outcomes(version).exclude(verdict="")


@lru_cache(maxsize=2)
def _scores(
    rules: RuleSet, detectors: tuple[Detector, ...], _state: tuple[int, datetime | None, int | None]
) -> DetectorScores:
    breaches = dict(_decided_outcomes(rules.version).values_list("session_id", "breaches"))
    reviewed = {
        MessageClause(session, seq, code) for session, pairs in breaches.items() for seq, code in pairs
    }
    checked, found = _findings(rules)

    def score(detector: str, clause: str, checker: str) -> DetectorScore:
        own = found[detector, clause]
        expected = {one for one in reviewed if one.clause == clause and one.session_id in checked[checker]}
        return DetectorScore(
            detector,
            clause,
            agreed=frozenset(own & expected),
            alone=frozenset(own - expected),
            missed=frozenset(expected - own),
        )

    codes = [clause.code for clause in rules.forbidden]
    rows = [score(ALL_DETECTORS, code, ALL_DETECTORS) for code in codes]
    rows += [score(detector.name, code, ALL_DETECTORS) for detector in detectors for code in detector.clauses]
    rows += [
        score(model, code, model) for model in sorted(checked.keys() - {ALL_DETECTORS}) for code in codes
    ]
    return DetectorScores(sessions=len(breaches), rows=rows)


def _findings(
    rules: RuleSet,
) -> tuple[dict[str, set[UUID]], dict[tuple[str, str], set[MessageClause]]]:
    """Return the decided sessions that each checker has checked, and the findings by detector and clause.

    A checker is ALL_DETECTORS or the name of a model. Only its latest check of a session counts.
    """
    checks = RuleCheck.objects.filter(
        rule_set=rules.version, session__review_outcomes__in=_decided_outcomes(rules.version)
    ).order_by("checked_at", "pk")
    latest = {
        (session, model or ALL_DETECTORS): check
        for check, session, model in checks.values_list("pk", "session_id", "model")
    }
    checker_of = {check: key for key, check in latest.items()}
    checked: defaultdict[str, set[UUID]] = defaultdict(set)
    for session, checker in latest:
        checked[checker].add(session)
    found: defaultdict[tuple[str, str], set[MessageClause]] = defaultdict(set)
    findings = Finding.objects.filter(rule_check__in=checks.order_by())
    for check, seq, clause, detector in findings.values_list(
        "rule_check", "event__seq", "clause", "detector"
    ):
        if check in checker_of:
            session, checker = checker_of[check]
            found[checker, clause].add(MessageClause(session, seq, clause))
            if checker == ALL_DETECTORS:
                found[detector, clause].add(MessageClause(session, seq, clause))
    return checked, found
