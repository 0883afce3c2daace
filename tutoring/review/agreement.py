"""Reviewer agreement between independent reviews: for the verdict, each clause, the level and the stage.

Adjudications and invalidated sessions are excluded.

The agreement of a session's two reviews is counted once, when both are submitted, and stored in the session's review
outcome: the tables of all measures, concatenated. Every coefficient is computed from sums of these rows, so pages read
no reviews.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache, partial
from typing import Any
from uuid import UUID

import numpy as np
from django.db.models import Count, Max, QuerySet, TextField
from django.db.models.functions import Cast
from numpy.typing import NDArray

from benchmark.metrics import Interval
from tutoring.models import ReviewOutcome
from tutoring.review.coefficients import (
    Coefficient,
    Tables,
    alpha_nominal,
    alpha_ordinal,
    cohen_kappa,
    gwet_ac1,
    interval,
    percent_agreement,
    resampling_weights,
)
from tutoring.review.content import Content, MessageLabels
from tutoring.rules import RuleSet, rule_set
from tutoring.sessions.assignments import rehearsed_sessions

UnitCount = tuple[int, int, int]
"""Category of the first reviewer, category of the second, and the number of units with this pair."""

_STORED = np.dtype("<i4")


@dataclass(frozen=True)
class AgreementMeasure:
    """A kind of label on which agreement is measured.

    `key` names the measure in addresses, `counted` says what a unit is, and `units` counts the pairs of categories in
    two reviews.
    """

    key: str
    title: str
    counted: str
    categories: tuple[str, ...]
    ordinal: bool
    units: Callable[[Content, Content], Iterable[UnitCount]]

    @property
    def cells(self) -> int:
        """Return the number of cells of the table."""
        return len(self.categories) ** 2

    def table(self, first: Content, second: Content) -> NDArray[np.int32]:
        """Return the counts [i, j] of units in category i of the first review and j of the second."""
        size = len(self.categories)
        counted = np.zeros((size, size), _STORED)
        for one, other, count in self.units(first, second):
            counted[one, other] += count
        return counted


def count_agreement(first: Content, second: Content, rules: RuleSet) -> bytes:
    """Return the tables of all measures as bytes for `ReviewOutcome.counts`.

    `first` is the review by the reviewer whose pseudonym comes first in alphabetical order.
    """
    return b"".join(measure.table(first, second).tobytes() for measure in agreement_measures(rules))


@dataclass(frozen=True, eq=False)
class ReviewPairs:
    """Sessions with two independent reviews under one rule set. Row i of `counts` belongs to session i.

    The reviewers of a session are in alphabetical order of their pseudonyms. Over several sessions of the same two
    people, κ is therefore exactly Cohen's.
    """

    rules: RuleSet
    sessions: list[UUID]
    reviewers: list[tuple[str, str]]
    counts: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.sessions)

    def tables(
        self, measure: AgreementMeasure, counts: NDArray[np.float32] | NDArray[np.int32] | None = None
    ) -> Tables:
        """Return the tables of one measure, one for each session or for each given row of summed counts.

        Shape: (rows, categories, categories).
        """
        keys = [one.key for one in agreement_measures(self.rules)]
        before = agreement_measures(self.rules)[: keys.index(measure.key)]
        start = sum(one.cells for one in before)
        size = len(measure.categories)
        rows = (self.counts if counts is None else counts)[:, start : start + measure.cells]
        return np.asarray(rows, float).reshape(len(rows), size, size)

    def reviewed_by(self, reviewers: tuple[str, ...]) -> NDArray[np.bool_]:
        """Return a mask of the sessions that these two people reviewed; of all sessions for an empty tuple."""
        return np.array([not reviewers or names == reviewers for names in self.reviewers], bool)


def counted_review_outcomes(version: int) -> QuerySet[ReviewOutcome]:
    """Return the review outcomes, decided or disputed, without those of invalidated sessions and of rehearsals."""
    outcomes = ReviewOutcome.objects.filter(rule_set=version, session__invalidated=False)
    return outcomes.exclude(session__in=rehearsed_sessions())


def complete_pairs(version: int) -> ReviewPairs:
    """Return the pairs of independent reviews under a rule set, without invalidated sessions.

    Runs one query, and a second one after a change. Without a change, the cached object is returned.
    """
    found = counted_review_outcomes(version).aggregate(count=Count("pk"), latest=Max("at"))
    return _pairs(version, (found["count"], found["latest"]))


@lru_cache(maxsize=2)
def _pairs(version: int, _state: tuple[int, datetime | None]) -> ReviewPairs:
    """Return the pairs from the database. A new `_state`, count and latest time of outcomes, is a new cache entry."""
    rows = counted_review_outcomes(version).order_by("pk")
    # As text: thousands of sessions share a few pairs of names, which are parsed once each.
    named = rows.annotate(names=Cast("reviewers", TextField())).values_list("session_id", "names", "counts")
    found = list(named)
    of_names: dict[str, tuple[str, str]] = {
        names: tuple(json.loads(names)) for names in {names for _, names, _ in found}
    }
    rules = rule_set(version)
    counts = np.frombuffer(b"".join(bytes(stored) for _, _, stored in found), _STORED)
    return ReviewPairs(
        rules=rules,
        sessions=[session_id for session_id, _, _ in found],
        reviewers=[of_names[names] for _, names, _ in found],
        counts=counts.reshape(len(found), sum(measure.cells for measure in agreement_measures(rules))),
    )


def _paired_labels(first: Content, second: Content) -> list[tuple[MessageLabels, MessageLabels]]:
    one, other = ({labels.seq: labels for labels in content.messages} for content in (first, second))
    return [
        (one.get(seq) or MessageLabels(seq), other.get(seq) or MessageLabels(seq))
        for seq in sorted(one.keys() | other.keys())
    ]


def _count_verdicts(rules: RuleSet, first: Content, second: Content) -> Iterator[UnitCount]:
    verdicts = [verdict.code for verdict in rules.verdicts]
    yield verdicts.index(first.verdict), verdicts.index(second.verdict), 1


def _count_breaches(rules: RuleSet, first: Content, second: Content) -> Iterator[UnitCount]:
    for one, other in _paired_labels(first, second):
        broken = [not rules.forbidden_codes.isdisjoint(labels.clauses) for labels in (one, other)]
        yield int(broken[0]), int(broken[1]), 1


def _count_decisions(rules: RuleSet, first: Content, second: Content) -> Iterator[UnitCount]:
    for one, other in _paired_labels(first, second):
        chosen, rival = set(one.clauses), set(other.clauses)
        yield 1, 1, len(chosen & rival)
        yield 1, 0, len(chosen - rival)
        yield 0, 1, len(rival - chosen)
        yield 0, 0, len(rules.clauses) - len(chosen | rival)


def _count_clause(code: str, first: Content, second: Content) -> Iterator[UnitCount]:
    for one, other in _paired_labels(first, second):
        yield int(code in one.clauses), int(code in other.clauses), 1


def _count_levels(rules: RuleSet, first: Content, second: Content) -> Iterator[UnitCount]:
    levels = [level.level for level in rules.levels]
    for one, other in _paired_labels(first, second):
        if one.level is not None and other.level is not None:
            yield levels.index(one.level), levels.index(other.level), 1


def _count_stages(rules: RuleSet, first: Content, second: Content) -> Iterator[UnitCount]:
    stages = [stage.code for stage in rules.stages]
    for one, other in _paired_labels(first, second):
        if one.stage and other.stage:
            yield stages.index(one.stage), stages.index(other.stage), 1


@lru_cache(maxsize=8)
def agreement_measures(rules: RuleSet) -> tuple[AgreementMeasure, ...]:
    """Return the measures of a rule set: verdict, any forbidden clause, all clauses, each clause, level and stage.

    Stored counts depend on this order.
    """
    no_yes = ("no", "yes")
    verdicts = tuple(verdict.code for verdict in rules.verdicts)
    levels = tuple(str(level.level) for level in rules.levels)
    stages = tuple(stage.code for stage in rules.stages)
    return (
        AgreementMeasure(
            "verdict", "Verdict on the session", "sessions", verdicts, True, partial(_count_verdicts, rules)
        ),
        AgreementMeasure(
            "forbidden", "Any forbidden clause", "messages", no_yes, False, partial(_count_breaches, rules)
        ),
        AgreementMeasure(
            "clauses", "All clauses together", "decisions", no_yes, False, partial(_count_decisions, rules)
        ),
        *(
            AgreementMeasure(
                clause.code, clause.title, "messages", no_yes, False, partial(_count_clause, clause.code)
            )
            for clause in rules.clauses
        ),
        AgreementMeasure("level", "Level of help", "messages", levels, True, partial(_count_levels, rules)),
        AgreementMeasure("stage", "Stage", "messages", stages, False, partial(_count_stages, rules)),
    )


@dataclass(frozen=True)
class CoefficientEstimate:
    """A coefficient with its 95 % confidence interval. Both are None if undefined."""

    value: float | None
    interval: Interval | None


@dataclass(frozen=True)
class AgreementRow:
    """All coefficients of one measure.

    `counts` is the table over all sessions and `differing` its sum off the diagonal.
    """

    measure: AgreementMeasure
    units: int
    differing: int
    counts: list[list[int]]
    percent: CoefficientEstimate
    kappa: CoefficientEstimate
    ac1: CoefficientEstimate
    nominal: CoefficientEstimate
    ordinal: CoefficientEstimate | None


@dataclass(frozen=True)
class ReviewerPair:
    """The agreement of two reviewers over the sessions that both have reviewed."""

    reviewers: tuple[str, str]
    sessions: int
    percent: CoefficientEstimate
    kappa: CoefficientEstimate


@lru_cache(maxsize=2)
def agreement(pairs: ReviewPairs) -> list[AgreementRow]:
    """Return the coefficients of each measure with intervals; empty without pairs. Cached for the same pairs."""
    if not pairs:
        return []
    resampled = resampling_weights(len(pairs)) @ pairs.counts.astype(np.float32)
    rows = []
    for measure in agreement_measures(pairs.rules):
        counts = pairs.tables(measure).sum(0)
        drawn = pairs.tables(measure, resampled)

        def estimate(
            coefficient: Coefficient, counts: Tables = counts, drawn: Tables = drawn
        ) -> CoefficientEstimate:
            value = float(coefficient(counts))
            if np.isnan(value):
                return CoefficientEstimate(None, None)
            # With a single session, all resamples are equal: there is no interval.
            return CoefficientEstimate(value, interval(coefficient(drawn)) if len(pairs) > 1 else None)

        rows.append(
            AgreementRow(
                measure=measure,
                units=int(counts.sum()),
                differing=int(counts.sum() - np.trace(counts)),
                counts=[[int(count) for count in row] for row in counts],
                percent=estimate(percent_agreement),
                kappa=estimate(cohen_kappa),
                ac1=estimate(gwet_ac1),
                nominal=estimate(alpha_nominal),
                ordinal=estimate(alpha_ordinal) if measure.ordinal else None,
            )
        )
    return rows


def reviewer_pairs(pairs: ReviewPairs, measure: AgreementMeasure) -> list[ReviewerPair]:
    """Return the agreement of every pair of reviewers for one measure."""
    tables = pairs.tables(measure)
    rows = []
    for reviewers in sorted(set(pairs.reviewers)):
        shared = pairs.reviewed_by(reviewers)
        counts = tables[shared].sum(0)
        rows.append(
            ReviewerPair(
                reviewers,
                int(shared.sum()),
                _without_interval(percent_agreement(counts)),
                _without_interval(cohen_kappa(counts)),
            )
        )
    return rows


def _without_interval(value: Any) -> CoefficientEstimate:
    """Return an estimate without an interval: two reviewers often share too few sessions for one."""
    return CoefficientEstimate(None if np.isnan(value) else float(value), None)


def sessions_of(
    pairs: ReviewPairs, measure: AgreementMeasure, *, differing: bool, reviewers: tuple[str, ...] = ()
) -> set[UUID]:
    """Return the sessions that a figure counts; with `differing`, only those in which the reviewers differ."""
    tables = pairs.tables(measure)
    counted = tables.sum((-2, -1))
    if differing:
        counted = counted - np.trace(tables, axis1=-2, axis2=-1)
    chosen = (counted > 0) & pairs.reviewed_by(reviewers)
    return {session for session, is_chosen in zip(pairs.sessions, chosen, strict=True) if is_chosen}
