"""Import and export of trajectories lose nothing and invent nothing."""

from __future__ import annotations

import io
import json
from importlib import import_module
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from benchmark.models import Dataset, Problem
from tests.problems import store_doubling
from tests.tutoring.dialogues import RIGHT, WRONG, SessionUnderTest
from tests.tutoring.review.browsing import client_of
from tests.tutoring.review.readings import recorded_session
from tutoring.actions import Invalidate
from tutoring.models import AuditEntry, Event, Finding, Reply, RuleCheck, Session
from tutoring.review.content import labelled_messages
from tutoring.sessions.projections import wrong_counters
from tutoring.trajectories.json_lines import TrajectoryError

RECORD = {
    "schema": "hintbench-trajectory/1",
    "id": "00000000-0000-0000-0000-000000000001",
    "state": "closed",
    "outcome": "",
    "language": "python",
    "events": [],
}

FAULT = {"fault": "The judge failed."}

REPLY = dict.fromkeys(
    (
        "code",
        "code_requested",
        "generation",
        "model",
        "finish_reason",
        "usage",
        "started_at",
        "first_text_at",
    ),
    None,
) | {"text": "x", "reasoning": "", "stopped": False}


def run(*words: str) -> str:
    out = io.StringIO()
    call_command(*words, stdout=out)
    return out.getvalue()


def imported(*paths: Path) -> list[dict[str, Any]]:
    answer: dict[str, list[dict[str, Any]]] = json.loads(
        run("import_trajectories", *map(str, paths), "--json")
    )
    return answer["trajectories"]


@pytest.fixture
def usaco_problems(shared_data: Path, db: None) -> None:
    """The problems of the published dialogues, and others with similar names."""
    wanted = ("rest_stops", "lemonade", "loan_repayment", "air_cow", "palindrom", "lost_cow")
    for file, name in (("usaco_dict", "usaco"), ("postcutoff_problems_dict", "postcutoff")):
        dataset = Dataset.objects.create(name=name, format="usaco")
        problems = json.loads((shared_data / "usaco" / f"{file}.json").read_text())
        for external_id, problem in problems.items():
            if any(word in external_id for word in wanted):
                Problem.objects.create(
                    dataset=dataset,
                    external_id=external_id,
                    title=problem["name"],
                    tier=problem["problem_level"],
                    statement=problem["description"],
                    statement_format="usaco",
                    statement_html="",
                    time_limit=2,
                    memory_limit=2**28,
                    checker={},
                    content_hash="0",
                )


def test_published_dialogues_are_matched_and_counted(shared_data: Path, usaco_problems: None):
    rows = {row["file"]: row for row in imported(shared_data / "trajectories")}
    found = {file: (row["problem"], row["messages"], row["code_generations"]) for file, row in rows.items()}
    assert found == {
        "bronze_postcutoff_palindromes_FAIL.json": ("postcutoff/1395_bronze_palindrome_game", 10, 5),
        "bronze_precutoff_air_cownditioning_correct1.json": ("usaco/1276_bronze_air_cownditioning_ii", 4, 2),
        "bronze_precutoff_lemonade_correct1.json": ("usaco/835_silver_lemonade_line", 4, 2),
        "silver_precutoff_loan_repayment_SUCCESS.json": ("usaco/991_silver_loan_repayment", 14, 4),
        "silver_precutoff_rest_stops_FAIL.json": ("usaco/810_silver_rest_stops", 12, 6),
        "silver_precutoff_rest_stops_SUCCESS2.json": ("usaco/810_silver_rest_stops", 12, 3),
    }
    assert not [finding for row in rows.values() for finding in row["findings"] if "allowed" in finding], (
        "no file names a protocol, so no limit is known"
    )
    attempts = {file: row["number"] for file, row in rows.items() if row["number"] is not None}
    assert attempts == {
        "bronze_precutoff_air_cownditioning_correct1.json": 1,
        "bronze_precutoff_lemonade_correct1.json": 1,
        "silver_precutoff_rest_stops_SUCCESS2.json": 2,
    }


