"""Actions on reviews. These and tutoring.review.bulk_assignment are the only writers of reviews, flags and outcomes.

Each action checks permission and state, writes, and appends its entry to the audit log in one transaction.
"""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.utils import timezone

from accounts.pseudonyms import pseudonym
from accounts.roles import Role, has_role
from tutoring.checks.checking import check_after_commit
from tutoring.models import AuditEntry, Flag, Review, ReviewOutcome, Session
from tutoring.protocols import recorded_rules
from tutoring.review.agreement import count_agreement, measure_bits
from tutoring.review.content import (
    Content,
    agreed_labels,
    breaches,
    decided_content,
    labelled_messages,
    missing_labels,
    validate_content,
)
from tutoring.review.slots import (
    ASSIGNMENT_LEASE,
    CLAIM_LEASE,
    Origins,
    free_slot,
    is_own,
    of_origins,
    waiting_for_adjudication,
    waiting_for_review,
)
from tutoring.rules import RuleSet, current_rule_set, rule_set
from tutoring.sessions.assignments import is_of_blind_study
from tutoring.sessions.context import RefusedError

LONGEST_PAUSE = 120
"""Seconds between two saves that count at most as the reviewer's time."""


@dataclass(frozen=True, kw_only=True)
class ReviewAction(ABC):
    """A person's command. `command` is its id from the browser; a repeated command changes nothing."""

    person: User
    command: UUID

    def execute(self) -> None:
        """Execute the command once. Raise PermissionDenied, ObjectDoesNotExist or RefusedError."""
        with transaction.atomic():
            # The lock serializes a person's commands: two tabs cannot claim two sessions at once.
            User.objects.select_for_update().get(pk=self.person.pk)
            if not AuditEntry.objects.filter(command=self.command).exists():
                self.perform(timezone.now())

    @abstractmethod
    def perform(self, now: datetime) -> None:
        """Check permission and state before the first write, then write, and call `record`."""

    def require(self, *roles: Role) -> None:
        """Raise PermissionDenied unless the person has one of the roles."""
        if not has_role(self.person, *roles):
            raise PermissionDenied(f"This needs one of the roles: {', '.join(roles)}.")

    def record(self, session: Session | None, **data: Any) -> None:
        """Append the action to the audit log."""
        AuditEntry.objects.create(
            command=self.command, action=type(self).__name__, person=self.person, session=session, data=data
        )


def role_for(adjudicates: bool) -> Role:
    """Return the role that an adjudication or an independent review needs."""
    return Role.ADJUDICATOR if adjudicates else Role.REVIEWER


def independent_contents(session: Session, version: int) -> tuple[Content, Content]:
    """Return the contents of both independent reviews of a disputed session, by slot."""
    reviews = Review.objects.filter(session=session, rule_set=version, slot__in=Review.INDEPENDENT)
    first, second = reviews.order_by("slot").values_list("content", flat=True)
    return Content.from_json(first), Content.from_json(second)


def _open_review(
    session: Session, person: User, slot: int, now: datetime, assigned_by: User | None = None
) -> Review:
    """Create a review in a free slot of a locked session."""
    adjudicates = slot == Review.ADJUDICATION
    version = current_rule_set().version
    content = Content()
    if adjudicates:
        content = agreed_labels(*independent_contents(session, version))
    review = new_review(session.pk, person, slot, now, content=content, assigned_by=assigned_by)
    review.save()
    return review


def new_review(
    session_id: UUID, person: User, slot: int, now: datetime, *, content: Content, assigned_by: User | None
) -> Review:
    """Return an unsaved open review under the current rule set with its lease."""
    return Review(
        session_id=session_id,
        rule_set=current_rule_set().version,
        slot=slot,
        adjudicates=slot == Review.ADJUDICATION,
        reviewer=person,
        by=pseudonym(person),
        assigned_by=assigned_by,
        content=content.to_json(),
        findings_first=settings.REVIEW_FINDINGS_FIRST and secrets.randbelow(2) == 1,
        opened_at=now,
        saved_at=now,
        lease_until=now + (ASSIGNMENT_LEASE if assigned_by else CLAIM_LEASE),
    )


