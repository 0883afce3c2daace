"""Blind labels of whether a hint is true of another program: which placements get one, the queue, and the command.

Labels exist only for own programs, because a transplanted hint fits by construction. They are stored and changed only
before the first draw of their replay.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import ceil
from uuid import UUID

import numpy as np
from django.contrib.auth.models import User
from django.db.models import Count, Min, QuerySet, Window

from accounts.pseudonyms import pseudonym
from accounts.roles import Role
from benchmark.metrics import Interval
from tutoring.models import ApplicabilityLabel, HintCard, Placement, ReplayRun
from tutoring.replay.estimates import Fit
from tutoring.review.actions import ReviewAction
from tutoring.review.coefficients import alpha_ordinal, interval, resampling_weights
from tutoring.review.slots import is_own, leads_to_own
from tutoring.sessions.context import RefusedError

LABELS_EACH = 2
"""Reviewers who label a placement."""

RANDOM_SHARE = 0.2
"""The share of the placements whose fit is not "near" that is labelled too."""

VALUES: tuple[str, ...] = tuple(ApplicabilityLabel.Value.values)

LABELS_FIXED = "The first draw of this replay was requested, so its labels are fixed."
NOT_TO_LABEL = "This hint is not one of those to label."
OWN_SESSION = "You were the tutor who wrote this hint, so you cannot label it."
ENOUGH_LABELS = "Two other reviewers have labelled this hint already. Continue with the next one."


def label_orders(fits: Sequence[Fit], seed: int) -> list[int | None]:
    """Return the position of each placement in the random order of labelling; None: not to be labelled.

    All near placements are labelled, and a random 20 % of the others.
    """
    generator = random.Random(f"{seed} labels")  # noqa: S311  (a sample, not a secret)
    near = [number for number, fit in enumerate(fits) if fit == "near"]
    others = [number for number, fit in enumerate(fits) if fit != "near"]
    chosen = [*near, *generator.sample(others, ceil(RANDOM_SHARE * len(others)))]
    generator.shuffle(chosen)
    orders: list[int | None] = [None] * len(fits)
    for order, number in enumerate(chosen):
        orders[number] = order
    return orders


def to_label() -> QuerySet[Placement]:
    """Return the placements whose labels can be stored: those of replays without a draw, by replay in random order."""
    found = Placement.objects.filter(state__run__state=ReplayRun.State.FIXED, label_order__isnull=False)
    return found.order_by("state__run__fixed_at", "state__run", "label_order")


def waiting_for(person: User) -> QuerySet[Placement]:
    """Return the placements that still need a label of this person, in the order of labelling.

    The person is neither the hint's tutor nor one of two who have labelled it.
    """
    labelled = ApplicabilityLabel.objects.order_by().values("placement")
    complete = labelled.annotate(count=Count("*")).filter(count__gte=LABELS_EACH)
    waiting = to_label().exclude(pk__in=complete.values("placement"))
    waiting = waiting.exclude(pk__in=labelled.filter(reviewer=person))
    # Few cards are a person's own: to find them first is faster than to follow each placement to its session.
    own = HintCard.objects.filter(leads_to_own(person, "event__session")).order_by()
    return waiting.exclude(card__in=own.values("pk"))


def next_to_label(person: User) -> tuple[Placement | None, int]:
    """Return the next placement that waits for a label of this person, and the number of those that wait."""
    counted = waiting_for(person).annotate(number=Window(Count("pk"))).values_list("pk", "number").first()
    if counted is None:
        return None, 0
    placement, number = counted
    return Placement.objects.select_related("card__problem__dataset", "state").get(pk=placement), number


def missing_labels(run: ReplayRun) -> tuple[int, int]:
    """Return the number of the run's placements with fewer than two labels, and of all that are to be labelled."""
    rows = Placement.objects.filter(state__run=run, label_order__isnull=False)
    labels = rows.annotate(count=Count("labels")).values_list("count", flat=True)
    counts = list(labels)
    return sum(count < LABELS_EACH for count in counts), len(counts)


def lock_run(run_id: UUID) -> ReplayRun:
    """Return the run, locked until the transaction ends: labels and the first draw exclude each other.

    PostgreSQL locks the row. On SQLite the whole transaction holds the write lock (IMMEDIATE).
    """
    return ReplayRun.objects.select_for_update().get(pk=run_id)


