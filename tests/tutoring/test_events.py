"""The schemas of events: what is refused at import, how old events are read, and what the documentation says."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from pydantic import BaseModel

from config import doctor
from tests.tutoring.dialogues import RIGHT, WRONG, SessionUnderTest
from tests.tutoring.review.browsing import client_of
from tests.tutoring.review.readings import recorded_session
from tutoring.models import Event, Session
from tutoring.models.payloads import (
    SCHEMAS,
    MessageSent,
    Payload,
    PayloadError,
    ReplyFinished,
    SessionClosed,
    field_types,
    parse_payload,
    read_payload,
)
from tutoring.sessions.projections import wrong_counters
from tutoring.trajectories.json_lines import TrajectoryError, read_record, store_record, to_lines

OLD_REPLY = {
    "text": RIGHT, "reasoning": "", "stopped": False, "code_requested": True, "generation": 1, "code": "print()",
    "model": "m", "finish_reason": "stop", "usage": {"input_tokens": 3}, "started_at": "2024-05-01T10:00:00",
    "first_text_at": None,
}  # fmt: skip

OLD: dict[str, dict[str, Any]] = {
    "opened": {"prompt": "Solve it."},
    "message": {
        "mode": "talk",
        "text": "Look.",
        "sent": "Look.",
        "check": {"mode": "advisory", "detections": []},
    },
    "stop": {},
    "asked_again": {},
    "reply": OLD_REPLY,
    "reply_restarted": {"reason": "lost", "partial_text": ""},
    "reply_failed": {"kind": "server", "message": "broken", "partial_text": ""},
    "execution": {"generation": 1},
    "execution_fault": {"fault": "no sandbox"},
    "verdict": {"verdict": "AC", "passed": 3, "total": 3, "samples_only": False},
    "sample_run": {"generation": 1, "program": 3, "judgement": None},
    "sample_result": {"judgement": None, "verdict": "WA", "passed": 1, "total": 2, "failed": [2]},
    "draft_requested": {},
    "model_draft": {"request": 4, "text": "Look.", "act": "code", "turn": None, "usage": [], "cost": 0.5},
    "draft_inserted": {"draft": 5},
    "closed": {"reason": "executed", "outcome": "solved"},
    "refused": {"action": "Execute", "message": "There is no program yet."},
    "invalidated": {"reason": "told the answer"},
    "reread": {
        "number": 2,
        "code_generations": 1,
        "before": {"number": None, "code_generations": 0, "problem": None},
    },
    "rejudged": {
        "rejudging": 1,
        "reason": "answer corrected",
        "problem_hash": "0",
        "judgement": 2,
        "former": "WA",
        "verdict": "AC",
        "passed": 3,
        "total": 3,
        "judge_version": "1",
        "near_limit": False,
        "time_factor": 1.0,
        "outcome": "solved",
        "programs": [{"generation": 1, "former": "WA", "verdict": "AC"}],
    },
}
"""Events of each kind in their oldest form: without the fields that were added since."""


def test_every_kind_of_event_has_a_schema_and_an_old_form():
    assert set(SCHEMAS) == set(Event.Kind.values) == set(OLD)


@pytest.mark.parametrize("kind", OLD)
def test_old_event_is_upgraded_and_its_current_form_comes_back_as_it_was(kind: str):
    payload = read_payload(kind, 1, OLD[kind])
    assert isinstance(payload, SCHEMAS[kind])
    data = json.loads(json.dumps(payload.to_json()))
    assert parse_payload(kind, payload.VERSION, data) == payload
    assert {key: data[key] for key in OLD[kind] if key not in ("usage", "check", "started_at")} == {
        key: value for key, value in OLD[kind].items() if key not in ("usage", "check", "started_at")
    }


def test_fields_that_an_old_reply_lacks_are_unknown_and_its_times_are_utc():
    reply = read_payload("reply", 1, OLD_REPLY)
    assert isinstance(reply, ReplyFinished)
    assert (reply.hidden, reply.unseen_text, reply.late_by) == (False, "", None)
    assert reply.usage is not None
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (3, None)
    assert reply.started_at == datetime(2024, 5, 1, 10, tzinfo=UTC)


@pytest.mark.parametrize("kind", OLD)
def test_unknown_field_is_refused_at_import_and_ignored_in_a_stored_row(kind: str):
    data = OLD[kind] | {"colour": "red"}
    with pytest.raises(PayloadError, match=r"field colour: unknown; expected: .*phase"):
        parse_payload(kind, 1, data)
    assert read_payload(kind, 1, data) == read_payload(kind, 1, OLD[kind])


@pytest.mark.parametrize(
    ("kind", "change", "fault"),
    [
        ("reply", {"generation": "1"}, "field generation: must be a valid integer, not '1'"),
        ("reply", {"generation": 0}, "field generation: must be greater than or equal to 1, not 0"),
        ("reply", {"stopped": 1}, "field stopped: must be a valid boolean, not 1"),
        ("reply", {"usage": {"tokens": 1}}, "field usage.tokens: unknown"),
        ("reply", {"started_at": "noon"}, "field started_at: .*'noon'"),
        ("reply", {"hidden": True}, "field hidden: unknown"),
        ("message", {"mode": "sing"}, "field mode: must be 'talk', 'code' or 'debrief', not 'sing'"),
        ("message", {"phase": "later"}, "field phase: must be 'debrief', not 'later'"),
        ("verdict", {"verdict": "GOOD"}, "field verdict: must be 'AC', .*not 'GOOD'"),
        ("closed", {"outcome": "won"}, "field outcome: must be 'solved', .*not 'won'"),
        ("reread", {"before": {}}, "field before.number: missing"),
    ],
)
def test_wrong_value_is_refused_with_the_field_and_what_is_expected(
    kind: str, change: dict[str, Any], fault: str
):
    with pytest.raises(PayloadError, match=fault):
        parse_payload(kind, 1, OLD[kind] | change)


def test_current_version_must_have_every_field_and_later_versions_are_unknown():
    with pytest.raises(PayloadError, match="field unseen_text: missing; expected: text"):
        parse_payload("reply", 2, OLD_REPLY)
    with pytest.raises(PayloadError, match="version 3 is unknown; the versions are 1 to 2"):
        parse_payload("reply", 3, OLD_REPLY)


def test_stored_events_have_their_version_and_fields_keep_their_stored_names(session: SessionUnderTest):
    session.ask_and_get(RIGHT)
    for event in session.events():
        assert event.version == SCHEMAS[event.kind].VERSION
        assert parse_payload(event.kind, event.version, event.data) == event.payload
    [reply] = session.events(Event.Kind.REPLY)
    assert reply.data["withheld"] is False
    assert reply.payload_as(ReplyFinished).hidden is False
    with pytest.raises(TypeError, match="of kind reply, not message"):
        reply.payload_as(MessageSent)


def line(schema: str, events: list[dict[str, Any]], **head: Any) -> str:
    record = {
        "schema": f"hintbench-trajectory/{schema}", "id": "00000000-0000-0000-0000-000000000007", "state": "closed",
        "outcome": "solved", "language": "python", "events": events, **head,
    }  # fmt: skip
    return json.dumps(record)


def old_events() -> list[dict[str, Any]]:
    order = ["opened", "message", "reply", "execution", "verdict", "closed", "invalidated"]
    return [{"seq": seq, "kind": kind, "at": None, "data": OLD[kind]} for seq, kind in enumerate(order, 1)]


@pytest.mark.parametrize("schema", ["1", "2", "3", "4"])
def test_files_of_all_schemas_are_read_shown_and_exported_again(db: None, rita, schema: str):
    session = store_record(read_record(line(schema, old_events()), "test"), None)
    assert session is not None
    assert (session.code_generations, session.executions, session.outcome_claimed) == (1, 1, False)
    assert [event.data for event in session.events.all()] == [event["data"] for event in old_events()]
    assert "told the answer" in client_of(rita).get(f"/trajectories/{session.pk}/").content.decode()
    [exported] = to_lines([session])
    assert {event["version"] for event in json.loads(exported)["events"]} == {1}
    assert store_record(read_record(exported, "test"), None) is None, "it is the same record"


@pytest.mark.parametrize(
    ("head", "fault"),
    [
        ({"colour": 1}, "session 0{8}-.*7: field colour: unknown; expected: schema, id"),
        ({"number": "2"}, "session 0.*7: field number: must be a valid integer, not '2'"),
        (
            {"protocol": {"name": "p", "version": 1, "rules": {"title": 5}}},
            "field protocol.rules.title: must be",
        ),
        ({"judgement": {"tests": [{"name": "a", "stdout": "x"}]}}, "field judgement.tests.0.stdout: unknown"),
    ],
)
def test_wrong_head_is_refused_with_session_line_and_field(db: None, head: dict[str, Any], fault: str):
    with pytest.raises(TrajectoryError, match=f"file, line 3: .*{fault}"):
        read_record(line("4", old_events(), **head), "file, line 3")


def test_wrong_event_is_refused_with_session_line_event_and_field(db: None):
    events = old_events()
    events[2]["data"] = OLD_REPLY | {"codes": "print()"}
    with pytest.raises(
        TrajectoryError, match=r"file, line 3: session 0.*7, event 3 \(reply\): field codes: unknown"
    ):
        read_record(line("3", events), "file, line 3")


def test_counters_of_an_imported_session_come_from_its_events(db: None):
    """The head keeps what the file says."""
    session = recorded_session("00000000-0000-0000-0000-000000000009", ["Go on."], code_generations=7)
    assert session.code_generations == 1
    [exported] = to_lines([session])
    assert json.loads(exported)["code_generations"] == 7


def test_doctor_names_sessions_whose_counters_differ_from_their_events(
    session: SessionUnderTest, monkeypatch: pytest.MonkeyPatch
):
    for examination in ("_sandbox", "_languages"):  # they start other programs
        monkeypatch.setattr(doctor, examination, lambda **_: [])
    session.ask_and_get(RIGHT)
    assert wrong_counters() == []
    Session.objects.update(code_generations=2)
    assert wrong_counters() == [session.row]
    [part] = [part for part in doctor.examine() if part.name == "session counters"]
    assert not part.ok
    assert str(session.pk) in part.detail


def test_real_dialogues_are_imported_as_current_events(db: None, shared_data: Path):
    call_command("import_trajectories", str(shared_data / "trajectories"), verbosity=0)
    assert Session.objects.count() == 6
    for event in Event.objects.all():
        assert parse_payload(event.kind, event.version, event.data).to_json() == event.data
        assert event.version == SCHEMAS[event.kind].VERSION


@pytest.mark.usefixtures("sandbox")
def test_stored_rows_of_an_old_database_are_read(session: SessionUnderTest, rita):
    """Rows as the first release wrote them: version 1, without the fields that were added since."""
    session.ask_and_get(WRONG)
    added = {"withheld", "unseen_text", "received_at", "shown_from", "late_by"}
    for event in session.events():
        data = {key: value for key, value in event.data.items() if key not in added}
        Event.objects.filter(pk=event.pk).update(version=1, data=data)
    [exported] = to_lines([session.refresh()])
    assert {event["version"] for event in json.loads(exported)["events"]} == {1}
    assert client_of(rita).get(f"/trajectories/{session.pk}/").status_code == 200
    assert client_of(session.tutor).get(f"/sessions/{session.pk}/").status_code == 200
    session.ask_and_get(RIGHT)
    session.execute()
    session.judge()
    assert session.row.code_generations == 2
    assert session.events()[-1].payload_as(SessionClosed).outcome == Session.Outcome.SOLVED


def test_document_has_a_table_of_every_schema(repository: Path):
    document = (repository / "docs" / "trajectories.md").read_text(encoding="utf-8")
    expected = "\n".join(table_lines())
    assert expected in document, f"docs/trajectories.md must contain:\n\n{expected}"


def table_lines() -> Iterator[str]:
    """Yield the table of all kinds of events, and of the objects in them, as docs/trajectories.md has it."""
    yield "| event or object | version | field | value |"
    yield "| --- | --- | --- | --- |"
    inner: dict[str, type[BaseModel]] = {}
    for kind, schema in SCHEMAS.items():
        yield from _rows(f"`{kind}`", str(schema.VERSION), schema)
        inner |= _objects(schema)
    for name, one in inner.items():
        yield from _rows(name, "", one)


def _rows(name: str, version: str, schema: type[BaseModel]) -> Iterator[str]:
    optional = {
        field.serialization_alias or name
        for name, field in schema.model_fields.items()
        if not field.is_required()
    }
    for field, kind in field_types(schema).items():
        if field == "phase" and issubclass(schema, Payload):
            continue
        yield f"| {name} | {version} | `{field}`{' (optional)' if field in optional else ''} | {kind} |"


def _objects(schema: type[BaseModel]) -> dict[str, type[BaseModel]]:
    """The schemas that the fields of a schema refer to, by name."""
    known = {one.__name__: one for one in _subclasses(BaseModel) if one.__module__ == schema.__module__}
    names = {
        name for kind in field_types(schema).values() for name in re.findall(r"\b[A-Z][a-z]+[A-Z]\w+", kind)
    }
    found = {name: known[name] for name in sorted(names)}
    for one in list(found.values()):
        found |= _objects(one)
    return found


def _subclasses(kind: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for one in kind.__subclasses__():
        yield one
        yield from _subclasses(one)
