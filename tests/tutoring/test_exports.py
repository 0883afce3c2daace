"""Exports: logs of Inspect, a folder of the datasets library, pages, labels, and our own JSON lines."""

from __future__ import annotations

import csv
import io
import json
import re
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any
from uuid import uuid4

import pytest
import yaml
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.roles import Role
from benchmark.model_calls import catalogue
from benchmark.models import LanguageModel
from tests.tutoring.conftest import PersonFactory
from tests.tutoring.dialogues import RIGHT, WRONG, SessionUnderTest
from tests.tutoring.review.readings import recorded_session, review
from tutoring.actions import CloseSession, Invalidate
from tutoring.models import AbandonReason, Session
from tutoring.rules import current_rule_set
from tutoring.trajectories.inspect_logs import to_logs
from tutoring.trajectories.json_lines import read_record, store_record, to_lines, to_record
from tutoring.trajectories.record_schema import SCHEMA

MODEL = "openai:hidden-model-name"


@pytest.fixture(scope="module")
def inspect_log() -> ModuleType:
    """The part of inspect_ai that reads logs. Its import takes seconds, so it is deferred."""
    return import_module("inspect_ai.log")


@pytest.fixture
def held(sandbox: object, session: SessionUnderTest, rita: User, person: PersonFactory) -> Session:
    """A session with a verdict and two reviews."""
    session.ask_and_get(WRONG)
    session.say("=The bug is in line 1: 3 gives 6. ✓", mode="talk")
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


def logs_of(folder: Path, inspect_log: ModuleType) -> list[Any]:
    """Return the logs that Inspect lists and reads in the folder."""
    listed = inspect_log.list_eval_logs(str(folder))
    assert {Path(one.name).name for one in listed} == {path.name for path in folder.iterdir()}
    return [inspect_log.read_eval_log(one) for one in listed]


def test_every_export_names_the_version_and_the_parameters_of_the_model(
    held: Session, tmp_path: Path, inspect_log: ModuleType
):
    Session.objects.update(
        model=catalogue.add(LanguageModel(label="lab", spec=MODEL, parameters={"temperature": 0.2}))
    )
    [line] = to_lines([Session.objects.get()])
    record = json.loads(line)
    expected = {"label": "lab", "version": 1, "parameters": {"temperature": 0.2}}
    assert {key: record["language_model"][key] for key in expected} == expected
    [log] = export("inspect", tmp_path / "logs")
    assert json.loads(log.read_text())["eval"]["metadata"]["language_model"] == record["language_model"]
    sessions = next(one for one in export("datasets", tmp_path / "set") if one.stem == "sessions")
    row = json.loads(sessions.read_text())
    assert (row["model_label"], row["model_version"], row["model_parameters"]) == (
        "lab",
        1,
        '{"temperature": 0.2}',
    )

    copy = record | {"id": str(uuid4()), "reviews": [], "rule_checks": [], "near_misses": []}
    path = tmp_path / "sessions.jsonl"
    path.write_text(json.dumps(copy) + "\n")
    call_command("import_trajectories", str(path), stdout=io.StringIO())
    imported = Session.objects.get(pk=copy["id"])
    assert imported.model is None, "this site has no such row"
    assert to_record(imported)["language_model"] == record["language_model"]


def test_inspect_log_holds_the_conversation_the_verdict_and_the_reviews(
    held: Session, ada: User, tmp_path: Path, inspect_log: ModuleType
):
    Invalidate(session_id=held.pk, person=ada, command=uuid4(), reason="The tutor knew.").execute()
    export("inspect", tmp_path / "logs")
    [log] = logs_of(tmp_path / "logs", inspect_log)
    assert log.invalidated
    assert log.results.scores == [], "an invalidated session is excluded from figures"
    [sample] = log.samples
    assert sample.scores["solved"].value == "C"
    assert sample.scores["compliant"].value == "C"
    assert sample.scores["generations"].value == 2
    assert (sample.scores["review 1.1"].value, sample.scores["review 1.1"].explanation) == (
        "compliant",
        "Fine.",
    )
    assert sample.invalidation.reason == "The tutor knew."
    tokens = {"input_tokens": 30, "output_tokens": 15, "total_tokens": 45}
    for usage in (sample.model_usage, log.stats.model_usage):
        assert usage[MODEL].model_dump(include=set(tokens)) == tokens
    said = [message.metadata.get("text") for message in sample.messages if message.source == "operator"]
    assert "=The bug is in line 1: 3 gives 6. ✓" in said
    assert sample.messages[0].source == "input"
    assert RIGHT in sample.output.choices[0].message.content