def test_tagged_blocks_that_are_never_closed_are_counted(
    shared_data: Path, usaco_problems: None, tmp_path: Path
):
    """An earlier version counted 3 instead of 5 generations in a released dialogue of this shape."""
    source = shared_data / "trajectories" / "bronze_postcutoff_palindromes_FAIL.json"
    turns = json.loads(source.read_text(encoding="utf-8"))
    fenced = [turn for turn in turns if turn["role"] == "assistant" and "```python" in turn["content"]]
    for turn in fenced[1:3]:
        words, _, program = turn["content"].partition("```python\n")
        half = program.split("```")[0][:150]
        turn["content"] = f"{words}```python\n{half}\n    if (((\u25cf \u25cf print(print(print(\n"
    (tmp_path / source.name).write_text(json.dumps(turns), encoding="utf-8")
    [row] = imported(tmp_path / source.name)
    assert (len(fenced), row["code_generations"]) == (5, 5)


def test_unknown_facts_of_a_published_dialogue_stay_unknown(shared_data: Path, usaco_problems: None):
    imported(shared_data / "trajectories" / "silver_precutoff_rest_stops_FAIL.json")
    session = Session.objects.get()
    assert session.model_spec == ""
    assert session.opened_at is None
    assert session.tutor is None
    assert session.protocol is None
    assert session.outcome == Session.Outcome.NOT_SOLVED
    assert session.source["head"]["source"]["outcome_claimed_by"] == "the file's name"
    assert session.outcome_claimed
    assert {event.at for event in session.events.all()} == {None}
    prompt, first, *_ = labelled = list(session.events.filter(kind="message"))
    assert prompt.data["text"] == "", "the prompt with the problem is not a text of the tutor"
    assert prompt.data["sent"].startswith("Please reply with a Python 3 solution")
    assert [event.seq for event in labelled_messages(session)] == [event.seq for event in labelled[1:]]
    assert first.data["text"] == first.data["sent"]


def test_second_import_changes_nothing(shared_data: Path, usaco_problems: None):
    assert {row["state"] for row in imported(shared_data / "trajectories")} == {"imported"}
    assert {row["state"] for row in imported(shared_data / "trajectories")} == {"unchanged"}
    assert Session.objects.count() == 6


@pytest.mark.usefixtures("sandbox")
def test_export_and_import_lose_nothing(session: SessionUnderTest, tmp_path: Path):
    session.ask_and_get(WRONG)
    session.say("Look at the sample: 3 gives 6. ✓", mode="talk")
    session.reply("Ah.")
    session.ask_and_get(RIGHT)
    session.execute()
    session.judge()
    run("check_rules")
    first = run("export_trajectories", "--format", "jsonl")
    file = tmp_path / "all.jsonl"
    file.write_text(first)
    assert imported(file)[0]["state"] == "unchanged"
    wipe()
    row = imported(file)[0]
    assert (row["problem"], row["code_generations"], row["state"]) == ("practice/doubling", 2, "imported")
    assert run("export_trajectories", "--format", "jsonl") == first
    wipe()
    Problem.objects.update(external_id="elsewhere")
    assert imported(file)[0]["problem"] is None
    assert run("export_trajectories", "--format", "jsonl") == first, "checks made with the problem are kept"
    kept = Session.objects.get()
    assert kept.outcome == Session.Outcome.SOLVED
    assert kept.origin == Session.Origin.IMPORTED


@pytest.fixture
def dialogue(db: None, tmp_path: Path) -> Path:
    """A published dialogue in which one reply holds a program. Its name states the outcome and the attempt."""
    turns = [
        {"role": "user", "content": "Solve it."},
        {"role": "assistant", "content": RIGHT},
        {"role": "user", "content": "Look at the sample."},
        {"role": "assistant", "content": "Ah."},
    ]
    file = tmp_path / "bronze_precutoff_doubling_FAIL2.json"
    file.write_text(json.dumps(turns))
    return file


@pytest.mark.parametrize(
    ("ending", "number", "outcome"),
    [
        ("FAIL2", 2, "not_solved"),
        ("SUCCESS2", 2, "solved"),
        ("correct1", 1, "solved"),
        ("success03", 3, "solved"),
        ("FAIL", None, "not_solved"),
        ("FAIL0", None, "not_solved"),
        ("FAIL10000", None, "not_solved"),
        ("correct99999999999999999999", None, "solved"),
        ("two", None, "unknown"),
    ],
)
def test_name_of_a_file_tells_outcome_and_attempt(
    dialogue: Path, ending: str, number: int | None, outcome: str
):
    [row] = imported(dialogue.rename(dialogue.with_stem(f"bronze_precutoff_doubling_{ending}")))
    assert (row["number"], row["outcome"], row["outcome_claimed"]) == (number, outcome, outcome != "unknown")
    [record] = map(json.loads, run("export_trajectories").splitlines())
    assert (record["number"], record["outcome_claimed"]) == (number, outcome != "unknown")


