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

QUOTE = {"clause": "F1", "start": "0", "end": 1, "exact": "L", "prefix": ""}

FINDING = {
    "event": 1, "clause": "F1", "detector": "x", "version": 1, "start": 0, "end": 1, "quote": "L",
    "explanation": "", "weight": 1, "counts": {},
}  # fmt: skip


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
        ({"place": 4}, "sessions.jsonl, line 1: review 1: field place: must be 1, 2 or 3, not 4"),
        ({"by": ""}, "field by: at least 1 needed"),
        ({"active_seconds": -1}, "field active_seconds: must be greater than or equal to 0"),
        ({"active_seconds": 2**63}, "field active_seconds: must be less than 2147483648"),
        ({"mood": "good"}, "field mood: unknown"),
        ({"submitted_at": 5}, "field submitted_at"),
        ({"submitted_at": None}, "field submitted_at"),
        ({"place": 2}, "review 2: another review of the session has its place"),
        ({"opened_at": "2026-01-01T00:00:00"}, "field opened_at: must have timezone info"),
        ({"id": "x"}, "field id: must be a valid UUID"),
        ({"rule_set": {"version": 99, "content_hash": ""}}, "no rule set of version 99"),
        ({"rule_set": {"version": 1, "content_hash": "0"}}, "differs from rule set 1 here"),
        ({"content": {"messages": [{"seq": 1}]}}, "no clause yet"),
        ({"content": {}}, "line 1: session .*is incomplete. Message 1 has no clause yet"),
        ({"content": {"comment": None}}, "field content.comment: must be a valid string, not None"),
        ({"content": {"messages": [{"seq": 1, "note": 5}]}}, "field content.messages.0.note"),
        (
            {"content": {"messages": [{"seq": 1, "quotes": [QUOTE]}]}},
            "field content.messages.0.quotes.0.start: must be a valid integer, not '0'",
        ),
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
        ({"checked_at": "2026-01-01T00:00:00"}, "field checked_at: must have timezone info"),
        ({"basis": "x" * 65}, "line 1: rule check 1: field basis: must have at most 64 characters"),
        ({"findings": [{"clause": "F1"}]}, "field findings.0.detector: missing"),
        ({"detectors": []}, "field detectors"),
        ({"model": None}, "field model"),
        ({"mood": "good"}, "field mood: unknown"),
        ({"rule_set": {"version": 2**63, "content_hash": ""}}, "field rule_set.version: must be less than"),
        ({"findings": [FINDING | {"mood": "good"}]}, "field findings.0.mood: unknown"),
        ({"findings": [FINDING | {"id": 1}]}, "field findings.0.id: unknown"),
        ({"findings": [FINDING | {"weight": float("nan")}]}, "line 1: not JSON .NaN is not a number"),
        ({"findings": [FINDING | {"start": 5, "end": 4}]}, "field findings.0: must not end before its start"),
        ({"findings": [FINDING | {"end": 2**63}]}, "field findings.0.end: must be less than"),
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


def test_other_review_of_a_slot_or_of_an_id_is_left_out(reviewed: str, tmp_path: Path):
    record = json.loads(reviewed)
    record["reviews"][0]["id"] = "00000000-0000-0000-0000-000000000009"
    assert load(tmp_path, json.dumps(record)) == ["differs"]
    other = json.loads(reviewed) | {"id": "00000000-0000-0000-0000-000000000008"}
    assert load(tmp_path, json.dumps(other)) == ["differs"]
    assert Session.objects.count() == 1