@dataclass(frozen=True, kw_only=True)
class LabelApplicability(ReviewAction):
    """An action that stores a reviewer's label of a placement, or changes it, before the first draw of the replay."""

    placement_id: int
    value: str

    def perform(self, now: datetime) -> None:
        self.require(Role.REVIEWER, Role.ADJUDICATOR)
        placement = Placement.objects.select_related("card__event__session", "state").get(
            pk=self.placement_id
        )
        run, session = lock_run(placement.state.run_id), placement.card.event.session
        if self.value not in VALUES:
            raise RefusedError(f"Choose one of: {', '.join(VALUES)}.")
        if run.labels_fixed:
            raise RefusedError(LABELS_FIXED)
        if placement.label_order is None:
            raise RefusedError(NOT_TO_LABEL)
        if is_own(session, self.person):
            raise RefusedError(OWN_SESSION)
        if placement.labels.exclude(reviewer=self.person).count() >= LABELS_EACH:
            raise RefusedError(ENOUGH_LABELS)
        ApplicabilityLabel.objects.update_or_create(
            placement=placement,
            reviewer=self.person,
            defaults={"by": pseudonym(self.person), "value": self.value, "labelled_at": now},
        )
        self.record(session, placement=placement.pk, value=self.value)


def settled_label(values: Collection[str]) -> str:
    """Return the label of a placement: the common one of two reviewers; blank if they differ or one is missing."""
    return next(iter(values)) if len(values) == LABELS_EACH and len(set(values)) == 1 else ""


def label_kind(values: Collection[str]) -> str:
    """Return the settled label, "different" if two reviewers differ, or "missing" with fewer than two labels."""
    return settled_label(values) or ("different" if len(values) == LABELS_EACH else "missing")


KINDS = (*VALUES, "different", "missing")
"""The columns of the table of signatures and labels."""


def with_label(rows: QuerySet[Placement], kind: str) -> QuerySet[Placement]:
    """Return the placements to be labelled whose labels are of one of the `KINDS`."""
    counted = (
        rows.filter(label_order__isnull=False)
        .annotate(
            given=Count("labels"), values=Count("labels__value", distinct=True), value=Min("labels__value")
        )
        .order_by("pk")
    )
    if kind == "missing":
        return counted.filter(given__lt=LABELS_EACH)
    complete = counted.filter(given=LABELS_EACH)
    return complete.filter(values=2) if kind == "different" else complete.filter(values=1, value=kind)


@dataclass(frozen=True)
class LabelFigures:
    """The labels of a run's placements: counts by signature class and label, and the agreement of the reviewers.

    `alpha` is Krippendorff's ordinal α; its interval is a bootstrap over problems. Both are None if undefined.
    """

    table: Mapping[str, Mapping[str, int]]
    pairs: int
    alpha: float | None
    alpha_interval: Interval | None


def label_figures(rows: Sequence[tuple[str, str, Sequence[str]]]) -> LabelFigures | None:
    """Return the figures of placements to be labelled, each a problem, a signature class and its labels; None: no row.

    The order of the two reviewers does not matter.
    """
    if not rows:
        return None
    table: dict[str, Counter[str]] = defaultdict(Counter)
    problems = {name: number for number, name in enumerate(dict.fromkeys(problem for problem, _, _ in rows))}
    counts = np.zeros((len(problems), len(VALUES), len(VALUES)), dtype=np.int32)
    for problem, fit, labels in rows:
        table[fit][label_kind(labels)] += 1
        if len(labels) == LABELS_EACH:
            first, second = (VALUES.index(one) for one in labels)
            counts[problems[problem], first, second] += 1
    pairs = int(counts.sum())
    alpha = float(alpha_ordinal(counts.sum(0))) if pairs else float("nan")
    drawn = None
    if not np.isnan(alpha) and len(problems) > 1:
        weights = resampling_weights(len(problems)) @ counts.reshape(len(problems), -1).astype(np.float32)
        drawn = interval(alpha_ordinal(weights.reshape(-1, len(VALUES), len(VALUES)).astype(float)))
    return LabelFigures(
        {fit: {kind: found[kind] for kind in KINDS} for fit, found in table.items()},
        pairs,
        None if np.isnan(alpha) else alpha,
        drawn,
    )
