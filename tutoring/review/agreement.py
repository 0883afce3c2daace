"""Reviewer agreement between independent reviews: for the verdict, each clause, the level and the stage.

Adjudications and invalidated sessions are excluded.

The agreement of a session's two reviews is counted once, when both are submitted, and stored in the session's review
outcome: the tables of all measures, concatenated. Every coefficient is computed from sums of these rows, not from
reviews. Two numbers beside them, with a bit for each measure, say what the session counts for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, NamedTuple, Self
from uuid import UUID

import numpy as np
from django.db.models import F, QuerySet, TextField
from django.db.models.functions import Cast
from numpy.typing import NDArray

from benchmark.metrics import Interval
from tutoring.models import ReviewOutcome, Session
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


class MeasureBits(NamedTuple):
    """The columns of `ReviewOutcome` that say which measures count the session."""

    counted_measures: int = 0
    """Bit i is set if the table of measure i has a unit."""
    differing_measures: int = 0
    """Bit i is set if the table of measure i has a unit off its diagonal."""


def measure_bits(counts: bytes, rules: RuleSet) -> MeasureBits:
    """Return the bits of `ReviewOutcome.counts`; no bit if these are not the tables of the rule set."""
    measures = agreement_measures(rules)
    if len(counts) != sum(measure.cells for measure in measures) * _STORED.itemsize:
        return MeasureBits()
    cells = np.frombuffer(counts, _STORED)
    counted = differing = start = 0
    for position, measure in enumerate(measures):
        size = len(measure.categories)
        table = cells[start : start + measure.cells].reshape(size, size)
        start += measure.cells
        counted |= int(table.any()) << position
        differing |= int(table.sum() > np.trace(table)) << position
    return MeasureBits(counted, differing)


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

    def tables(self, measure: AgreementMeasure, counts: NDArray[Any] | None = None) -> Tables:
        """Return the tables of one measure, one for each session or for each given row of summed counts.

        Shape: (rows, categories, categories).
        """
        keys = [one.key for one in agreement_measures(self.rules)]
        before = agreement_measures(self.rules)[: keys.index(measure.key)]
        start = sum(one.cells for one in before)
        size = len(measure.categories)
        rows = (self.counts if counts is None else counts)[:, start : start + measure.cells]
        return np.asarray(rows, float).reshape(len(rows), size, size)


def counted_review_outcomes(version: int) -> QuerySet[ReviewOutcome]:
    """Return the review outcomes, decided or disputed, without those of invalidated sessions and of rehearsals."""
    outcomes = ReviewOutcome.objects.filter(rule_set=version)
    invalidated = Session.objects.filter(invalidated=True)
    return outcomes.exclude(session__in=invalidated.values("pk")).exclude(session__in=rehearsed_sessions())


def complete_pairs(version: int) -> ReviewPairs:
    """Return the pairs of independent reviews under a rule set, without invalidated sessions. Runs one query."""
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

    def to_json(self) -> list[float | None]:
        """Return the value and the bounds of the interval, if it has one."""
        return [self.value, *(self.interval or ())]

    @classmethod
    def from_json(cls, document: list[Any]) -> Self:
        """Return the estimate that `to_json` stored."""
        value, *bounds = document
        return cls(value, Interval(*bounds) if bounds else None)


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


@dataclass(frozen=True)
class Agreement:
    """The agreement of all sessions with two reviews under a rule set.

    `pairs` has the pairs of reviewers by the key of a measure.
    """

    sessions: int
    rows: list[AgreementRow]
    pairs: dict[str, list[ReviewerPair]]

    def to_json(self) -> dict[str, Any]:
        """Return all figures as JSON values."""
        return {
            "sessions": self.sessions,
            "rows": [
                [
                    row.measure.key,
                    row.units,
                    row.differing,
                    row.counts,
                    *(
                        estimate and estimate.to_json()
                        for estimate in (row.percent, row.kappa, row.ac1, row.nominal, row.ordinal)
                    ),
                ]
                for row in self.rows
            ],
            "pairs": {
                key: [[pair.reviewers, pair.sessions, pair.percent.value, pair.kappa.value] for pair in found]
                for key, found in self.pairs.items()
            },
        }

    @classmethod
    def from_json(cls, document: dict[str, Any], rules: RuleSet) -> Self:
        """Return the figures that `to_json` stored."""
        measures = {measure.key: measure for measure in agreement_measures(rules)}
        return cls(
            document["sessions"],
            [
                AgreementRow(
                    measures[key],
                    units,
                    differing,
                    counts,
                    CoefficientEstimate.from_json(percent),
                    CoefficientEstimate.from_json(kappa),
                    CoefficientEstimate.from_json(ac1),
                    CoefficientEstimate.from_json(nominal),
                    CoefficientEstimate.from_json(ordinal) if ordinal else None,
                )
                for key, units, differing, counts, percent, kappa, ac1, nominal, ordinal in document["rows"]
            ],
            {
                key: [
                    ReviewerPair(
                        tuple(reviewers),
                        sessions,
                        CoefficientEstimate(percent, None),
                        CoefficientEstimate(kappa, None),
                    )
                    for reviewers, sessions, percent, kappa in found
                ]
                for key, found in document["pairs"].items()
            },
        )


def measure_agreement(rules: RuleSet) -> Agreement:
    """Return the agreement under a rule set, computed from the stored counts of all sessions."""
    pairs = complete_pairs(rules.version)
    return Agreement(len(pairs), agreement_rows(pairs), reviewer_pairs(pairs))


def agreement_rows(pairs: ReviewPairs) -> list[AgreementRow]:
    """Return the coefficients of each measure with intervals; empty without pairs."""
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


def reviewer_pairs(pairs: ReviewPairs) -> dict[str, list[ReviewerPair]]:
    """Return the agreement of every pair of reviewers, by the key of the measure."""
    shared: dict[tuple[str, str], list[int]] = {}
    for row, reviewers in enumerate(pairs.reviewers):
        shared.setdefault(reviewers, []).append(row)
    names = sorted(shared)
    width = pairs.counts.shape[1]
    sums = np.array([pairs.counts[shared[reviewers]].sum(0) for reviewers in names]).reshape(-1, width)
    return {
        measure.key: [
            ReviewerPair(
                reviewers,
                len(shared[reviewers]),
                _without_interval(percent_agreement(table)),
                _without_interval(cohen_kappa(table)),
            )
            for reviewers, table in zip(names, pairs.tables(measure, sums), strict=True)
        ]
        for measure in agreement_measures(pairs.rules)
    }


def _without_interval(value: Any) -> CoefficientEstimate:
    """Return an estimate without an interval: two reviewers often share too few sessions for one."""
    return CoefficientEstimate(None if np.isnan(value) else float(value), None)


def outcomes_of(
    rules: RuleSet, measure: AgreementMeasure, *, differing: bool, reviewers: tuple[str, ...] = ()
) -> QuerySet[ReviewOutcome]:
    """Return the outcomes that a figure counts; with `differing`, only those on which the reviewers differ."""
    bit = 1 << agreement_measures(rules).index(measure)
    measures = F("differing_measures" if differing else "counted_measures")
    found = counted_review_outcomes(rules.version).alias(chosen=measures.bitand(bit)).filter(chosen=bit)
    return found.filter(reviewers=list(reviewers)) if reviewers else found