def test_a_dialogue_that_an_older_version_read_differently_is_read_again(dialogue: Path, rita: User):
    """The recorded events stay as they are; an event says what changed, and head and columns follow it."""
    imported(dialogue)
    session = Session.objects.get()
    head = session.source["head"] | {"number": None, "code_generations": 0}
    Session.objects.update(number=None, code_generations=0, source={"head": head})
    reply = session.events.get(seq=2)
    Event.objects.filter(pk=reply.pk).update(data=reply.data | {"generation": None, "code": None})
    before = list(session.events.values("seq", "kind", "data"))
    assert imported(dialogue)[0]["state"] == "imported"
    session.refresh_from_db()
    assert (session.number, session.code_generations) == (2, 1)
    *kept, added = session.events.values("seq", "kind", "data")
    assert kept == before
    assert (added["kind"], added["data"]["number"], added["data"]["before"]["number"]) == ("reread", 2, None)
    page = client_of(rita).get(f"/trajectories/{session.pk}/").content.decode()
    assert "session 2, 1 generation of code. Before: session unknown, 0 generations." in page
    [record] = map(json.loads, run("export_trajectories").splitlines())
    assert (record["number"], record["code_generations"]) == (2, 1)
    assert imported(dialogue)[0]["state"] == "unchanged"


def test_older_export_of_a_dialogue_does_not_undo_what_was_read_since(dialogue: Path, tmp_path: Path):
    imported(dialogue)
    [record] = map(json.loads, run("export_trajectories").splitlines())
    del record["outcome_claimed"]
    older = tmp_path / "older.jsonl"
    older.write_text(json.dumps(record | {"number": None, "code_generations": 0}))
    assert imported(older)[0]["state"] == "unchanged"
    assert Session.objects.get().number == 2


def test_a_dialogue_gets_the_problem_that_was_imported_after_it(dialogue: Path):
    imported(dialogue)
    problem = store_doubling()
    Problem.objects.update(tier="bronze")
    assert imported(dialogue)[0]["state"] == "imported"
    assert Session.objects.get().problem == problem
    assert imported(dialogue)[0]["state"] == "unchanged"


def test_an_invalidated_dialogue_can_be_imported_again(dialogue: Path, ada: User):
    imported(dialogue)
    session = Session.objects.get()
    Invalidate(session_id=session.pk, person=ada, command=uuid4(), reason="Not a tutor.").execute()
    assert imported(dialogue)[0]["state"] == "unchanged"
    session.refresh_from_db()
    assert session.invalidated


def test_the_same_dialogue_under_a_name_with_another_outcome_is_refused(dialogue: Path):
    imported(dialogue)
    [row] = imported(dialogue.rename(dialogue.with_stem("bronze_precutoff_doubling_SUCCESS2")))
    assert row["state"] == "differs"
    assert "states another outcome" in row["fault"]
    assert Session.objects.get().outcome == Session.Outcome.NOT_SOLVED


def test_claimed_outcome_is_shown_as_claimed_everywhere(
    dialogue: Path, rosa: User, ada: User, tmp_path: Path
):
    assert "attempt 2, claimed: not_solved, imported" in run("import_trajectories", str(dialogue))
    session = Session.objects.get()
    client = client_of(rosa)
    for address in (
        "/trajectories/",
        "/trajectories/?outcome=claimed:not_solved",
        f"/trajectories/{session.pk}/",
        f"/trajectories/{session.pk}/page.html",
        "/review/sessions/",
    ):
        page = client.get(address).content.decode()
        assert '<span class="badge">claimed: not solved</span>' in page, address
        assert '<span class="badge bad">not solved</span>' not in page, address
    assert (
        "<p>claimed: not solved. Reason: imported</p>"
        in client.get(f"/trajectories/{session.pk}/").content.decode()
    )
    assert str(session.pk) not in client.get("/trajectories/?outcome=not_solved").content.decode()
    ada.is_staff = ada.is_superuser = True
    ada.save()
    assert "claimed: not solved" in client_of(ada).get("/admin/tutoring/session/").content.decode()
    run("export_trajectories", "--format", "datasets", "--output", str(tmp_path / "datasets"))
    [row] = map(json.loads, (tmp_path / "datasets/data/sessions.jsonl").read_text().splitlines())
    assert (row["outcome"], row["outcome_claimed"], row["number"]) == ("not_solved", True, 2)