@dataclass(frozen=True, kw_only=True)
class ClaimNext(ReviewAction):
    """An action that claims the next session that needs a review or an adjudication.

    A person has one claimed session at a time.

    The audit log keeps the origins of the queue and whether the session is of a blind study. Both say whether the
    reviewer was blind to the session's origin.
    """

    adjudicates: bool = False
    origins: Origins = "people"

    def perform(self, now: datetime) -> None:
        self.require(role_for(self.adjudicates))
        if claimed_review(self.person, self.adjudicates) is not None:
            return
        version = current_rule_set().version
        waiting = waiting_for_adjudication if self.adjudicates else waiting_for_review
        queue = of_origins(waiting(self.person, version, now), self.origins)
        for session_id in queue.values_list("pk", flat=True).iterator(50):
            session = Session.objects.get_locked(session_id)
            slot = free_slot(session, version, now, adjudicates=self.adjudicates)
            if slot is None or is_own(session, self.person):
                continue
            review = _open_review(session, self.person, slot, now)
            blind = (
                self.origins == "all" or Session.objects.filter(is_of_blind_study(), pk=session.pk).exists()
            )
            self.record(session, review=str(review.pk), slot=slot, origins=self.origins, blind=blind)
            return
        raise RefusedError("No session needs your review now.")


def claimed_review(person: User, adjudicates: bool) -> Review | None:
    """Return the person's claimed review that is neither submitted nor skipped, or None."""
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
    """An action that assigns a session to a reviewer or, if its reviews differ, to an adjudicator."""

    session_id: UUID
    reviewer: User

    def perform(self, now: datetime) -> None:
        self.require(Role.ADMIN)
        session = Session.objects.get_locked(self.session_id)
        version = current_rule_set().version
        disputed = ReviewOutcome.objects.filter(session=session, rule_set=version, verdict="").exists()
        name = self.reviewer.get_username()
        if session.invalidated or session.state != Session.State.CLOSED:
            raise RefusedError("Only closed sessions that are not invalidated can be reviewed.")
        if not has_role(self.reviewer, role_for(disputed)):
            raise RefusedError(f"{name} does not have the role {role_for(disputed)}.")
        if is_own(session, self.reviewer):
            raise RefusedError(f"{name} was the tutor of this session and cannot review it.")
        if Review.objects.filter(session=session, rule_set=version, reviewer=self.reviewer).exists():
            raise RefusedError(f"{name} already has or had a review of this session.")
        slot = free_slot(session, version, now, adjudicates=disputed)
        if slot is None:
            raise RefusedError("All review slots of this session are taken.")
        review = _open_review(session, self.reviewer, slot, now, assigned_by=self.person)
        self.record(session, review=str(review.pk), slot=slot, reviewer=name)


@dataclass(frozen=True, kw_only=True)
class Withdraw(ReviewAction):
    """An action that withdraws an assigned review with a reason. Its slot becomes free; its draft remains stored."""

    review_id: UUID
    reason: str

    def perform(self, _now: datetime) -> None:
        self.require(Role.ADMIN)
        review = Review.objects.get(pk=self.review_id)
        session = Session.objects.get_locked(review.session_id)
        review.refresh_from_db()
        if review.assigned_by_id is None:
            raise RefusedError(
                "This review was not assigned. Other reviewers get the session when its lease expires."
            )
        if review.state != Review.State.OPEN:
            raise RefusedError(f"This review is {review.state}.")
        if not self.reason.strip():
            raise RefusedError("Give a reason for the withdrawal.")
        review.state = Review.State.WITHDRAWN
        review.slot = None
        review.save()
        self.record(session, review=str(review.pk), reviewer=review.by, reason=self.reason.strip())


