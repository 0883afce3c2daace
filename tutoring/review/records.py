"""Export and import of submitted reviews as part of a trajectory. Drafts are not exported."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

from tutoring.models import Review, Session
from tutoring.review.actions import record_review_outcome
from tutoring.review.content import Content, labelled_messages, validate_content
from tutoring.rules import rule_set

KEYS = {
    "id", "rule_set", "place", "by", "content", "findings_first", "opened_at", "submitted_at", "active_seconds",
}  # fmt: skip


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


def check_record(record: dict[str, Any]) -> None:
    """Raise KeyError, TypeError or ValueError for a malformed review."""
    if missing := KEYS - record.keys():
        raise ValueError(f"a review lacks {', '.join(sorted(missing))}")
    UUID(record["id"])
    rules = rule_set(record["rule_set"]["version"])
    if rules.content_hash != record["rule_set"]["content_hash"]:
        raise ValueError(f"rule set {rules.version} of the review differs from rule set {rules.version} here")
    if record["place"] not in (*Review.INDEPENDENT, Review.ADJUDICATION):
        raise ValueError("the place of a review must be 1, 2 or 3")
    if not isinstance(record["by"], str) or not 0 < len(record["by"]) <= 80:
        raise ValueError("the reviewer must be a text of 1 to 80 characters")
    if type(record["active_seconds"]) is not int or record["active_seconds"] < 0:
        raise ValueError("active_seconds of a review must be a whole number, 0 or greater")
    for moment in (record["opened_at"], record["submitted_at"]):
        if datetime.fromisoformat(moment).tzinfo is None:
            raise ValueError("the times of a review need a time zone")
    Content.from_json(record["content"])


def store_records(session: Session, records: list[dict[str, Any]]) -> int:
    """Store the validated reviews of a locked or new session that are new to this database. Return their number.

    Raise ReviewConflictError if another review occupies the slot. Raise MalformedContentError for labels that do not
    match the session.
    """
    known = {str(review.pk): review for review in session.reviews.all()}
    occupied = {
        (review.rule_set, review.slot) for review in known.values() if review.state == Review.State.SUBMITTED
    }
    messages = labelled_messages(session)
    new = [record for record in records if record["id"] not in known]
    for record in new:
        version, content = record["rule_set"]["version"], Content.from_json(record["content"])
        adjudicates = record["place"] == Review.ADJUDICATION
        validate_content(content, messages, rule_set(version), adjudicates=adjudicates)
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
            findings_first=bool(record["findings_first"]),
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
