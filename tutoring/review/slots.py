"""The review slots of a session: two for independent reviews, one for the adjudication; and the queues for them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from accounts.pseudonyms import pseudonym
from tutoring.models import Review, ReviewOutcome, Session
from tutoring.models.sessions import SessionQuerySet

CLAIM_LEASE = timedelta(hours=2)
"""Time that a claimed slot stays reserved after the last saved change."""

ASSIGNMENT_LEASE = timedelta(days=14)
"""Time that an assigned slot stays reserved."""


def occupying_slot(now: datetime) -> Q:
    """Return the filter for reviews that occupy their slot at this time."""
    return Q(state=Review.State.SUBMITTED) | Q(state=Review.State.OPEN, lease_until__gt=now)


def reviewable() -> SessionQuerySet:
    """Return the sessions to review: closed, not invalidated, with at least one generation of code."""
    return Session.objects.filter(state=Session.State.CLOSED, invalidated=False, code_generations__gt=0)


def is_own(session: Session, person: User) -> bool:
    """Return whether the person was the tutor of the session, also if the session was exported and imported again."""
    head = session.source.get("head") or {}
    return session.tutor_id == person.pk or head.get("tutor") == pseudonym(person)


def waiting_for_review(person: User, rule_set: int, now: datetime) -> QuerySet[Session]:
    """Return the sessions with a free slot that this person may review, those with one review first."""
    occupied = Review.objects.filter(
        occupying_slot(now), session=OuterRef("pk"), rule_set=rule_set, slot__in=Review.INDEPENDENT
    )
    count = occupied.order_by().values("session").annotate(count=Count("pk")).values("count")
    return (
        reviewable()
        .exclude(tutor=person)
        .exclude(pk__in=_reviewed(person, rule_set))
        .annotate(occupied_slots=Coalesce(Subquery(count), 0))
        .filter(occupied_slots__lt=len(Review.INDEPENDENT))
        .order_by("-occupied_slots", F("recorded_at"), "pk")
    )


def waiting_for_adjudication(person: User, rule_set: int, now: datetime) -> QuerySet[Session]:
    """Return the sessions with differing reviews that this person neither tutored nor reviewed, oldest first."""
    occupied = Review.objects.filter(
        occupying_slot(now), session=OuterRef("pk"), rule_set=rule_set, slot=Review.ADJUDICATION
    )
    disputed = ReviewOutcome.objects.filter(rule_set=rule_set, verdict="")
    return (
        Session.objects.filter(pk__in=disputed.values("session"), invalidated=False)
        .exclude(tutor=person)
        .exclude(pk__in=_reviewed(person, rule_set))
        .exclude(Exists(occupied))
        .order_by("recorded_at", "pk")
    )


def _reviewed(person: User, rule_set: int) -> QuerySet[Review, Any]:
    """Return the ids of the sessions for which this person has a review in any state."""
    return Review.objects.filter(reviewer=person, rule_set=rule_set).values("session")


def free_slot(session: Session, rule_set: int, now: datetime, *, adjudicates: bool) -> int | None:
    """Return a free slot of the locked session, or None. Reviews with an expired lease lose their slot."""
    slots = (Review.ADJUDICATION,) if adjudicates else Review.INDEPENDENT
    reviews = Review.objects.filter(session=session, rule_set=rule_set, slot__in=slots)
    reviews.exclude(occupying_slot(now)).update(slot=None)
    taken = set(reviews.values_list("slot", flat=True))
    return next((slot for slot in slots if slot not in taken), None)