@dataclass(frozen=True, kw_only=True)
class OwnReviewAction(ReviewAction):
    """A command on the person's own open review. For other people the review does not exist (DoesNotExist)."""

    review_id: UUID

    def perform(self, now: datetime) -> None:
        review = Review.objects.select_related("session").get(pk=self.review_id, reviewer=self.person)
        session = Session.objects.get_locked(review.session_id)
        review.refresh_from_db()
        self.require(role_for(review.adjudicates))
        if review.state != Review.State.OPEN:
            raise RefusedError(f"This review is {review.state}.")
        if session.invalidated:
            raise RefusedError("This session was invalidated and needs no review.")
        self.perform_on(review, session, now)

    @abstractmethod
    def perform_on(self, review: Review, session: Session, now: datetime) -> None:
        """Do the work of `perform` with the session locked."""


@dataclass(frozen=True, kw_only=True)
class SaveReview(OwnReviewAction):
    """An action that saves the labels so far and extends the lease of the slot. The audit log gets no entry."""

    content: Content

    def perform_on(self, review: Review, session: Session, now: datetime) -> None:
        _set_content(review, session, self.content, now)
        if review.slot is None:
            review.slot = free_slot(session, review.rule_set, now, adjudicates=review.adjudicates)
        if review.slot is not None:
            extended = now + CLAIM_LEASE
            review.lease_until = max(extended, review.lease_until or extended)
        review.save()


def _set_content(review: Review, session: Session, content: Content, now: datetime) -> None:
    """Validate the content, set it on the review, and add the time since the last save."""
    messages, rules = labelled_messages(session), rule_set(review.rule_set)
    validate_content(content, messages, rules, adjudicates=review.adjudicates)
    review.content = content.to_json()
    since = (now - (review.saved_at or review.opened_at)).total_seconds()
    review.active_seconds += round(min(since, LONGEST_PAUSE))
    review.saved_at = now


@dataclass(frozen=True, kw_only=True)
class Skip(OwnReviewAction):
    """An action that skips the session with a reason. Its slot becomes free; the draft remains stored."""

    reason: str

    def perform_on(self, review: Review, session: Session, _now: datetime) -> None:
        if not self.reason.strip():
            raise RefusedError("Give a reason for skipping this session.")
        review.state = Review.State.SKIPPED
        review.slot = None
        review.save()
        self.record(session, review=str(review.pk), reason=self.reason.strip())


@dataclass(frozen=True, kw_only=True)
class RaiseFlag(OwnReviewAction):
    """An action that reports to the admins that something is wrong with the recorded session. The review stays open."""

    reason: str

    def perform_on(self, _review: Review, session: Session, now: datetime) -> None:
        if not self.reason.strip():
            raise RefusedError("Describe what is wrong with this session.")
        flag = Flag.objects.create(
            session=session, raised_by=self.person, reason=self.reason.strip(), raised_at=now
        )
        self.record(session, flag=flag.pk, reason=flag.reason)


@dataclass(frozen=True, kw_only=True)
class AnswerFlag(ReviewAction):
    """An action that closes a flag with an answer."""

    flag_id: int
    answer: str

    def perform(self, now: datetime) -> None:
        self.require(Role.ADMIN)
        flag = Flag.objects.select_for_update(of=("self",)).select_related("session").get(pk=self.flag_id)
        if flag.answered_at is not None:
            raise RefusedError("This flag is already answered.")
        if not self.answer.strip():
            raise RefusedError("Describe what was done about the flag.")
        flag.answered_by, flag.answer, flag.answered_at = self.person, self.answer.strip(), now
        flag.save()
        self.record(flag.session, flag=flag.pk, answer=flag.answer)


