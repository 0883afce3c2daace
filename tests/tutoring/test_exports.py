"""What other programs read: logs of Inspect, a folder of the datasets library, pages, and our own lines again."""

from __future__ import annotations

import io
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import yaml
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.tutoring.conftest import PersonFactory
from tests.tutoring.dialogues import RIGHT, WRONG, SessionUnderTest
from tests.tutoring.review.readings import review
from tutoring.actions import Invalidate
from tutoring.models import Session
from tutoring.roles import Role
from tutoring.rules import current_rule_set
from tutoring.trajectory_format import SCHEMA, read_record, store_record, to_lines
from tutoring.trajectory_inspect import to_logs

TEXT = str | None
# What Inspect 0.3.285 demands of the keys we write (EvalLog.model_json_schema), and the values that it allows.
LOG = {
    "version": int,
    "status": str,
    "eval": dict,
    "plan": dict,
    "results": dict,
    "stats": dict,
    "samples": list,
}
SPEC = {
    "created": str, "eval_id": str, "run_id": str, "task": str, "task_id": str, "task_version": int, "dataset": dict,
    "model": str, "config": dict, "metadata": dict,
}  # fmt: skip
SAMPLE = {
    "id": str, "epoch": int, "uuid": str, "input": str, "target": str, "messages": list, "output": dict,
    "scores": dict, "metadata": dict, "model_usage": dict, "started_at": TEXT, "completed_at": TEXT,
    "total_time": float | None, "invalidation": dict | None,
}  # fmt: skip
MESSAGE = {"role": str, "source": str, "content": str | list, "metadata": dict}
STOP_REASONS = {"stop", "max_tokens", "model_length", "tool_calls", "content_filter", "unknown"}


def assert_shape(value: dict[str, Any], shape: dict[str, Any]) -> None:
    assert value.keys() == shape.keys()
    for key, kind in shape.items():
        assert isinstance(value[key], kind), (key, value[key])


def assert_log(log: dict[str, Any]) -> None:
    """Our own small copy of Inspect's schema: what its reader would refuse fails here."""
    assert_shape(log, LOG)
    assert_shape(log["eval"], SPEC)
    datetime.fromisoformat(log["eval"]["created"])
    places = [(sample["id"], sample["epoch"]) for sample in log["samples"]]
    assert len(set(places)) == len(places)
    for sample in log["samples"]:
        assert_shape(sample, SAMPLE)
        for message in sample["messages"]:
            assert_shape({key: message[key] for key in message if key != "model"}, MESSAGE)
            assert message["role"] in ("user", "assistant")
            assert message["source"] in ("input", "operator", "generate")
        for choice in sample["output"]["choices"]:
            assert choice["stop_reason"] in STOP_REASONS
            assert choice["message"]["role"] == "assistant"
        for score in sample["scores"].values():
            assert isinstance(score["value"], str)


@pytest.fixture
def held(session: SessionUnderTest, rita: User, person: PersonFactory) -> Session:
    """A session that was held, judged and reviewed twice."""
    session.ask_and_get(WRONG)
    session.say("=Look at line 1: 3 gives 6. ✓", mode="talk")
    session.reply("Ah.")
    session.ask_and_get(RIGHT)
    session.execute()
    session.judge()
    for reviewer in (rita, person("rolf", Role.REVIEWER)):
        review(reviewer, "A2", comment="Fine.")
    call_command("check_rules", stdout=io.StringIO())
    return session.row


def export(kind: str, folder: Path) -> list[Path]:
    out = io.StringIO()
    call_command("export_trajectories", "--format", kind, "--output", str(folder), stdout=out)
    return [Path(line) for line in out.getvalue().splitlines()]


