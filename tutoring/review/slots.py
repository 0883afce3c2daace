"""The review slots of a session: two for independent reviews, one for the adjudication; and the queues for them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, get_args

from django.contrib.auth.models import User
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from accounts.pseudonyms import pseudonym
from tutoring.models import Review, ReviewOutcome, Session
from tutoring.models.sessions import SessionQuerySet
from tutoring.sessions.assignments import is_of_blind_study

CLAIM_LEASE = timedelta(hours=2)
"""Time that a claimed slot stays reserved after the last saved change."""

ASSIGNMENT_LEASE = timedelta(days=14)
"""Time that an assigned slot stays reserved."""

Origins = Literal["people", "automatic", "all"]
"""The sessions of a queue by who held them.

Sessions of unfinished studies that compare people with automatic arms are all in the queue of people, because their
reviewers must not know who held a session. For other sessions only the queue of all keeps reviewers blind.
"""

ORIGINS: tuple[Origins, ...] = get_args(Origins)


def _by_origin(origins: Origins, of_blind_study: Q) -> Q:
    automatic = Q(origin=Session.Origin.AUTOMATIC)
    match origins:
        case "people":
            return ~automatic | of_blind_study
        case "automatic":
            return automatic & ~of_blind_study
        case "all":
            return Q()


@dataclass(frozen=True)
class WaitingCounts:
    """The numbers of sessions in a queue by origin."""

    people: int
    automatic: int

    @property
    def all(self) -> int:
        """The number of sessions of any origin."""
        return self.people + self.automatic

    def __sub__(self, other: WaitingCounts) -> WaitingCounts:
        return WaitingCounts(self.people - other.people, self.automatic - other.automatic)


@dataclass(frozen=True)
class ReviewCounts:
    """The number of sessions to review, and the numbers of those that wait for a person's independent review."""

    sessions: int
    waiting: WaitingCounts


def of_origins(sessions: SessionQuerySet, origins: Origins) -> SessionQuerySet:
    """Return the sessions of these origins."""
    return sessions.filter(_by_origin(origins, is_of_blind_study()))


def count_by_origin(sessions: QuerySet[Session], of_blind_study: Q) -> WaitingCounts:
    """Return the numbers of these sessions by origin. `of_blind_study` is the result of `is_of_blind_study`."""
    return WaitingCounts(**sessions.order_by().aggregate(**_counts(of_blind_study)))


def _counts(of_blind_study: Q, among: Q | None = None) -> dict[str, Count]:
    """Return the expressions of the fields of WaitingCounts, of the sessions that match `among`, by default of all."""
    origins: tuple[Origins, ...] = ("people", "automatic")
    return {
        origin: Count("pk", filter=_by_origin(origin, of_blind_study) & (among or Q())) for origin in origins
    }


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


def leads_to_own(person: User, path: str) -> Q:
    """Return the condition of `is_own` for rows that lead to a session by this path, such as "card__event__session"."""
    tutor = f"{path}__source__head__tutor"
    # Without the test for null, the condition is null for sessions without a head, and so is its negation.
    named = {f"{tutor}__isnull": False, tutor: pseudonym(person)}
    return Q(**{f"{path}__tutor": person}) | Q(**{f"{path}__origin": Session.Origin.IMPORTED, **named})


def occupying_reviews(rule_set: int, now: datetime) -> QuerySet[Review]:
    """Return the independent reviews that occupy a slot."""
    found = Review.objects.filter(occupying_slot(now), rule_set=rule_set, slot__in=Review.INDEPENDENT)
    return found.order_by()


def needing_review(rule_set: int, now: datetime) -> SessionQuerySet:
    """Return the sessions with a free slot, those with one review first."""
    return _reviewable_without(_without_free_slot(rule_set, now), rule_set, now)


def _without_free_slot(rule_set: int, now: datetime) -> QuerySet[Any, Any]:
    """Return the ids of the sessions whose slots for independent reviews are occupied."""
    return _with_outcome(rule_set).union(_occupied_by_open_reviews(rule_set, now), all=True)


def _with_outcome(rule_set: int) -> QuerySet[ReviewOutcome, Any]:
    """Return the ids of the sessions whose independent reviews are both submitted."""
    return ReviewOutcome.objects.filter(rule_set=rule_set).order_by().values("session")