@dataclass(frozen=True, kw_only=True)
class SubmitReview(OwnReviewAction):
    """An action that submits an independent review, which is then final."""

    adjudicates: ClassVar[bool] = False
    content: Content

    def perform_on(self, review: Review, session: Session, now: datetime) -> None:
        if review.adjudicates != self.adjudicates:
            raise RefusedError(
                "Submit an adjudication as an adjudication, and an independent review as a review."
            )
        _set_content(review, session, self.content, now)
        messages, rules = labelled_messages(session), rule_set(review.rule_set)
        adjudicated = independent_contents(session, review.rule_set) if self.adjudicates else None
        missing = missing_labels(self.content, messages, rules, adjudicated=adjudicated)
        if missing:
            raise RefusedError(" ".join(missing[:3]))
        if review.slot is None:
            review.slot = free_slot(session, review.rule_set, now, adjudicates=review.adjudicates)
        if review.slot is None:
            raise RefusedError(
                "Your reservation has expired, and other reviewers have completed this session. Your draft is kept, "
                "but no further review is needed."
            )
        review.state = Review.State.SUBMITTED
        review.verdict = self.content.verdict
        review.submitted_at = now
        review.save()
        self.record(session, review=str(review.pk), slot=review.slot)
        record_review_outcome(session, review.rule_set, now)


@dataclass(frozen=True, kw_only=True)
class Adjudicate(SubmitReview):
    """An action that submits an adjudication, which decides the session's review outcome."""

    adjudicates: ClassVar[bool] = True


def record_review_outcome(session: Session, version: int, now: datetime) -> None:
    """Store the review outcome of a locked session; nothing while an independent review is missing."""
    submitted = list(
        Review.objects.filter(
            session=session, rule_set=version, state=Review.State.SUBMITTED, slot__isnull=False
        )
    )
    if {review.slot for review in submitted} >= set(Review.INDEPENDENT):
        outcome = review_outcome_of(session, rule_set(version), submitted, now)
        columns = (
            "verdict", "review", "reviewers", "counts", "counted_measures", "differing_measures", "breaches",
            "levels", "at",
        )  # fmt: skip
        values = {name: getattr(outcome, name) for name in columns}
        ReviewOutcome.objects.update_or_create(session=session, rule_set=version, defaults=values)
        if outcome.verdict and _level_cap(session) is not None:
            check_after_commit(session)  # the decided levels say which messages are above the cap


def _level_cap(session: Session) -> int | None:
    rules = recorded_rules(session)
    return None if rules is None else rules.level_cap


def review_outcome_of(
    session: Session, rules: RuleSet, submitted: list[Review], now: datetime
) -> ReviewOutcome:
    """Return the unsaved outcome of submitted reviews: both independent ones and the adjudication, if any."""
    slots = {review.slot: review for review in submitted if review.slot is not None}
    independent = sorted((slots[slot] for slot in Review.INDEPENDENT), key=lambda review: review.by)
    first, second = (Content.from_json(review.content) for review in independent)
    contents = {slot: Content.from_json(review.content) for slot, review in slots.items()}
    decided = decided_content(contents, rules, _level_cap(session))
    counts = count_agreement(first, second, rules)
    return ReviewOutcome(
        session=session,
        rule_set=rules.version,
        verdict=decided.verdict if decided else "",
        review=slots.get(Review.ADJUDICATION),
        reviewers=[review.by for review in independent],
        counts=counts,
        **measure_bits(counts, rules)._asdict(),
        breaches=sorted(breaches(decided, rules)) if decided else [],
        levels=_levels(first, second, contents.get(Review.ADJUDICATION)),
        at=now,
    )


def _levels(first: Content, second: Content, adjudication: Content | None) -> list[list[int | None]]:
    """Return `ReviewOutcome.levels`: messages with both levels, and the adjudicated level if there is one."""
    found: list[list[int | None]] = []
    for labels in first.messages:
        other = second.labels(labels.seq).level
        if labels.level is not None and other is not None:
            decided = adjudication.labels(labels.seq).level if adjudication else None
            found.append([labels.seq, labels.level, other, decided])
    return found