@pytest.mark.usefixtures("sandbox")
def test_verdict_is_no_claim(session: SessionUnderTest, rosa: User):
    session.ask_and_get(RIGHT)
    session.execute()
    session.judge()
    assert not session.row.outcome_claimed
    assert '<span class="badge good">solved</span>' in client_of(rosa).get("/trajectories/").content.decode()


@pytest.mark.usefixtures("sandbox")
def test_migration_marks_the_claims_that_are_here(dialogue: Path, session: SessionUnderTest):
    session.ask_and_get(RIGHT)
    session.execute()
    session.judge()
    imported(dialogue)
    Session.objects.update(outcome_claimed=False)
    import_module("tutoring.migrations.0010_claimed_outcomes").mark_claims(apps, None)
    assert [one.origin for one in Session.objects.filter(outcome_claimed=True)] == [Session.Origin.IMPORTED]


def wipe() -> None:
    """Delete all sessions and keep the problem, as on another server."""
    Finding.objects.all().delete()
    RuleCheck.objects.all().delete()
    Reply.objects.all().delete()
    Event.objects.all().delete()
    Session.objects.all().delete()


def test_a_record_with_other_content_is_refused_with_instructions(db: None):
    recorded_session(str(UUID(int=1)), ["Look."])
    with pytest.raises(TrajectoryError, match=r"exists with other content.*on a new site.*invalidate"):
        recorded_session(str(UUID(int=1)), ["Look again."])
    assert Session.objects.get().events.count() == 2


@pytest.mark.usefixtures("sandbox")
def test_later_export_continues_an_imported_session(session: SessionUnderTest, ada: User, tmp_path: Path):
    """A session that was open, then closed, debriefed and invalidated at its site; the older export changes nothing."""
    files = [tmp_path / name for name in ("open.jsonl", "closed.jsonl", "invalidated.jsonl")]
    session.ask_and_get(RIGHT)
    files[0].write_text(run("export_trajectories", "--format", "jsonl"))
    session.execute()
    session.judge()
    session.say("Well done.", mode="debrief")
    session.reply("Thanks.")
    run("check_rules")
    files[1].write_text(run("export_trajectories", "--format", "jsonl"))
    Invalidate(session_id=session.pk, person=ada, command=uuid4(), reason="A test.").execute()
    files[2].write_text(run("export_trajectories", "--format", "jsonl"))
    AuditEntry.objects.all().delete()
    wipe()
    for file in files:
        assert imported(file)[0]["state"] == "imported"
        assert imported(file)[0]["state"] == "unchanged"
    exported = [json.loads(text) for text in (run("export_trajectories"), files[2].read_text())]
    for record in exported:
        record.pop("rule_checks")  # the open session was checked here too
    assert exported[0] == exported[1]
    stored = Session.objects.get()
    assert (stored.state, stored.outcome, stored.invalidated) == ("closed", "solved", True)
    assert (stored.executions, wrong_counters()) == (1, [])
    assert imported(files[0])[0]["state"] == "unchanged"
    assert Session.objects.get().invalidated


def test_record_that_contradicts_a_session_is_named_and_the_rest_imported(
    session: SessionUnderTest, ada: User, tmp_path: Path
):
    session.ask_and_get(WRONG)
    file = tmp_path / "all.jsonl"
    record = json.loads(run("export_trajectories", "--format", "jsonl"))
    file.write_text(json.dumps(record) + "\n")
    wipe()
    imported(file)
    Invalidate(session_id=UUID(record["id"]), person=ada, command=uuid4(), reason="A test.").execute()
    further = {"seq": len(record["events"]) + 1, "kind": "stop", "version": 2, "by": "", "at": None}
    continued = record | {"events": [*record["events"], further | {"data": {"reply": None}}]}
    other = record | {"id": str(UUID(int=7))}
    file.write_text("".join(json.dumps(one) + "\n" for one in (continued, other)))
    out = run("import_trajectories", str(file))
    assert f"all.jsonl, line 1: not imported, session {record['id']} exists with other content" in out
    assert [row["state"] for row in imported(file)] == ["differs", "unchanged"]
    assert Session.objects.get(pk=record["id"]).invalidated
    assert Session.objects.count() == 2