def _occupied_by_open_reviews(rule_set: int, now: datetime) -> QuerySet[Review, Any]:
    """Return the ids of the sessions without an outcome whose slots for independent reviews are occupied."""
    counted = occupying_reviews(rule_set, now).values("session").annotate(slots=Count("*"))
    open_now = Review.objects.filter(
        rule_set=rule_set, state=Review.State.OPEN, slot__in=Review.INDEPENDENT
    ).values("session")
    return counted.filter(session__in=open_now, slots=len(Review.INDEPENDENT)).values("session")


def _reviewable_without(left_out: QuerySet[Any, Any], rule_set: int, now: datetime) -> SessionQuerySet:
    """Return the sessions to review without those whose ids are given, those with one review first."""
    return (
        reviewable()
        .exclude(pk__in=left_out)
        # Only for the order: a count of the queue leaves it out.
        .annotate(occupied_slots=occupied_slots(rule_set, now))
        .order_by("-occupied_slots", F("recorded_at"), "pk")
    )


def occupied_slots(rule_set: int, now: datetime) -> Coalesce:
    """Return the expression for the number of a session's occupied slots for independent reviews."""
    counted = occupying_reviews(rule_set, now).values("session").annotate(slots=Count("*"))
    return Coalesce(Subquery(counted.filter(session=OuterRef("pk")).values("slots")), 0)


def needing_adjudication(rule_set: int, now: datetime) -> SessionQuerySet:
    """Return the sessions with differing reviews and a free slot for the adjudication, oldest first."""
    occupied = Review.objects.filter(
        occupying_slot(now), session=OuterRef("pk"), rule_set=rule_set, slot=Review.ADJUDICATION
    )
    disputed = ReviewOutcome.objects.filter(rule_set=rule_set, verdict="")
    return (
        Session.objects.filter(pk__in=disputed.values("session"), invalidated=False)
        .exclude(Exists(occupied))
        .order_by("recorded_at", "pk")
    )


def waiting_for_review(person: User, rule_set: int, now: datetime) -> SessionQuerySet:
    """Return the sessions with a free slot that this person may review, those with one review first."""
    # One list of ids to leave out, because the database looks up every session in each list.
    left_out = _without_free_slot(rule_set, now).union(_reviewed(person, rule_set), all=True)
    return _reviewable_without(left_out, rule_set, now).exclude(tutor=person)


def count_for_review(person: User, rule_set: int, now: datetime, of_blind_study: Q) -> ReviewCounts:
    """Return the number of sessions to review and, by origin, those that `waiting_for_review` selects.

    Those that it leaves out are counted and subtracted: a database needs longer to look for each session among them.
    `of_blind_study` is the result of `is_of_blind_study`.
    """
    of_others = _counts(of_blind_study, ~Q(tutor=person))
    found = reviewable().order_by().aggregate(sessions=Count("*"), **of_others)
    undecided = _reviewed(person, rule_set).exclude(session__in=_with_outcome(rule_set))
    left_out = (
        reviewable().filter(review_outcomes__rule_set=rule_set),
        reviewable().filter(pk__in=undecided.union(_occupied_by_open_reviews(rule_set, now))),
    )
    waiting = WaitingCounts(found["people"], found["automatic"])
    for sessions in left_out:
        waiting -= count_by_origin(sessions.exclude(tutor=person), of_blind_study)
    return ReviewCounts(found["sessions"], waiting)


def waiting_for_adjudication(person: User, rule_set: int, now: datetime) -> SessionQuerySet:
    """Return the sessions with differing reviews that this person neither tutored nor reviewed, oldest first."""
    disputed = needing_adjudication(rule_set, now)
    return disputed.exclude(tutor=person).exclude(pk__in=_reviewed(person, rule_set))


def _reviewed(person: User, rule_set: int) -> QuerySet[Review, Any]:
    """Return the ids of the sessions for which this person has a review in any state."""
    return Review.objects.filter(reviewer=person, rule_set=rule_set).order_by().values("session")


def free_slot(session: Session, rule_set: int, now: datetime, *, adjudicates: bool) -> int | None:
    """Return a free slot of the locked session, or None. Reviews with an expired lease lose their slot."""
    slots = (Review.ADJUDICATION,) if adjudicates else Review.INDEPENDENT
    reviews = Review.objects.filter(session=session, rule_set=rule_set, slot__in=slots)
    reviews.exclude(occupying_slot(now)).update(slot=None)
    taken = set(reviews.values_list("slot", flat=True))
    return next((slot for slot in slots if slot not in taken), None)