def test_inspect_log_holds_the_conversation_the_verdict_and_the_reviews(
    held: Session, ada: User, tmp_path: Path
):
    Invalidate(session_id=held.pk, person=ada, command=uuid4(), reason="The tutor knew.").execute()
    [path] = export("inspect", tmp_path / "logs")
    assert path.name == "practice-usaco-2024-v1-openai-hidden-model-name.json"
    log = json.loads(path.read_text())
    assert_log(log)
    assert log["results"]["scores"][0]["metrics"]["accuracy"]["value"] == 1
    [sample] = log["samples"]
    assert sample["scores"]["execution"]["value"] == "C"
    assert sample["scores"]["review 1.1"] == {"value": "compliant", "explanation": "Fine."}
    assert sample["invalidation"]["reason"] == "The tutor knew."
    assert sample["model_usage"] == {
        "openai:hidden-model-name": {"input_tokens": 30, "output_tokens": 15, "total_tokens": 45}
    }
    said = [
        message["metadata"].get("text") for message in sample["messages"] if message["source"] == "operator"
    ]
    assert "=Look at line 1: 3 gives 6. ✓" in said
    assert sample["messages"][0]["source"] == "input"
    assert RIGHT in sample["output"]["choices"][0]["message"]["content"]


def test_datasets_folder_describes_every_column_it_has(held: Session, tmp_path: Path):
    card, sessions, labels, findings = export("datasets", tmp_path / "data set")
    text = card.read_text()
    front = yaml.safe_load(text.split("---\n")[1])
    for number, (table, path) in enumerate(
        (("sessions", sessions), ("labels", labels), ("findings", findings))
    ):
        [info] = [info for info in front["dataset_info"] if info["config_name"] == table]
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        assert info["splits"] == [
            {"name": "train", "num_examples": len(rows), "num_bytes": path.stat().st_size}
        ]
        columns = [feature["name"] for feature in info["features"]]
        assert all(list(row) == columns for row in rows)
        assert (card.parent / front["configs"][number]["data_files"][0]["path"]) == path
    [session] = [json.loads(line) for line in sessions.read_text().splitlines()]
    inner = next(one["list"] for one in front["dataset_info"][0]["features"] if one["name"] == "messages")
    assert all(list(message) == [one["name"] for one in inner] for message in session["messages"])
    assert "| sessions | 1, of them 1 solved and 0 invalidated |" in text
    assert "| submitted reviews | 2 |" in text
    [finding] = [json.loads(line) for line in findings.read_text().splitlines()]
    message = next(one for one in session["messages"] if one["seq"] == finding["message"])
    assert (finding["clause"], finding["model"]) == ("F2", "")
    assert message["text"][finding["start"] : finding["end"]] == finding["quote"] == "line 1"


def test_a_table_without_rows_is_left_out(session: SessionUnderTest, tmp_path: Path):
    assert [path.name for path in export("datasets", tmp_path / "out")] == ["README.md", "sessions.jsonl"]


def test_pages_need_nothing_else_and_labels_are_a_table(held: Session, tmp_path: Path):
    [page] = export("html", tmp_path / "pages")
    text = page.read_text()
    assert not re.search(r'<(script|link|img)|url\((?!#)|src="', text)
    assert "=Look at line 1" in text
    out = io.StringIO()
    call_command("export_trajectories", "--format", "csv", stdout=out)
    assert len(out.getvalue().splitlines()) == 1 + 2 * 3  # the head, and three messages in two reviews


def test_a_folder_with_something_in_it_is_refused(db: None, tmp_path: Path):
    (tmp_path / "file").touch()
    for kind in ("html", "inspect", "datasets"):
        with pytest.raises(CommandError, match="not an empty folder"):
            export(kind, tmp_path)
    with pytest.raises(CommandError, match="standard output"):
        export("jsonl", tmp_path / "x")
    with pytest.raises(CommandError, match="no session"):
        call_command("export_trajectories", "--session", str(uuid4()))


words = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
moments = st.none() | st.datetimes(datetime(2024, 1, 1), datetime(2027, 1, 1), timezones=st.just(UTC)).map(
    datetime.isoformat
)


