"""Figures over all reviewed sessions: computed by the request for few sessions, else by a worker, which stores them.

A page of stored figures states when they were computed, and whether rows have changed since. `FIGURES` lists the kinds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, NamedTuple, TypeVar

from django.db.models import Count, Max, Q, QuerySet, Sum
from django.utils import timezone

from benchmark.models import Rejudging
from tutoring.models import Assignment, Event, RuleCheck, Session, StoredFigures, Study
from tutoring.review.agreement import Agreement, counted_review_outcomes, measure_agreement
from tutoring.review.detector_scores import DetectorScores, score_detectors
from tutoring.review.solve_rates import SolveRateRow, solve_rates
from tutoring.rules import RuleSet, rule_set, rule_set_versions
from tutoring.rules.detectors import detectors

T = TypeVar("T")

DOCUMENT_VERSION = 1
"""The version of the stored documents. Pages do not read those of other versions, which a worker replaces."""

REFRESH = timedelta(seconds=30)
"""Time between two computations of the same figures."""


class RowsState(NamedTuple):
    """The number of sessions that figures count, at least, and a text that changes with the counted rows."""

    sessions: int
    fingerprint: str


@dataclass(frozen=True)
class Computed(Generic[T]):
    """Figures with the time of their computation; None: computed for this request. `stale`: rows have changed since."""

    figures: T
    at: datetime | None = None
    stale: bool = False


@dataclass(eq=False)
class FigureKind(Generic[T]):
    """A kind of figures.

    `compute` yields names and documents; the first has the name of the kind. Up to `most_sessions` sessions, a request
    computes the figures itself.
    """

    name: str
    state: Callable[[int], RowsState]
    compute: Callable[[RuleSet], Iterator[tuple[str, Any]]]
    read: Callable[[Any, RuleSet], T]
    most_sessions: int

    def current(self, rules: RuleSet) -> Computed[T]:
        """Return the figures. Writes nothing, also if no worker has stored them yet."""
        found = self.document(rules, self.name)
        assert found is not None
        return Computed(self.read(found.figures, rules), found.at, found.stale)

    def document(self, rules: RuleSet, name: str) -> Computed[Any] | None:
        """Return a document of this kind; None if the figures have no document of this name."""
        state = self.state(rules.version)
        if state.sessions > self.most_sessions:
            stored = {row.name: row for row in self.stored(rules.version).filter(name__in=(self.name, name))}
            if self.name in stored:
                if name not in stored:
                    return None
                row = stored[name]
                return Computed(row.figures, row.computed_at, row.fingerprint != state.fingerprint)
        documents = dict(self.compute(rules))
        return Computed(documents[name]) if name in documents else None

    def stored(self, version: int) -> QuerySet[StoredFigures]:
        """Return the stored documents of this kind that this version of the program can read."""
        return StoredFigures.objects.filter(
            Q(name=self.name) | Q(name__startswith=f"{self.name}: "),
            rule_set=version,
            fingerprint__startswith=f"{DOCUMENT_VERSION} ",
        )


def stale_figures() -> Iterator[tuple[str, int]]:
    """Yield the kinds and rule sets whose stored figures a worker must compute."""
    for version in rule_set_versions():
        for kind in FIGURES.values():
            stored = kind.stored(version).filter(name=kind.name).first()
            if stored is not None and timezone.now() - stored.computed_at < REFRESH:
                continue
            state = kind.state(version)
            if state.sessions > kind.most_sessions and (
                stored is None or stored.fingerprint != state.fingerprint
            ):
                yield kind.name, version


def store_figures(name: str, version: int) -> None:
    """Compute and store the figures of one kind."""
    kind, now = FIGURES[name], timezone.now()
    fingerprint = kind.state(version).fingerprint
    documents = dict(kind.compute(rule_set(version)))
    for one, figures in documents.items():
        StoredFigures.objects.update_or_create(
            name=one,
            rule_set=version,
            defaults={"fingerprint": fingerprint, "figures": figures, "computed_at": now},
        )
    kind.stored(version).exclude(name__in=documents).delete()


def _outcomes_state(version: int) -> RowsState:
    """Return the state of the review outcomes that figures count."""
    outcomes = counted_review_outcomes(version).aggregate(count=Count("session"), revisions=Sum("revision"))
    return RowsState(outcomes["count"], f"{DOCUMENT_VERSION} {outcomes['count']} {outcomes['revisions']}")


def _checks_state(version: int) -> RowsState:
    """Return the state of the review outcomes, the rule checks and the detectors."""
    sessions, fingerprint = _outcomes_state(version)
    checks = RuleCheck.objects.aggregate(count=Count("pk"), newest=Max("pk"))
    versions = " ".join(f"{one.name}@{one.version}:{','.join(one.clauses)}" for one in detectors().values())
    return RowsState(
        sessions,
        f"{fingerprint} {checks['count']} {checks['newest']} {hashlib.sha256(versions.encode()).hexdigest()[:16]}",
    )


def _sessions_state(version: int) -> RowsState:
    """Return the state of review outcomes, studies and sessions, which append an event when they change.

    The newest event alone could hide one that is committed after it, so what changes closed sessions is counted too.
    """
    fingerprint = _outcomes_state(version).fingerprint
    sessions = Session.objects.filter(state=Session.State.CLOSED).count()
    invalidated = Session.objects.filter(invalidated=True).count()
    rejudgings = Rejudging.objects.filter(state=Rejudging.State.APPLIED).count()
    assigned = Assignment.objects.filter(session__isnull=False).count()
    newest = Event.objects.aggregate(newest=Max("pk"))["newest"]
    studies = sorted(Study.objects.values_list("pk", "state", "rehearsal"))
    digest = hashlib.sha256(repr(studies).encode()).hexdigest()[:16]
    numbers = f"{sessions} {invalidated} {rejudgings} {assigned} {newest}"
    return RowsState(sessions, f"{fingerprint} {numbers} {digest}")


def _compute_agreement(rules: RuleSet) -> Iterator[tuple[str, Any]]:
    yield "agreement", measure_agreement(rules).to_json()


def _compute_detectors(rules: RuleSet) -> Iterator[tuple[str, Any]]:
    scores, messages = score_detectors(rules)
    yield "detectors", scores.to_json()
    for one in messages:
        yield messages_name(one.detector, one.clause), one.to_json()


def messages_name(detector: str, clause: str) -> str:
    """Return the name of the document with the messages of a score."""
    return f"detectors: {clause} {detector}"


def _compute_solve_rates(rules: RuleSet) -> Iterator[tuple[str, Any]]:
    yield "solve rates", [row.to_json() for row in solve_rates(rules.version)]


AGREEMENT: FigureKind[Agreement] = FigureKind(
    "agreement", _outcomes_state, _compute_agreement, Agreement.from_json, 500
)
DETECTOR_SCORES: FigureKind[DetectorScores] = FigureKind(
    "detectors",
    _checks_state,
    _compute_detectors,
    lambda document, _: DetectorScores.from_json(document),
    500,
)
SOLVE_RATES: FigureKind[list[SolveRateRow]] = FigureKind(
    "solve rates",
    _sessions_state,
    _compute_solve_rates,
    lambda document, _: [SolveRateRow.from_json(one) for one in document],
    20_000,
)
FIGURES: dict[str, FigureKind[Any]] = {kind.name: kind for kind in (AGREEMENT, DETECTOR_SCORES, SOLVE_RATES)}
