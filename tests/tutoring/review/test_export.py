"""Export and import of reviews with their trajectory."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from tests.tutoring.review.conftest import SessionFactory
from tests.tutoring.review.readings import claim, reading, review, submit
from tutoring.actions import Invalidate
from tutoring.checks.checking import check_session
from tutoring.models import AuditEntry, Event, Finding, Review, ReviewOutcome, RuleCheck, Session
from tutoring.review.agreement import complete_pairs
from tutoring.trajectories.record_schema import SCHEMA


def exported() -> str:
    out = io.StringIO()
    call_command("export_trajectories", stdout=out)
    return out.getvalue()


def load(folder: Path, text: str) -> list[str]:
    """Import these lines and return the state of each session."""
    file = folder / "sessions.jsonl"
    file.write_text(text)
    out = io.StringIO()
    call_command("import_trajectories", str(file), "--json", stdout=out)
    return [row["state"] for row in json.loads(out.getvalue())["trajectories"]]


def wipe() -> None:
    """Empty the tables, as on another server."""
    for table in (AuditEntry, ReviewOutcome, Review, Finding, RuleCheck, Event, Session):
        table.objects.all()._raw_delete("default")


@pytest.fixture
def reviewed(recorded: SessionFactory, rita: User, rolf: User, judy: User) -> str:
    """Return the export of a session with two differing reviews and their adjudication."""
    session = recorded(
        "Look at the sample.", "Use a 🐄heap. You misunderstood the problem: it asks for the maximum."
    )
    review(rita, "F1", comment="It gives it away.")
    review(rolf, "A1")
    submit(claim(judy, adjudicates=True), reading(session, "F1", comment="It does."))
    check_session(session)
    return exported()


def test_export_and_import_lose_nothing(reviewed: str, tmp_path: Path):
    settled = ReviewOutcome.objects.values_list("verdict", "review_id").get()
    counts = complete_pairs(1).counts.tolist()
    findings = list(Finding.objects.values_list("event__seq", "clause", "quote", "explanation"))
    assert findings
    assert load(tmp_path, reviewed) == ["unchanged"]
    wipe()
    assert load(tmp_path, reviewed) == ["imported"]
    assert exported() == reviewed
    assert ReviewOutcome.objects.values_list("verdict", "review_id").get() == settled
    assert complete_pairs(1).counts.tolist() == counts
    assert list(Finding.objects.values_list("event__seq", "clause", "quote", "explanation")) == findings
    assert load(tmp_path, reviewed) == ["unchanged"]


def test_drafts_and_accounts_are_not_exported(reviewed: str, recorded: SessionFactory, rita: User):
    recorded("Not yet.")
    claim(rita)
    assert len([line for line in exported().splitlines() if json.loads(line)["reviews"]]) == 1
    for name in ("rita", "rolf", "judy"):
        assert name not in exported()


def test_reviews_made_elsewhere_are_added_to_the_session_that_is_here(
    recorded: SessionFactory, rita: User, rolf: User, tmp_path: Path
):
    session = recorded()
    review(rita, "F1")
    line = exported()
    Review.objects.all()._raw_delete("default")
    assert load(tmp_path, line) == ["imported"]
    assert Review.objects.get().reviewer is None
    held = claim(rolf)
    assert held.slot == 2
    submit(held, reading(session, "F1"))
    assert ReviewOutcome.objects.get().verdict == "minor"


def test_an_older_file_without_reviews_is_read(reviewed: str, tmp_path: Path):
    record = json.loads(reviewed)
    del record["reviews"], record["rule_checks"]
    record["schema"] = "hintbench-trajectory/1"
    assert load(tmp_path, json.dumps(record)) == ["unchanged"]
    wipe()
    assert load(tmp_path, json.dumps(record)) == ["imported"]
    assert json.loads(exported())["schema"] == SCHEMA


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"place": 4}, "place of a review must be"),
        ({"by": ""}, "the reviewer must be a text"),
        ({"active_seconds": -1}, "whole number"),
        ({"opened_at": "2026-01-01T00:00:00"}, "time zone"),
        ({"id": "x"}, "badly formed"),
        ({"rule_set": {"version": 99, "content_hash": ""}}, "no rule set of version 99"),
        ({"rule_set": {"version": 1, "content_hash": "0"}}, "differs from rule set 1 here"),
        ({"content": {"messages": [{"seq": 1}]}}, "clauses"),
        ({"content": {"mood": "good"}}, "mood"),
        ({"content": {"verdict": "fine"}}, "verdict is not one of rule set"),
    ],
)
def test_broken_reviews_are_refused(reviewed: str, tmp_path: Path, change: dict[str, Any], message: str):
    record = json.loads(reviewed)
    record["reviews"][0] |= change
    wipe()
    with pytest.raises(CommandError, match=message):
        load(tmp_path, json.dumps(record))
    assert not Session.objects.exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"checked_at": "2026-01-01T00:00:00"}, "time of a check needs a time zone"),
        ({"basis": "x" * 65}, "basis of a check must be a text of at most 64"),
        ({"findings": [{"clause": "F1"}]}, "the key 'detector' is missing"),
        ({"detectors": []}, "its detectors"),
        ({"model": None}, "model of a check"),
    ],
)
def test_broken_checks_are_refused(reviewed: str, tmp_path: Path, change: dict[str, Any], message: str):
    record = json.loads(reviewed)
    record["rule_checks"][0] |= change
    wipe()
    with pytest.raises(CommandError, match=message):
        load(tmp_path, json.dumps(record))
    record = json.loads(reviewed)
    record["rule_checks"][0]["findings"][0]["event"] = 99
    with pytest.raises(CommandError, match="a finding names event 99"):
        load(tmp_path, json.dumps(record))


def test_a_session_that_is_invalidated_here_stays_so_elsewhere(reviewed: str, ada: User, tmp_path: Path):
    session = Session.objects.get()
    Invalidate(session_id=session.pk, person=ada, command=uuid4(), reason="The tutor knew.").execute()
    line = exported()
    wipe()
    assert load(tmp_path, line) == ["imported"]
    assert Session.objects.get().invalidated


def test_two_reviews_in_one_slot_are_refused(reviewed: str, tmp_path: Path):
    record = json.loads(reviewed)
    record["reviews"][0]["id"] = "00000000-0000-0000-0000-000000000009"
    with pytest.raises(CommandError, match=r"place 1 of session .* has another review here"):
        load(tmp_path, json.dumps(record))