def test_inspect_lists_reads_and_bundles_a_log(held: Session, tmp_path: Path, inspect_log: ModuleType):
    [path] = export("inspect", tmp_path / "logs")
    [listed] = inspect_log.list_eval_logs(str(tmp_path / "logs"))
    assert (listed.task, path.name) == ("usaco-2024-v1", Path(listed.name).name)
    header = inspect_log.read_eval_log(listed, header_only=True)
    assert header.samples is None
    assert (header.eval.task, header.eval.model, header.eval.dataset.name, header.eval.dataset.samples) == (
        "tutoring/usaco-2024-v1",
        MODEL,
        "practice",
        1,
    )
    assert listed.task_id == header.eval.task_id
    metrics = {
        score.name: {name: metric.value for name, metric in score.metrics.items()}
        for score in header.results.scores
    }
    assert metrics == {"solved": {"accuracy": 1}, "compliant": {"accuracy": 1}, "generations": {"mean": 2}}
    assert header.stats.started_at <= header.stats.completed_at != ""
    assert (header.results.total_samples, header.results.completed_samples) == (1, 1)
    whole = inspect_log.read_eval_log(listed)
    assert [sample.uuid for sample in whole.samples] == [str(held.pk)]
    inspect_log.bundle_log_dir(str(tmp_path / "logs"), str(tmp_path / "site"))
    assert (tmp_path / "site" / "index.html").is_file()
    assert (tmp_path / "site" / "logs" / path.name).is_file()


def test_inspect_metrics_are_those_that_inspect_computes(db: None, tmp_path: Path, inspect_log: ModuleType):
    """Several sessions on one problem are averaged before problems are."""
    verdicts = {"a": ["AC", "WA", "WA"], "b": ["AC"], "c": ["WA", "WA"]}
    for problem, of_problem in verdicts.items():
        for number, verdict in enumerate(of_problem, start=1):
            stored_session(problem, number, verdict=verdict)
    stored_session("a", 4, outcome="not_solved")
    stored_session("d", 1, outcome="solved")
    export("inspect", tmp_path / "logs")
    [log] = logs_of(tmp_path / "logs", inspect_log)
    ours = {score.name: score for score in log.results.scores}
    assert ours["solved"].metrics["accuracy"].value == pytest.approx((1 / 3 + 1 + 0) / 3)
    assert (ours["solved"].scored_samples, ours["solved"].unscored_samples) == (3, 1)
    assert ours["claimed"].metrics["accuracy"].value == 0.5
    assert "compliant" not in ours, "there is no review"
    assert ours["generations"].metrics["mean"].value == pytest.approx((2.5 + 1 + 1.5 + 1) / 4)
    inspect_log.recompute_metrics(log)
    theirs = {score.name: score for score in log.results.scores}
    for name, score in ours.items():
        assert score.scored_samples == theirs[name].scored_samples
        for metric, found in score.metrics.items():
            assert found.value == pytest.approx(theirs[name].metrics[metric].value), (name, metric)
    assert {"accuracy", "stderr"} == ours["solved"].metrics.keys()


def test_an_abandoned_session_is_not_solved_in_inspect(
    session: SessionUnderTest, tmp_path: Path, inspect_log: ModuleType
):
    CloseSession(
        session_id=session.pk, person=session.tutor, command=uuid4(), why=AbandonReason.NO_TIME, reason=""
    ).execute()
    export("inspect", tmp_path / "logs")
    [log] = logs_of(tmp_path / "logs", inspect_log)
    assert log.results.scores[0].metrics["accuracy"].value == 0


