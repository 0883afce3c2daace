"""The only writers of reviews, flags and review_outcomes: permission, state and audit entry in one transaction."""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.utils import timezone

from accounts.pseudonyms import pseudonym
from accounts.roles import Role, has_role
from tutoring.models import AuditEntry, Flag, Review, Session, ReviewOutcome
from tutoring.review.agreement import count_agreement
from tutoring.review.content import (
    Content,
    breaches,
    check,
    agreed_labels,
    decide,
    gaps,
    labelled_messages,
)
from tutoring.review.slots import (
    ASSIGNMENT,
    CLAIM,
    free_slot,
    is_own,
    waiting_for_adjudication,
    waiting_for_review,
)
from tutoring.rules import RuleSet, current_rule_set, rule_set
from tutoring.sessions.session_action import Refused, lock_session

PAUSE = 120
"""Seconds: a longer pause between two savings counts as this much of the reviewer's time."""


@dataclass(frozen=True, kw_only=True)
class ReviewAction(ABC):
    """A person's command. `command` is the browser's id for it: repeated, it changes nothing."""

    person: User
    command: UUID

    def execute(self) -> None:
        """Carry the command out once. Raises PermissionDenied, DoesNotExist or Refused."""
        with transaction.atomic():
            # A person's own commands one after the other: two tabs cannot claim two sessions by one click.
            User.objects.select_for_update().get(pk=self.person.pk)
            if not AuditEntry.objects.filter(command=self.command).exists():
                self.perform(timezone.now())

    @abstractmethod
    def perform(self, now: datetime) -> None:
        """Check everything (raising before anything is written), write, and `record`."""

    def require(self, *roles: Role) -> None:
        if not has_role(self.person, *roles):
            raise PermissionDenied(f"This is for: {', '.join(roles)}.")

    def record(self, session: Session | None, **data: Any) -> None:
        """The entry of the audit log."""
        AuditEntry.objects.create(
            command=self.command, action=type(self).__name__, person=self.person, session=session, data=data
        )


def _role_for(adjudicates: bool) -> Role:
    return Role.ADJUDICATOR if adjudicates else Role.REVIEWER


def _open_review(
    session: Session, person: User, place: int, now: datetime, lease: timedelta, assigned_by: User | None
) -> Review:
    """A new review of a locked session in a place that is free."""
    adjudicates = place == Review.ADJUDICATION
    version = current_rule_set().version
    content = Content()
    if adjudicates:
        first, second = Review.objects.filter(
            session=session, rule_set=version, slot__in=Review.INDEPENDENT
        ).order_by("slot")
        content = agreed_labels(Content.from_json(first.content), Content.from_json(second.content))
    return Review.objects.create(
        session=session,
        rule_set=version,
        slot=place,
        adjudicates=adjudicates,
        reviewer=person,
        by=pseudonym(person),
        assigned_by=assigned_by,
        content=content.to_json(),
        findings_first=settings.REVIEW_FINDINGS_FIRST and secrets.randbelow(2) == 1,
        opened_at=now,
        saved_at=now,
        lease_until=now + lease,
    )


@dataclass(frozen=True, kw_only=True)
class ClaimNext(ReviewAction):
    """Take the next session that waits for a review, or for an adjudication. One at a time."""

    adjudicates: bool = False

    def perform(self, now: datetime) -> None:
        self.require(_role_for(self.adjudicates))
        if claimed_review(self.person, self.adjudicates) is not None:
            return
        version = current_rule_set().version
        waiting = waiting_for_adjudication if self.adjudicates else waiting_for_review
        for session_id in waiting(self.person, version, now).values_list("pk", flat=True).iterator(50):
            session = lock_session(session_id)
            place = free_slot(session, version, now, adjudicates=self.adjudicates)
            if place is None or is_own(session, self.person):
                continue
            review = _open_review(session, self.person, place, now, CLAIM, None)
            self.record(session, review=str(review.pk), slot=place)
            return
        raise Refused("Nothing is waiting for you.")


def claimed_review(person: User, adjudicates: bool) -> Review | None:
    """The review that the person has claimed and neither submitted nor given back."""
    return Review.objects.filter(
        reviewer=person,
        adjudicates=adjudicates,
        state=Review.State.OPEN,
        assigned_by=None,
        slot__isnull=False,
        session__invalidated=False,
        rule_set=current_rule_set().version,
    ).first()


