"""How well independent reviews agree: for each clause, and over all; the adjudication is never counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any
from uuid import UUID

import numpy as np

from benchmark.metrics import Interval
from tutoring.models import Review
from tutoring.review.coefficients import (
    Coefficient,
    Tables,
    alpha_nominal,
    alpha_ordinal,
    bootstrap_interval,
    cohen_kappa,
    gwet_ac1,
    percent_agreement,
    resampling_weights,
)
from tutoring.review.content import Content
from tutoring.rules import RuleSet

Unit = tuple[int, int]
"""The categories that the first and the second reviewer put one thing into."""


@dataclass(frozen=True)
class Pair:
    """The two independent reviews of one session, in the order of the reviewers' pseudonyms.

    The order makes κ over many sessions of the same two people exactly Cohen's.
    """

    session_id: UUID
    reviewers: tuple[str, str]
    first: Content
    second: Content

    def seqs(self) -> list[int]:
        """The messages that have labels."""
        return sorted({labels.seq for labels in (*self.first.messages, *self.second.messages)})


@dataclass(frozen=True)
class Measure:
    """Something that both reviewers judge. `units` finds in a pair what each of them said, thing by thing."""

    key: str
    title: str
    counted: str
    categories: tuple[str, ...]
    ordinal: bool
    units: Callable[[Pair], Iterable[Unit]]

    def tables(self, pairs: list[Pair]) -> Tables:
        """One table of counts a session (see `coefficients`)."""
        size = len(self.categories)
        tables = np.zeros((len(pairs), size, size))
        for number, pair in enumerate(pairs):
            for first, second in self.units(pair):
                tables[number, first, second] += 1
        return tables


def complete_pairs(version: int) -> list[Pair]:
    """The sessions whose two independent reviews under that rule set are in. One query."""
    reviews = (
        Review.objects.filter(rule_set=version, state=Review.State.SUBMITTED, place__in=Review.INDEPENDENT)
        .order_by("session_id", "by")
        .values_list("session_id", "by", "content")
    )
    pairs = []
    for session_id, rows in groupby(reviews.iterator(2000), key=lambda row: row[0]):
        found = [(by, Content.from_json(content)) for _, by, content in rows]
        if len(found) == len(Review.INDEPENDENT):
            (one, first), (other, second) = found
            pairs.append(Pair(session_id, (one, other), first, second))
    return pairs


def measures(rules: RuleSet) -> list[Measure]:
    """The verdict, forbidden clauses at all, all clauses together, each clause, level and stage."""
    no_yes = ("no", "yes")
    forbidden = frozenset(clause.code for clause in rules.forbidden)
    everything = tuple(clause.code for clause in rules.clauses)
    verdicts = [verdict.code for verdict in rules.verdicts]
    levels = [level.level for level in rules.levels]
    stages = [stage.code for stage in rules.stages]

    def of_verdicts(pair: Pair) -> Iterator[Unit]:
        yield verdicts.index(pair.first.verdict), verdicts.index(pair.second.verdict)

    def of_breaches(pair: Pair) -> Iterator[Unit]:
        for seq in pair.seqs():
            first, second = pair.first.labels(seq).clauses, pair.second.labels(seq).clauses
            yield int(not forbidden.isdisjoint(first)), int(not forbidden.isdisjoint(second))

    def of_clauses(*codes: str) -> Callable[[Pair], Iterator[Unit]]:
        def units(pair: Pair) -> Iterator[Unit]:
            for seq in pair.seqs():
                first, second = pair.first.labels(seq).clauses, pair.second.labels(seq).clauses
                for code in codes:
                    yield int(code in first), int(code in second)

        return units

    def of_levels(pair: Pair) -> Iterator[Unit]:
        for seq in pair.seqs():
            first, second = pair.first.labels(seq).level, pair.second.labels(seq).level
            if first is not None and second is not None:
                yield levels.index(first), levels.index(second)

    def of_stages(pair: Pair) -> Iterator[Unit]:
        for seq in pair.seqs():
            first, second = pair.first.labels(seq).stage, pair.second.labels(seq).stage
            if first and second:
                yield stages.index(first), stages.index(second)

    return [
        Measure("verdict", "Verdict on the session", "sessions", tuple(verdicts), True, of_verdicts),
        Measure("forbidden", "Any forbidden clause", "messages", no_yes, False, of_breaches),
        Measure("clauses", "All clauses together", "decisions", no_yes, False, of_clauses(*everything)),
        *(
            Measure(clause.code, clause.title, "messages", no_yes, False, of_clauses(clause.code))
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


def agreement_rows(pairs: list[Pair], measured: list[Measure]) -> list[AgreementRow]:
    """Each measure over all pairs, with intervals by resampling whole sessions. Needs at least one pair."""
    weights = resampling_weights(len(pairs))
    rows = []
    for measure in measured:
        tables = measure.tables(pairs)
        counts = tables.sum(0)

        def figure(coefficient: Coefficient, tables: Tables = tables, counts: Tables = counts) -> Figure:
            value = float(coefficient(counts))
            if np.isnan(value):
                return Figure(None, None)
            return Figure(value, bootstrap_interval(tables, coefficient, weights))

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
        and any(first != second or not differing for first, second in measure.units(pair))
    }
