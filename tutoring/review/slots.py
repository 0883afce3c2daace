"""Who holds the places of a session: two for independent reviews, one for the adjudication."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from accounts.pseudonyms import pseudonym
from tutoring.models import Review, Session, ReviewOutcome
from tutoring.models.sessions import SessionQuerySet

CLAIM = timedelta(hours=2)
"""How long a claimed place is kept after the last saved change."""

ASSIGNMENT = timedelta(days=14)
"""How long an assigned place is kept."""


def holds(now: datetime) -> Q:
    """The reviews that hold their place at this moment."""
    return Q(state=Review.State.SUBMITTED) | Q(state=Review.State.OPEN, lease_until__gt=now)


def reviewable() -> SessionQuerySet:
    """The sessions that are wanted in the queue: closed, counted, and with something said in them."""
    return Session.objects.filter(state=Session.State.CLOSED, invalidated=False, code_generations__gt=0)


def is_own(session: Session, person: User) -> bool:
    """Whether the person held the session, here or before it was exported and came back."""
    head = session.source.get("head") or {}
    return session.tutor_id == person.pk or head.get("tutor") == pseudonym(person)


def waiting_for_review(person: User, rule_set: int, now: datetime) -> QuerySet[Session]:
    """Sessions with a free place that this person may take, those first that have one review already."""
    held = Review.objects.filter(
        holds(now), session=OuterRef("pk"), rule_set=rule_set, slot__in=Review.INDEPENDENT
    )
    count = held.order_by().values("session").annotate(count=Count("pk")).values("count")
    return (
        reviewable()
        .exclude(tutor=person)
        .exclude(pk__in=_reviewed(person, rule_set))
        .annotate(held=Coalesce(Subquery(count), 0))
        .filter(held__lt=len(Review.INDEPENDENT))
        .order_by("-held", F("recorded_at"), "pk")
    )


def waiting_for_adjudication(person: User, rule_set: int, now: datetime) -> QuerySet[Session]:
    """Sessions whose reviews disagree and that this person neither held nor reviewed, the oldest first."""
    held = Review.objects.filter(
        holds(now), session=OuterRef("pk"), rule_set=rule_set, slot=Review.ADJUDICATION
    )
    disputed = ReviewOutcome.objects.filter(rule_set=rule_set, verdict="")
    return (
        Session.objects.filter(pk__in=disputed.values("session"), invalidated=False)
        .exclude(tutor=person)
        .exclude(pk__in=_reviewed(person, rule_set))
        .exclude(Exists(held))
        .order_by("recorded_at", "pk")
    )


def _reviewed(person: User, rule_set: int) -> QuerySet[Review, Any]:
    """The sessions of which this person holds, or held, a review."""
    return Review.objects.filter(reviewer=person, rule_set=rule_set).values("session")


def free_slot(session: Session, rule_set: int, now: datetime, *, adjudicates: bool) -> int | None:
    """A place of the locked session that nobody holds; leases that have ended give theirs up."""
    places = (Review.ADJUDICATION,) if adjudicates else Review.INDEPENDENT
    reviews = Review.objects.filter(session=session, rule_set=rule_set, slot__in=places)
    reviews.exclude(holds(now)).update(slot=None)
    taken = set(reviews.values_list("place", flat=True))
    return next((place for place in places if place not in taken), None)
