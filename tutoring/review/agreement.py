"""How well independent reviews agree: for each clause, and over all; the adjudication is never counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from itertools import groupby
from typing import Any
from uuid import UUID

import numpy as np
from django.db.models import Count, Max, QuerySet

from benchmark.metrics import Interval
from tutoring.models import Review
from tutoring.review.coefficients import (
    Coefficient,
    Tables,
    alpha_nominal,
    alpha_ordinal,
    cohen_kappa,
    gwet_ac1,
    interval,
    percent_agreement,
    resampled,
    resampling_weights,
)
from tutoring.review.content import MessageLabels
from tutoring.rules import RuleSet, rule_set

Units = tuple[int, int, int]
"""The categories that the first and the second reviewer put things into, and how many things."""


@dataclass(frozen=True)
class Pair:
    """The two independent reviews of one session, in the order of the reviewers' pseudonyms.

    The order makes κ over many sessions of the same two people exactly Cohen's.
    """

    session_id: UUID
    reviewers: tuple[str, str]
    verdicts: tuple[str, str]
    messages: list[tuple[MessageLabels, MessageLabels]]
    """What each of them says of every message; quotes and notes are left out."""


@dataclass(frozen=True)
class Measure:
    """Something that both reviewers judge. `units` finds in a pair what each of them said, thing by thing."""

    key: str
    title: str
    counted: str
    categories: tuple[str, ...]
    ordinal: bool
    units: Callable[[Pair], Iterable[Units]]

    def tables(self, pairs: list[Pair]) -> Tables:
        """One table of counts a session (see `coefficients`)."""
        size = len(self.categories)
        places, counts = [], []
        for number, pair in enumerate(pairs):
            for first, second, count in self.units(pair):
                places.append((number * size + first) * size + second)
                counts.append(count)
        cells = np.bincount(np.array(places, dtype=int), counts, minlength=len(pairs) * size * size)
        return cells.astype(float).reshape(len(pairs), size, size)


State = tuple[int, datetime | None]
"""How many reviews are submitted, and when the latest was: until that changes, figures are kept."""


def _state(version: int) -> State:
    found = _submitted(version).aggregate(count=Count("pk"), latest=Max("submitted_at"))
    return found["count"], found["latest"]


def _submitted(version: int) -> QuerySet[Review]:
    return Review.objects.filter(rule_set=version, state=Review.State.SUBMITTED, place__in=Review.INDEPENDENT)


def complete_pairs(version: int) -> list[Pair]:
    """The sessions whose two independent reviews under that rule set are in. One query, two after a change."""
    return _pairs(version, _state(version))


@lru_cache(maxsize=2)
def _pairs(version: int, state: State) -> list[Pair]:
    reviews = _submitted(version).order_by("session_id", "by").values_list("session_id", "by", "content")
    pairs = []
    for session_id, rows in groupby(reviews.iterator(2000), key=lambda row: row[0]):
        found = list(rows)
        if len(found) == len(Review.INDEPENDENT):
            (_, one, first), (_, other, second) = found
            verdicts = (first["verdict"], second["verdict"])
            pairs.append(Pair(session_id, (one, other), verdicts, _side_by_side(first, second)))
    return pairs


def _side_by_side(first: dict[str, Any], second: dict[str, Any]) -> list[tuple[MessageLabels, MessageLabels]]:
    one, other = _labels(first), _labels(second)
    return [
        (one.get(seq) or MessageLabels(seq), other.get(seq) or MessageLabels(seq))
        for seq in sorted(one.keys() | other.keys())
    ]


def _labels(content: dict[str, Any]) -> dict[int, MessageLabels]:
    return {
        labels["seq"]: MessageLabels(
            labels["seq"], tuple(labels["clauses"]), labels["level"], labels["stage"]
        )
        for labels in content["messages"]
    }


def measures(rules: RuleSet) -> list[Measure]:
    """The verdict, forbidden clauses at all, all clauses together, each clause, level and stage."""
    no_yes = ("no", "yes")
    forbidden = frozenset(clause.code for clause in rules.forbidden)
    verdicts = [verdict.code for verdict in rules.verdicts]
    levels = [level.level for level in rules.levels]
    stages = [stage.code for stage in rules.stages]

    def of_verdicts(pair: Pair) -> Iterator[Units]:
        first, second = pair.verdicts
        yield verdicts.index(first), verdicts.index(second), 1

    def of_breaches(pair: Pair) -> Iterator[Units]:
        for first, second in pair.messages:
            yield (
                int(not forbidden.isdisjoint(first.clauses)),
                int(not forbidden.isdisjoint(second.clauses)),
                1,
            )

    def of_decisions(pair: Pair) -> Iterator[Units]:
        for first, second in pair.messages:
            one, other = set(first.clauses), set(second.clauses)
            yield 1, 1, len(one & other)
            yield 1, 0, len(one - other)
            yield 0, 1, len(other - one)
            yield 0, 0, len(rules.clauses) - len(one | other)

    def of_clause(code: str) -> Callable[[Pair], Iterator[Units]]:
        def units(pair: Pair) -> Iterator[Units]:
            for first, second in pair.messages:
                yield int(code in first.clauses), int(code in second.clauses), 1

        return units

    def of_levels(pair: Pair) -> Iterator[Units]:
        for first, second in pair.messages:
            if first.level is not None and second.level is not None:
                yield levels.index(first.level), levels.index(second.level), 1

    def of_stages(pair: Pair) -> Iterator[Units]:
        for first, second in pair.messages:
            if first.stage and second.stage:
                yield stages.index(first.stage), stages.index(second.stage), 1

    return [
        Measure("verdict", "Verdict on the session", "sessions", tuple(verdicts), True, of_verdicts),
        Measure("forbidden", "Any forbidden clause", "messages", no_yes, False, of_breaches),
        Measure("clauses", "All clauses together", "decisions", no_yes, False, of_decisions),
        *(
            Measure(clause.code, clause.title, "messages", no_yes, False, of_clause(clause.code))
            for clause in rules.clauses
        ),
        Measure("level", "Level of help", "messages", tuple(map(str, levels)), True, of_levels),
        Measure("stage", "Stage", "messages", tuple(stages), False, of_stages),
    ]


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


def agreement(version: int) -> list[AgreementRow]:
    """Each measure over all pairs under that rule set, with intervals; empty without pairs."""
    return _rows(version, _state(version))


@lru_cache(maxsize=2)
def _rows(version: int, state: State) -> list[AgreementRow]:
    pairs = _pairs(version, state)
    if not pairs:
        return []
    weights = resampling_weights(len(pairs))
    rows = []
    for measure in measures(rule_set(version)):
        tables = measure.tables(pairs)
        counts = tables.sum(0)
        drawn = resampled(tables, weights)

        def figure(coefficient: Coefficient, counts: Tables = counts, drawn: Tables = drawn) -> Figure:
            value = float(coefficient(counts))
            return Figure(None, None) if np.isnan(value) else Figure(value, interval(coefficient(drawn)))

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


def reviewer_pairs(pairs: list[Pair], measure: Measure) -> list[ReviewerPair]:
    """The matrix between reviewers for one measure."""
    together: dict[tuple[str, str], list[Pair]] = {}
    for pair in pairs:
        together.setdefault(pair.reviewers, []).append(pair)
    rows = []
    for reviewers, shared in sorted(together.items()):
        counts = measure.tables(shared).sum(0)
        rows.append(
            ReviewerPair(
                reviewers,
                len(shared),
                _alone(percent_agreement(counts)),
                _alone(cohen_kappa(counts)),
            )
        )
    return rows


def _alone(value: Any) -> Figure:
    """A figure without an interval: pairs of reviewers often share too few sessions for one."""
    return Figure(None if np.isnan(value) else float(value), None)


def sessions_of(
    pairs: list[Pair], measure: Measure, *, differing: bool, reviewers: tuple[str, ...] = ()
) -> set[UUID]:
    """The sessions behind a figure: those with something to count, or with a difference in it."""
    return {
        pair.session_id
        for pair in pairs
        if (not reviewers or pair.reviewers == reviewers)
        and any(count and (first != second or not differing) for first, second, count in measure.units(pair))
    }