def test_export_names_no_account(session: SessionUnderTest):
    session.ask_and_get(RIGHT)
    exported = run("export_trajectories")
    assert "alice" not in exported
    assert "person-" in exported


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("cut.json", '[{"role": "user", "content": "x"', "cut.json: not JSON"),
        ("dict.json", '{"role": "user"}', "a list of messages was expected"),
        ("empty.json", "[]", "a list of messages was expected"),
        ("role.json", '[{"role": "system", "content": "x"}]', "message 1 is not"),
        ("nul.json", '[{"role": "user", "content": "a\\u0000b"}]', "NUL or half of a character"),
        ("half.json", '[{"role": "user", "content": "a\\ud83d"}]', "NUL or half of a character"),
        ("deep.json", "[" * 100_000, "nested too deeply"),
        ("cut.jsonl", '{"schema": "hintbench-trajectory/1"', "cut.jsonl, line 1: not JSON"),
        ("other.jsonl", '{"schema": "other/1"}', "not a trajectory of schema"),
        ("empty.jsonl", "", "the file is empty"),
        (
            "gap.jsonl",
            '{"schema": "hintbench-trajectory/1", "id": "00000000-0000-0000-0000-000000000001", "state": '
            '"closed", "outcome": "", "language": "python", '
            '"events": [{"seq": 2, "kind": "stop", "at": null, "data": {}}]}',
            "event 1 has seq 2",
        ),
        (
            "bare.jsonl",
            json.dumps(RECORD | {"events": [{"seq": 1, "kind": "reply", "data": {}, "at": None}]}),
            r"session 0+-.*, event 1 .reply.: .*field code: missing; expected: text or null",
        ),
        (
            "code.jsonl",
            json.dumps(
                RECORD | {"events": [{"seq": 1, "kind": "reply", "data": REPLY | {"code": 5}, "at": None}]}
            ),
            "event 1 .reply.: field code: must be a valid string, not 5",
        ),
        (
            "check.jsonl",
            json.dumps(
                RECORD
                | {
                    "events": [
                        {
                            "seq": 1,
                            "kind": "message",
                            "data": {"mode": "talk", "text": "x", "sent": "x", "check": {"drafts": 5}},
                            "at": None,
                        }
                    ]
                }
            ),
            "event 1 .message.: field check.drafts: must be a valid list, not 5",
        ),
        (
            "verdict.jsonl",
            json.dumps(
                RECORD
                | {
                    "events": [
                        {
                            "seq": 1,
                            "kind": "verdict",
                            "at": None,
                            "data": {"verdict": "GOOD", "passed": 1, "total": 1, "samples_only": False},
                        }
                    ]
                }
            ),
            "GOOD",
        ),
        (
            "fault.jsonl",
            json.dumps(
                RECORD | {"events": [{"seq": 1, "kind": "execution_fault", "data": FAULT, "at": None}]}
            ),
            "event 1 .execution_fault.: no execution precedes it",
        ),
        ("when.jsonl", json.dumps(RECORD | {"opened_at": "yesterday"}), "yesterday"),
        (
            "model.jsonl",
            json.dumps(RECORD | {"model": "m" * 201}),
            "field model: must have at most 200 characters",
        ),
        ("state.jsonl", json.dumps(RECORD | {"state": "paused"}), "paused"),
        ("headless.jsonl", json.dumps({"schema": RECORD["schema"]}), "session without id: field id: missing"),
        (
            "rules.jsonl",
            json.dumps(RECORD | {"protocol": {"name": "x"}}),
            "field protocol.version: missing; field protocol.rules: missing",
        ),
        ("list.jsonl", "[1]", "not a trajectory of schema"),
    ],
)
def test_broken_file_is_refused_and_nothing_imported(
    db: None, tmp_path: Path, name: str, content: str, message: str
):
    good = tmp_path / "a_good.json"
    good.write_text('[{"role": "user", "content": "Solve it."}, {"role": "assistant", "content": "No."}]')
    (tmp_path / name).write_text(content)
    with pytest.raises(CommandError, match=message):
        imported(good, tmp_path / name)
    assert not Session.objects.exists()


def test_missing_path_and_dataset_are_named(db: None, tmp_path: Path):
    with pytest.raises(CommandError, match="does not exist"):
        imported(tmp_path / "nowhere")
    with pytest.raises(CommandError, match="no dataset 'usaco'"):
        run("import_trajectories", str(tmp_path), "--dataset", "usaco")
