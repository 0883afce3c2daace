"""Reviews of older versions: the renamed model and column keep their rows."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from tutoring.models import Review, ReviewOutcome, Session

BEFORE = [("tutoring", "0016_plain_help_texts")]
SESSION = UUID(int=2)
WRITTEN = datetime(2026, 1, 2, tzinfo=UTC)
BREACHES = [[1, "F1"]]


def store_old_rows(old: Any) -> None:
    session = old.get_model("tutoring", "Session").objects.create(
        pk=SESSION, language="python", state="closed"
    )
    for place, adjudicates in ((1, False), (2, False), (3, True), (None, False)):
        review = old.get_model("tutoring", "Review").objects.create(
            session=session, rule_set=1, place=place, adjudicates=adjudicates, by=f"p{place}",
            state="submitted" if place else "skipped", opened_at=WRITTEN,
        )  # fmt: skip
        if adjudicates:
            old.get_model("tutoring", "Settlement").objects.create(
                session=session, rule_set=1, verdict="minor", review=review, reviewers=["p1", "p2"],
                counts=b"\1\0", breaches=BREACHES, at=WRITTEN,
            )  # fmt: skip


def check_migrated_rows() -> None:
    session = Session.objects.get(pk=SESSION)
    assert {(review.slot, review.by) for review in session.reviews.all()} == {
        (1, "p1"), (2, "p2"), (3, "p3"), (None, "pNone"),
    }  # fmt: skip
    outcome = session.review_outcomes.get()
    assert outcome == ReviewOutcome.objects.get()
    assert outcome.review == Review.objects.get(slot=Review.ADJUDICATION)
    assert (outcome.verdict, outcome.reviewers, bytes(outcome.counts), outcome.breaches, outcome.at) == (
        "minor", ["p1", "p2"], b"\1\0", BREACHES, WRITTEN,
    )  # fmt: skip


def test_rows_of_older_versions_are_kept(check_upgraded: Callable[..., None]) -> None:
    check_upgraded(check_migrated_rows)
