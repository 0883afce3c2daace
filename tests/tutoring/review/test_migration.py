"""Reviews of older versions: the renamed model and column keep their rows."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from tests.benchmark.runs.processes import run_apart, use_var
from tutoring.models import Review, ReviewOutcome, Session

WRITTEN = datetime(2026, 1, 2, tzinfo=UTC)
BREACHES = [[1, "F1"]]


def store_old_rows() -> UUID:
    executor = MigrationExecutor(connection)
    renaming = executor.loader.graph.node_map["tutoring", "0018_review_outcome"]
    before = [parent.key for parent in renaming.parents]
    executor.migrate(before)
    old = executor.loader.project_state(before).apps
    session = old.get_model("tutoring", "Session").objects.create(language="python", state="closed")
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
    pk: UUID = session.pk
    return pk


def check_migrated_rows(var: Path) -> None:
    use_var(var)
    session_id = store_old_rows()
    call_command("migrate", verbosity=0)
    session = Session.objects.get(pk=session_id)
    assert {(review.slot, review.by) for review in session.reviews.all()} == {
        (1, "p1"), (2, "p2"), (3, "p3"), (None, "pNone"),
    }  # fmt: skip
    outcome = session.review_outcomes.get()
    assert outcome == ReviewOutcome.objects.get()
    assert outcome.review == Review.objects.get(slot=Review.ADJUDICATION)
    assert (outcome.verdict, outcome.reviewers, bytes(outcome.counts), outcome.breaches, outcome.at) == (
        "minor", ["p1", "p2"], b"\1\0", BREACHES, WRITTEN,
    )  # fmt: skip


@pytest.mark.slow
def test_rows_of_older_versions_are_kept(tmp_path: Path) -> None:
    run_apart(check_migrated_rows, tmp_path)