@dataclass(frozen=True, kw_only=True)
class Assign(ReviewAction):
    """Give a session to a reviewer or, where its reviews disagree, to an adjudicator."""

    session_id: UUID
    reviewer: User

    def perform(self, now: datetime) -> None:
        self.require(Role.ADMIN)
        session = lock_session(self.session_id)
        version = current_rule_set().version
        disputed = ReviewOutcome.objects.filter(session=session, rule_set=version, verdict="").exists()
        name = self.reviewer.get_username()
        if session.invalidated or session.state != Session.State.CLOSED:
            raise Refused("Only sessions that are closed and counted are reviewed.")
        if not has_role(self.reviewer, _role_for(disputed)):
            raise Refused(f"{name} does not have the role {_role_for(disputed)}.")
        if is_own(session, self.reviewer):
            raise Refused(f"{name} held this session: nobody reviews an own one.")
        if Review.objects.filter(session=session, rule_set=version, reviewer=self.reviewer).exists():
            raise Refused(f"{name} has or had this session already.")
        place = free_slot(session, version, now, adjudicates=disputed)
        if place is None:
            raise Refused("All places of this session are taken.")
        review = _open_review(session, self.reviewer, place, now, ASSIGNMENT, self.person)
        self.record(session, review=str(review.pk), slot=place, reviewer=name)


@dataclass(frozen=True, kw_only=True)
class Withdraw(ReviewAction):
    """Take an assigned review back, with a reason: its place is free for others. What was written is kept."""

    review_id: UUID
    reason: str

    def perform(self, now: datetime) -> None:
        self.require(Role.ADMIN)
        review = Review.objects.get(pk=self.review_id)
        session = lock_session(review.session_id)
        review.refresh_from_db()
        if review.assigned_by_id is None:
            raise Refused("Nobody assigned this review: others get the session when its lease ends.")
        if review.state != Review.State.OPEN:
            raise Refused(f"This review is {review.state}.")
        if not self.reason.strip():
            raise Refused("Say why the assignment is withdrawn.")
        review.state = Review.State.WITHDRAWN
        review.slot = None
        review.save()
        self.record(session, review=str(review.pk), reviewer=review.by, reason=self.reason.strip())


@dataclass(frozen=True, kw_only=True)
class OwnReviewAction(ReviewAction):
    """A command on a review that the person is writing. Others learn nothing about it (DoesNotExist)."""

    review_id: UUID

    def perform(self, now: datetime) -> None:
        review = Review.objects.select_related("session").get(pk=self.review_id, reviewer=self.person)
        session = lock_session(review.session_id)
        review.refresh_from_db()
        self.require(_role_for(review.adjudicates))
        if review.state != Review.State.OPEN:
            raise Refused(f"This review is {review.state}.")
        if session.invalidated:
            raise Refused("This session was invalidated meanwhile: it needs no review.")
        self.perform_on(review, session, now)

    @abstractmethod
    def perform_on(self, review: Review, session: Session, now: datetime) -> None:
        """As `perform`, with the session locked."""


@dataclass(frozen=True, kw_only=True)
class SaveDraft(OwnReviewAction):
    """Keep what was chosen and typed so far, and the place with it. Nothing of it enters the audit log."""

    content: Content

    def perform_on(self, review: Review, session: Session, now: datetime) -> None:
        _write(review, session, self.content, now)
        if review.slot is None:
            review.slot = free_slot(session, review.rule_set, now, adjudicates=review.adjudicates)
        if review.slot is not None:
            lease = now + CLAIM
            review.lease_until = max(lease, review.lease_until or lease)
        review.save()


def _write(review: Review, session: Session, content: Content, now: datetime) -> None:
    """Put checked content into the review, with the time that was spent on it."""
    check(content, labelled_messages(session), rule_set(review.rule_set))
    review.content = content.to_json()
    since = (now - (review.saved_at or review.opened_at)).total_seconds()
    review.active_seconds += round(min(since, PAUSE))
    review.saved_at = now


@dataclass(frozen=True, kw_only=True)
class Skip(OwnReviewAction):
    """Give the place back to others, with a reason. What was written is kept."""

    reason: str

    def perform_on(self, review: Review, session: Session, now: datetime) -> None:
        if not self.reason.strip():
            raise Refused("Say in a few words why you do not review this session.")
        review.state = Review.State.SKIPPED
        review.slot = None
        review.save()
        self.record(session, review=str(review.pk), reason=self.reason.strip())


