"""Export and import of submitted reviews as part of a trajectory. Drafts are not exported."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field, ValidationError

from tutoring.models import Review, Session
from tutoring.models.payloads import Count, Record, RuleSetReference, ZonedMoment, describe_faults
from tutoring.review.actions import record_review_outcome
from tutoring.review.content import (
    Content,
    MalformedContentError,
    labelled_messages,
    missing_labels,
    validate_content,
)
from tutoring.rules import rule_set


class ReviewRecord(Record):
    """A submitted review. `place` is the slot."""

    id: UUID
    rule_set: RuleSetReference
    place: Literal[1, 2, 3]
    by: Annotated[str, Field(min_length=1, max_length=80)]
    content: Content
    findings_first: bool
    opened_at: ZonedMoment
    submitted_at: ZonedMoment
    active_seconds: Count


class ReviewConflictError(ValueError):
    """An imported review that conflicts with a stored one. The message says why."""


def submitted_reviews(session: Session) -> list[Review]:
    """Return all submitted reviews by rule set and slot. Prefetch `reviews` for many sessions."""
    submitted = [review for review in session.reviews.all() if review.state == Review.State.SUBMITTED]
    return sorted(submitted, key=lambda review: (review.rule_set, review.slot or 0))


def complete_reviews(session: Session) -> dict[int, list[Review]]:
    """Return the submitted reviews by rule set, for the rule sets with both independent reviews.

    Before that, only the author of a review can read it in the browser, so that the second review stays independent.
    """
    found: dict[int, list[Review]] = {}
    for review in submitted_reviews(session):
        found.setdefault(review.rule_set, []).append(review)
    return {
        version: reviews
        for version, reviews in found.items()
        if {review.slot for review in reviews} >= set(Review.INDEPENDENT)
    }


def readable_reviews(session: Session) -> list[Review]:
    """Return the reviews of `complete_reviews` as one list: those that other people may read in the browser."""
    return [review for reviews in complete_reviews(session).values() for review in reviews]


def to_records(reviews: Iterable[Review]) -> list[dict[str, Any]]:
    """Return submitted reviews as JSON values. The key `place` holds the slot."""
    return [
        {
            "id": str(review.pk),
            "rule_set": {"version": review.rule_set, "content_hash": rule_set(review.rule_set).content_hash},
            "place": review.slot,
            "by": review.by,
            "content": review.content,
            "findings_first": review.findings_first,
            "opened_at": review.opened_at.isoformat(),
            "submitted_at": review.submitted_at.isoformat() if review.submitted_at else None,
            "active_seconds": review.active_seconds,
        }
        for review in reviews
    ]


def check_records(records: Iterable[Mapping[str, Any]]) -> None:
    """Raise ValueError for a malformed review, and for two reviews in one slot or with one id."""
    taken: set[tuple[int, int] | UUID] = set()
    for number, record in enumerate(records, start=1):
        try:
            valid = ReviewRecord.model_validate_json(json.dumps(record))
        except ValidationError as error:
            raise ValueError(f"review {number}: {describe_faults(error, ReviewRecord)}") from None
        rules = rule_set(valid.rule_set.version)
        if rules.content_hash != valid.rule_set.content_hash:
            raise ValueError(
                f"review {number}: rule set {rules.version} of the review differs from rule set {rules.version} here"
            )
        keys: set[tuple[int, int] | UUID] = {(rules.version, valid.place), valid.id}
        if not taken.isdisjoint(keys):
            raise ValueError(f"review {number}: another review of the session has its place or its id")
        taken |= keys


def store_records(session: Session, records: list[dict[str, Any]]) -> int:
    """Store the validated reviews of a locked or new session that are new to this database. Return their number.

    Raise ReviewConflictError if another review occupies the slot, or if another session has a review with the id. Raise
    MalformedContentError for labels that do not match the session or are incomplete.
    """
    known = {str(review.pk): review for review in session.reviews.all()}
    occupied = {
        (review.rule_set, review.slot) for review in known.values() if review.state == Review.State.SUBMITTED
    }
    messages = labelled_messages(session)
    new = [record for record in records if record["id"] not in known]
    for other in Review.objects.filter(pk__in=[record["id"] for record in new]):
        raise ReviewConflictError(f"review {other.pk} belongs to session {other.session_id} here")
    for record in new:
        version, content = record["rule_set"]["version"], Content.from_json(record["content"])
        adjudicates = record["place"] == Review.ADJUDICATION
        validate_content(content, messages, rule_set(version), adjudicates=adjudicates)
        if missing := missing_labels(content, messages, rule_set(version)):
            raise MalformedContentError(f"Review {record['id']} is incomplete. {' '.join(missing[:3])}")
        if (version, record["place"]) in occupied:
            raise ReviewConflictError(
                f"place {record['place']} of session {session.pk} has another review here"
            )
        # A submitted review takes the slot of an open one, whose draft remains.
        session.reviews.filter(rule_set=version, slot=record["place"]).update(slot=None)
        Review.objects.create(
            pk=record["id"],
            session=session,
            rule_set=version,
            slot=record["place"],
            adjudicates=adjudicates,
            by=record["by"],
            state=Review.State.SUBMITTED,
            content=content.to_json(),
            verdict=content.verdict,
            findings_first=record["findings_first"],
            opened_at=datetime.fromisoformat(record["opened_at"]),
            saved_at=datetime.fromisoformat(record["submitted_at"]),
            submitted_at=datetime.fromisoformat(record["submitted_at"]),
            active_seconds=record["active_seconds"],
        )
    for version in {record["rule_set"]["version"] for record in new}:
        record_review_outcome(
            session, version, max(datetime.fromisoformat(one["submitted_at"]) for one in new)
        )
    return len(new)