@st.composite
def records(draw: st.DrawFn) -> dict[str, Any]:
    """Any session that might stand in a file: events of most kinds, a debrief, reviews, and findings."""
    events: list[dict[str, Any]] = []
    for said, answered, late in draw(
        st.lists(st.tuples(words, words, st.booleans()), min_size=1, max_size=4)
    ):
        phase = {"phase": "debrief"} if late else {}
        message = {"mode": draw(st.sampled_from(["talk", "code", None])), "text": said, "sent": said}
        usage = draw(st.none() | st.fixed_dictionaries({"input_tokens": st.none() | st.integers(0, 9)}))
        reply = {
            "text": answered, "reasoning": draw(words), "stopped": False, "code_requested": None, "generation": None,
            "code": draw(st.none() | words), "model": None, "finish_reason": None, "usage": usage,
            "started_at": None, "first_text_at": None,
        }  # fmt: skip
        events += [{"kind": "message", "data": message | phase}, {"kind": "reply", "data": reply | phase}]
    verdict = {"verdict": draw(st.sampled_from(["AC", "WA"])), "passed": 1, "total": 2, "samples_only": False}
    events += draw(st.sampled_from([[], [{"kind": "verdict", "data": verdict}]]))
    texts = {seq: event["data"]["text"] for seq, event in enumerate(events, 1) if event["kind"] == "message"}
    wanted = [seq for seq, text in texts.items() if text.strip() and "phase" not in events[seq - 1]["data"]]
    rules = {"version": 1, "content_hash": current_rule_set().content_hash}
    reviews = [
        {
            "id": str(uuid4()), "rule_set": rules, "place": place, "by": f"person-{place}", "findings_first": False,
            "opened_at": "2026-01-01T00:00:00+00:00", "submitted_at": "2026-01-02T00:00:00+00:00", "active_seconds": 5,
            "content": {
                "messages": [
                    {"seq": seq, "clauses": ["A6"], "level": 0, "stage": "", "quotes": [], "note": draw(words)}
                    for seq in wanted
                ],
                "verdict": "compliant", "worst": None, "comment": draw(words),
            },
        }
        for place in range(1, draw(st.integers(0, 2)) + 1)
    ]  # fmt: skip
    finding = {
        "event": 1, "clause": "F1", "detector": "x", "version": 1, "start": 0, "end": 1, "quote": draw(words),
        "explanation": draw(words), "weight": 0.5, "counts": {},
    }  # fmt: skip
    check = {
        "rule_set": rules, "detectors": {"x": 1}, "basis": uuid4().hex, "model": draw(words), "prompt_hash": "",
        "checked_at": "2026-01-01T00:00:00+00:00", "findings": draw(st.sampled_from([[], [finding]])),
    }  # fmt: skip
    return {
        "schema": SCHEMA, "id": str(uuid4()), "state": "closed", "outcome": draw(st.sampled_from(["solved", ""])),
        "language": "python", "opened_at": draw(moments), "closed_at": None, "invalidated": draw(st.booleans()),
        "problem": None, "code_generations": 1, "extra": draw(words),
        "events": [{"seq": seq, "by": "", "at": draw(moments), **event} for seq, event in enumerate(events, 1)],
        "reviews": reviews, "near_misses": [], "rule_checks": draw(st.sampled_from([[], [check]])),
    }  # fmt: skip


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(record=records())
def test_any_line_comes_back_as_it_was(db: None, record: dict[str, Any]):
    line = json.dumps(record, ensure_ascii=False, sort_keys=True) + "\n"
    with transaction.atomic():
        session = store_record(read_record(line, "test"), None)
        assert session is not None
        assert "".join(to_lines([session])) == line
        assert store_record(read_record(line, "test"), None) is None
        for log in to_logs([record], datetime.now(UTC)).values():
            assert_log(log)
        transaction.set_rollback(True)