@dataclass(frozen=True, kw_only=True)
class RaiseFlag(OwnReviewAction):
    """Tell the admins that something is wrong with the recorded session. The review goes on."""

    reason: str

    def perform_on(self, review: Review, session: Session, now: datetime) -> None:
        if not self.reason.strip():
            raise Refused("Say what is wrong with this session.")
        flag = Flag.objects.create(
            session=session, raised_by=self.person, reason=self.reason.strip(), raised_at=now
        )
        self.record(session, flag=flag.pk, reason=flag.reason)


@dataclass(frozen=True, kw_only=True)
class AnswerFlag(ReviewAction):
    """Close a flag, saying what was done about it."""

    flag_id: int
    answer: str

    def perform(self, now: datetime) -> None:
        self.require(Role.ADMIN)
        flag = Flag.objects.select_for_update(of=("self",)).select_related("session").get(pk=self.flag_id)
        if flag.answered_at is not None:
            raise Refused("This flag is answered already.")
        if not self.answer.strip():
            raise Refused("Say what was done about it.")
        flag.answered_by, flag.answer, flag.answered_at = self.person, self.answer.strip(), now
        flag.save()
        self.record(flag.session, flag=flag.pk, answer=flag.answer)


@dataclass(frozen=True, kw_only=True)
class SubmitReview(OwnReviewAction):
    """Make an independent review final."""

    adjudicates: ClassVar[bool] = False
    content: Content

    def perform_on(self, review: Review, session: Session, now: datetime) -> None:
        if review.adjudicates != self.adjudicates:
            raise Refused("An adjudication is submitted as one, and nothing else is.")
        _write(review, session, self.content, now)
        messages, rules = labelled_messages(session), rule_set(review.rule_set)
        missing = gaps(self.content, messages, rules, adjudicates=self.adjudicates)
        if missing:
            raise Refused(" ".join(gap.sentence for gap in missing[:3]))
        if review.slot is None:
            review.slot = free_slot(session, review.rule_set, now, adjudicates=review.adjudicates)
        if review.slot is None:
            raise Refused(
                "Your lease ended and others have reviewed this session meanwhile. What you wrote is kept, but "
                "no further review is wanted."
            )
        review.state = Review.State.SUBMITTED
        review.verdict = self.content.verdict
        review.submitted_at = now
        review.save()
        self.record(session, review=str(review.pk), slot=review.slot)
        settle(session, review.rule_set, now)


@dataclass(frozen=True, kw_only=True)
class Adjudicate(SubmitReview):
    """Make an adjudication final: it decides what the session's reviews come to."""

    adjudicates: ClassVar[bool] = True


def settle(session: Session, version: int, now: datetime) -> None:
    """Write down what the submitted reviews of a locked session come to; nothing while one is missing."""
    submitted = Review.objects.filter(
        session=session, rule_set=version, state=Review.State.SUBMITTED, slot__isnull=False
    )
    found = list(submitted)
    if {review.slot for review in found} >= set(Review.INDEPENDENT):
        review_outcome = review_outcome_of(session, rule_set(version), found, now)
        named = ("verdict", "review", "reviewers", "counts", "breaches", "at")
        values = {name: getattr(review_outcome, name) for name in named}
        ReviewOutcome.objects.update_or_create(session=session, rule_set=version, defaults=values)


def review_outcome_of(session: Session, rules: RuleSet, submitted: list[Review], now: datetime) -> ReviewOutcome:
    """What these reviews come to, not stored yet: both independent ones, and the adjudication where there is one."""
    places = {review.slot: review for review in submitted if review.slot is not None}
    independent = sorted((places[place] for place in Review.INDEPENDENT), key=lambda review: review.by)
    first, second = (Content.from_json(review.content) for review in independent)
    contents = {place: Content.from_json(review.content) for place, review in places.items()}
    decided = decide(contents, rules)
    return ReviewOutcome(
        session=session,
        rule_set=rules.version,
        verdict=decided.verdict if decided else "",
        review=places.get(Review.ADJUDICATION),
        reviewers=[review.by for review in independent],
        counts=count_agreement(first, second, rules),
        breaches=sorted(breaches(decided, rules)) if decided else [],
        at=now,
    )