def stored_session(problem: str, number: int, *, verdict: str = "", outcome: str = "") -> None:
    """Store an imported session of that problem with a verdict or with a claimed outcome."""
    data = {"verdict": verdict, "passed": 1, "total": 2, "samples_only": False}
    events = [{"seq": 1, "kind": "verdict", "by": "", "at": None, "data": data}] if verdict else []
    record = {
        "schema": SCHEMA, "id": str(uuid4()), "state": "closed", "language": "python", "events": events,
        "outcome": outcome or ("solved" if verdict == "AC" else "not_solved"), "number": number,
        "problem": {"dataset": "d", "id": problem}, "code_generations": number, "reviews": [], "rule_checks": [],
    }  # fmt: skip
    assert store_record(read_record(json.dumps(record), "test"), None)


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
    assert "| sessions | 1, of them 1 solved, 0 claimed to be solved and 0 invalidated |" in text
    assert "| submitted reviews | 2 |" in text
    found = [json.loads(line) for line in findings.read_text().splitlines()]
    [finding] = [one for one in found if one["quote"] == "line 1"]
    message = next(one for one in session["messages"] if one["seq"] == finding["message"])
    assert (finding["clause"], finding["model"]) == ("F2", "")
    assert all(message["text"][one["start"] : one["end"]] == one["quote"] for one in found)


def test_a_table_without_rows_is_left_out(session: SessionUnderTest, tmp_path: Path):
    assert [path.name for path in export("datasets", tmp_path / "out")] == ["README.md", "sessions.jsonl"]


def test_pages_need_nothing_else_and_labels_are_a_table(held: Session, tmp_path: Path):
    [page] = export("html", tmp_path / "pages")
    text = page.read_text()
    assert not re.search(r'<(script|link|img)|url\((?!#)|src="', text)
    assert "=The bug is in line 1" in text
    out = io.StringIO()
    call_command("export_trajectories", "--format", "csv", stdout=out)
    head, *rows = csv.reader(io.StringIO(out.getvalue()))
    assert len(rows) == 2 * 3, "three messages in two reviews"
    assert (head[-3:], rows[0][-3:]) == (["number", "outcome", "outcome_claimed"], ["1", "solved", ""])


def test_labels_of_a_claimed_outcome_say_so(rita: User):
    recorded_session(str(uuid4()), ["Go on."])
    review(rita)
    out = io.StringIO()
    call_command("export_trajectories", "--format", "csv", stdout=out)
    _, row = csv.reader(io.StringIO(out.getvalue()))
    assert row[-3:] == ["", "solved", "claimed"]


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
    """Draw a record with events of most kinds, a debrief, reviews, and findings."""
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
    outcome = draw(st.sampled_from(["solved", ""]))
    return {
        "schema": SCHEMA, "id": str(uuid4()), "state": "closed", "outcome": outcome,
        "outcome_claimed": bool(outcome) and all(event["kind"] != "verdict" for event in events),
        "language": "python", "opened_at": draw(moments), "closed_at": None, "invalidated": draw(st.booleans()),
        "problem": None, "code_generations": 1, "source": {"extra": draw(words)},
        "events": [
            {"seq": seq, "version": 1, "by": "", "at": draw(moments), **event} for seq, event in enumerate(events, 1)
        ],
        "reviews": reviews, "near_misses": [], "rule_checks": draw(st.sampled_from([[], [check]])),
    }  # fmt: skip


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(record=records())
def test_any_line_comes_back_as_it_was(db: None, inspect_log: ModuleType, record: dict[str, Any]):
    line = json.dumps(record, ensure_ascii=False, sort_keys=True) + "\n"
    with transaction.atomic():
        session = store_record(read_record(line, "test"), None)
        assert session is not None
        assert "".join(to_lines([session])) == line
        assert store_record(read_record(line, "test"), None) is None
        for log in to_logs([record], datetime.now(UTC)).values():
            inspect_log.EvalLog.model_validate(log)
        transaction.set_rollback(True)
