"""How well independent reviews agree: for each clause, and over all.

The adjudication is never counted, and no session that was invalidated.

What two reviews of a session come to is counted once, when both are in, and kept with the session's review_outcome: a
table for each measure, one behind the other. Every figure is a sum of these rows, so no page reads a review again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
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

Units = tuple[int, int, int]
"""The categories that the first and the second reviewer put things into, and how many things."""

_STORED = np.dtype("<i4")


@dataclass(frozen=True)
class Measure:
    """Something that both reviewers judge. `units` finds in two reviews what each of them said, thing by thing."""

    key: str
    title: str
    counted: str
    categories: tuple[str, ...]
    ordinal: bool
    units: Callable[[Content, Content], Iterable[Units]]

    @property
    def cells(self) -> int:
        return len(self.categories) ** 2

    def table(self, first: Content, second: Content) -> NDArray[np.int32]:
        """How many things the first review puts into category i and the second into j (see `coefficients`)."""
        size = len(self.categories)
        counted = np.zeros((size, size), _STORED)
        for one, other, count in self.units(first, second):
            counted[one, other] += count
        return counted


def count_agreement(first: Content, second: Content, rules: RuleSet) -> bytes:
    """The tables of all measures, as a review_outcome keeps them. `first` is the review of the reviewer named first."""
    return b"".join(measure.table(first, second).tobytes() for measure in measures(rules))


@dataclass(frozen=True, eq=False)
class Pairs:
    """Sessions with two independent reviews under one rule set; row i of `counts` is about session i.

    The reviewers of a session are in the order of their pseudonyms, which makes κ over many sessions of the same two
    people exactly Cohen's.
    """

    rules: RuleSet
    sessions: list[UUID]
    reviewers: list[tuple[str, str]]
    counts: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.sessions)

    def tables(
        self, measure: Measure, counts: NDArray[np.float32] | NDArray[np.int32] | None = None
    ) -> Tables:
        """The tables of one measure: of every session, or in sums of such rows."""
        start = 0
        for one in measures(self.rules):
            if one.key == measure.key:
                break
            start += one.cells
        size = len(measure.categories)
        rows = (self.counts if counts is None else counts)[:, start : start + measure.cells]
        return np.asarray(rows, float).reshape(len(rows), size, size)

    def of(self, reviewers: tuple[str, ...]) -> NDArray[np.bool_]:
        """Which sessions these two have reviewed; all of them where none are named."""
        return np.array([not reviewers or names == reviewers for names in self.reviewers], bool)


def counted_review_outcomes(version: int) -> QuerySet[ReviewOutcome]:
    """What both reviews came to, disputed or not, of sessions that were not invalidated."""
    return ReviewOutcome.objects.filter(rule_set=version, session__invalidated=False)


def complete_pairs(version: int) -> Pairs:
    """The sessions that count and whose two independent reviews under that rule set are in.

    One query, two after a change; the same object until then.
    """
    found = counted_review_outcomes(version).aggregate(count=Count("pk"), latest=Max("at"))
    return _pairs(version, (found["count"], found["latest"]))


@lru_cache(maxsize=2)
def _pairs(version: int, state: tuple[int, datetime | None]) -> Pairs:
    """`state` is how many are settled or disputed, and since when: until that changes, the pairs are kept."""
    rows = counted_review_outcomes(version).order_by("pk")
    # As text, because thousands of sessions have a few pairs of reviewers.
    named = rows.annotate(names=Cast("reviewers", TextField())).values_list("session_id", "names", "counts")
    found = list(named)
    of_names: dict[str, tuple[str, str]] = {
        names: tuple(json.loads(names)) for names in {names for _, names, _ in found}
    }
    rules = rule_set(version)
    counts = np.frombuffer(b"".join(bytes(stored) for _, _, stored in found), _STORED)
    return Pairs(
        rules=rules,
        sessions=[session_id for session_id, _, _ in found],
        reviewers=[of_names[names] for _, names, _ in found],
        counts=counts.reshape(len(found), sum(measure.cells for measure in measures(rules))),
    )


def _side_by_side(first: Content, second: Content) -> list[tuple[MessageLabels, MessageLabels]]:
    one, other = ({labels.seq: labels for labels in content.messages} for content in (first, second))
    return [
        (one.get(seq) or MessageLabels(seq), other.get(seq) or MessageLabels(seq))
        for seq in sorted(one.keys() | other.keys())
    ]


@lru_cache(maxsize=8)
def measures(rules: RuleSet) -> tuple[Measure, ...]:
    """The verdict, forbidden clauses at all, all clauses together, each clause, level and stage."""
    no_yes = ("no", "yes")
    forbidden = rules.forbidden_codes
    verdicts = [verdict.code for verdict in rules.verdicts]
    levels = [level.level for level in rules.levels]
    stages = [stage.code for stage in rules.stages]

    def of_verdicts(one: Content, other: Content) -> Iterator[Units]:
        yield verdicts.index(one.verdict), verdicts.index(other.verdict), 1

    def of_breaches(one: Content, other: Content) -> Iterator[Units]:
        for first, second in _side_by_side(one, other):
            yield (
                int(not forbidden.isdisjoint(first.clauses)),
                int(not forbidden.isdisjoint(second.clauses)),
                1,
            )

    def of_decisions(one: Content, other: Content) -> Iterator[Units]:
        for first, second in _side_by_side(one, other):
            chosen, rival = set(first.clauses), set(second.clauses)
            yield 1, 1, len(chosen & rival)
            yield 1, 0, len(chosen - rival)
            yield 0, 1, len(rival - chosen)
            yield 0, 0, len(rules.clauses) - len(chosen | rival)

    def of_clause(code: str) -> Callable[[Content, Content], Iterator[Units]]:
        def units(one: Content, other: Content) -> Iterator[Units]:
            for first, second in _side_by_side(one, other):
                yield int(code in first.clauses), int(code in second.clauses), 1

        return units

    def of_levels(one: Content, other: Content) -> Iterator[Units]:
        for first, second in _side_by_side(one, other):
            if first.level is not None and second.level is not None:
                yield levels.index(first.level), levels.index(second.level), 1

    def of_stages(one: Content, other: Content) -> Iterator[Units]:
        for first, second in _side_by_side(one, other):
            if first.stage and second.stage:
                yield stages.index(first.stage), stages.index(second.stage), 1

    return (
        Measure("verdict", "Verdict on the session", "sessions", tuple(verdicts), True, of_verdicts),
        Measure("forbidden", "Any forbidden clause", "messages", no_yes, False, of_breaches),
        Measure("clauses", "All clauses together", "decisions", no_yes, False, of_decisions),
        *(
            Measure(clause.code, clause.title, "messages", no_yes, False, of_clause(clause.code))
            for clause in rules.clauses
        ),
        Measure("level", "Level of help", "messages", tuple(map(str, levels)), True, of_levels),
        Measure("stage", "Stage", "messages", tuple(stages), False, of_stages),
    )


@dataclass(frozen=True)
class Figure:
    """A coefficient with its 95 % interval; None where it is not defined."""

    value: float | None
    interval: Interval | None


@dataclass(frozen=True)
class AgreementRow:
    """All coefficients of one measure. `counts` is the table over all sessions."""

    measure: Measure
    units: int
    differing: int
    counts: list[list[int]]
    percent: Figure
    kappa: Figure
    ac1: Figure
    nominal: Figure
    ordinal: Figure | None


@dataclass(frozen=True)
class ReviewerPair:
    """Two reviewers and how they agree over the sessions that both have reviewed."""

    reviewers: tuple[str, str]
    sessions: int
    percent: Figure
    kappa: Figure


@lru_cache(maxsize=2)
def agreement(pairs: Pairs) -> list[AgreementRow]:
    """Each measure over all pairs, with intervals; empty without pairs. Kept as long as the same pairs are given."""
    if not pairs:
        return []
    resampled = resampling_weights(len(pairs)) @ pairs.counts.astype(np.float32)
    rows = []
    for measure in measures(pairs.rules):
        counts = pairs.tables(measure).sum(0)
        drawn = pairs.tables(measure, resampled)

        def figure(coefficient: Coefficient, counts: Tables = counts, drawn: Tables = drawn) -> Figure:
            value = float(coefficient(counts))
            if np.isnan(value):
                return Figure(None, None)
            # Drawn from a single session, every resample is that session.
            return Figure(value, interval(coefficient(drawn)) if len(pairs) > 1 else None)

        rows.append(
            AgreementRow(
                measure=measure,
                units=int(counts.sum()),
                differing=int(counts.sum() - np.trace(counts)),
                counts=[[int(count) for count in row] for row in counts],
                percent=figure(percent_agreement),
                kappa=figure(cohen_kappa),
                ac1=figure(gwet_ac1),
                nominal=figure(alpha_nominal),
                ordinal=figure(alpha_ordinal) if measure.ordinal else None,
            )
        )
    return rows


def reviewer_pairs(pairs: Pairs, measure: Measure) -> list[ReviewerPair]:
    """The matrix between reviewers for one measure."""
    tables = pairs.tables(measure)
    rows = []
    for reviewers in sorted(set(pairs.reviewers)):
        shared = pairs.of(reviewers)
        counts = tables[shared].sum(0)
        rows.append(
            ReviewerPair(
                reviewers,
                int(shared.sum()),
                _alone(percent_agreement(counts)),
                _alone(cohen_kappa(counts)),
            )
        )
    return rows


def _alone(value: Any) -> Figure:
    """A figure without an interval: pairs of reviewers often share too few sessions for one."""
    return Figure(None if np.isnan(value) else float(value), None)


def sessions_of(
    pairs: Pairs, measure: Measure, *, differing: bool, reviewers: tuple[str, ...] = ()
) -> set[UUID]:
    """The sessions behind a figure: those with something to count, or with a difference in it."""
    tables = pairs.tables(measure)
    counted = tables.sum((-2, -1))
    if differing:
        counted = counted - np.trace(tables, axis1=-2, axis2=-1)
    chosen = (counted > 0) & pairs.of(reviewers)
    return {session for session, behind in zip(pairs.sessions, chosen, strict=True) if behind}
