"""Detector scores: precision and recall of each detector on each clause, against the reviewers' labels.

The reviewers' labels of a session are those of its review outcome: two independent reviews with the same forbidden
clauses, or the adjudication. A disputed session is excluded until its adjudication.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Any, NamedTuple, Self
from uuid import UUID

from django.db.models import QuerySet

from benchmark.metrics import Interval, wilson
from tutoring.models import Finding, ReviewOutcome, RuleCheck
from tutoring.review.agreement import counted_review_outcomes
from tutoring.rules import RuleSet
from tutoring.rules.detectors import detectors

ALL_DETECTORS = "all detectors"
"""Name of the score of all detectors together, without models."""


OUTCOMES = {
    "agreed": "found by both",
    "alone": "found by the detector only",
    "missed": "found by reviewers only",
}
"""The kinds of messages that a score counts, with their descriptions."""


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
    """The score of one detector, one model or ALL_DETECTORS on one clause: numbers of messages with the clause."""

    detector: str
    clause: str
    agreed: int
    """Found by both."""
    alone: int
    """Found by the detector only."""
    missed: int
    """Found by the reviewers only, in sessions that the detector has checked."""

    @property
    def precision(self) -> Proportion:
        """Return the share of the detector's findings that the reviewers found too."""
        return Proportion(self.agreed, self.agreed + self.alone)

    @property
    def recall(self) -> Proportion:
        """Return the share of the reviewers' findings that the detector found too."""
        return Proportion(self.agreed, self.agreed + self.missed)


@dataclass(frozen=True)
class ScoredMessages:
    """The messages that the score of a detector on a clause counts, in a fixed order."""

    detector: str
    clause: str
    agreed: Sequence[MessageClause]
    alone: Sequence[MessageClause]
    missed: Sequence[MessageClause]

    @property
    def score(self) -> DetectorScore:
        """Return the numbers of messages."""
        return DetectorScore(self.detector, self.clause, len(self.agreed), len(self.alone), len(self.missed))

    def to_json(self) -> dict[str, Any]:
        """Return the messages as JSON values."""
        return {name: [[str(one.session_id), one.seq] for one in getattr(self, name)] for name in OUTCOMES}


@dataclass(frozen=True)
class DetectorScores:
    """All scores, those of ALL_DETECTORS first, from `sessions` decided sessions."""

    sessions: int
    rows: list[DetectorScore]

    def to_json(self) -> dict[str, Any]:
        """Return all scores as JSON values."""
        return {"sessions": self.sessions, "rows": [list(astuple(row)) for row in self.rows]}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Self:
        """Return the scores that `to_json` stored."""
        return cls(document["sessions"], [DetectorScore(*row) for row in document["rows"]])


def decided_outcomes(version: int) -> QuerySet[ReviewOutcome]:
    """Return the decided outcomes that scores count."""
    return counted_review_outcomes(version).exclude(verdict="")


def score_detectors(rules: RuleSet) -> tuple[DetectorScores, list[ScoredMessages]]:
    """Return the scores from decided, not invalidated sessions that were checked, and the messages of each score."""
    breaches = dict(decided_outcomes(rules.version).values_list("session_id", "breaches"))
    reviewed: defaultdict[str, set[MessageClause]] = defaultdict(set)
    for session, pairs in breaches.items():
        for seq, code in pairs:
            reviewed[code].add(MessageClause(session, seq, code))
    checked, found = _findings(rules)

    def score(detector: str, clause: str, checker: str) -> ScoredMessages:
        own = found[detector, clause]
        expected = {one for one in reviewed[clause] if one.session_id in checked[checker]}
        return ScoredMessages(
            detector,
            clause,
            agreed=sorted(own & expected),
            alone=sorted(own - expected),
            missed=sorted(expected - own),
        )

    codes = [clause.code for clause in rules.forbidden]
    rows = [score(ALL_DETECTORS, code, ALL_DETECTORS) for code in codes]
    rows += [
        score(detector.name, code, ALL_DETECTORS)
        for detector in detectors().values()
        for code in detector.clauses
    ]
    rows += [
        score(model, code, model) for model in sorted(checked.keys() - {ALL_DETECTORS}) for code in codes
    ]
    return DetectorScores(len(breaches), [row.score for row in rows]), rows


def _findings(
    rules: RuleSet,
) -> tuple[dict[str, set[UUID]], dict[tuple[str, str], set[MessageClause]]]:
    """Return the decided sessions that each checker has checked, and the findings by detector and clause.

    A checker is ALL_DETECTORS or the name of a model. Only its latest check of a session counts.
    """
    checks = RuleCheck.objects.filter(
        rule_set=rules.version, session__review_outcomes__in=decided_outcomes(rules.version)
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
