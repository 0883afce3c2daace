"""Imported runs of arms have their sessions again, with the same ids and events."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from judge import SandboxStatus
from tests.benchmark.runs.conftest import CommandSandbox
from tests.cached_fixtures import add_database, add_prepared
from tests.fake_providers import FakeProviders
from tests.tutoring.arms.simulated_people import SLOW, TIME_LIMIT, WORLD, add_people, add_world

pytestmark = pytest.mark.slow
SESSIONS = """
select id, number, state, outcome, language, model_spec, opened_at, closed_at, code_generations, executions,
program_outcomes from tutoring_session where origin = 'automatic' order by id
"""
EVENTS = """
select session_id, seq, kind, version, "by", at, data from tutoring_event
where session_id in (select id from tutoring_session where origin = 'automatic') order by session_id, seq
"""
SCORES = """
select session_id, generation, distance_to_previous, distance_to_final from tutoring_programscore order by 1, 2
"""


def site(folder: Path, fill: Callable[[Path], Path] = add_prepared) -> CommandSandbox:
    """Return a site in a new folder, with the time limit of the world's site, because prompts state it."""
    folder.mkdir()
    made = CommandSandbox(fill(folder), FakeProviders())
    made.rows("update benchmark_problem set time_limit = ? where external_id = ?", [TIME_LIMIT, SLOW])
    return made


def rows_of(sandbox: CommandSandbox) -> list[object]:
    """Return the automatic sessions, their events without the local keys of judgements, and their scores."""
    events = []
    for *columns, data in sandbox.rows(EVENTS):
        events.append((*columns, json.loads(data) | {"judgement": None}))
    return [sandbox.rows(SESSIONS), events, sandbox.rows(SCORES)]


def files(folder: Path) -> dict[str, bytes]:
    return {str(one.relative_to(folder)): one.read_bytes() for one in folder.rglob("*") if one.is_file()}


def test_imported_runs_of_arms_have_their_sessions_again(tmp_path: Path, sandbox: SandboxStatus) -> None:
    assert sandbox.available
    source, other = site(tmp_path / "source", add_world), site(tmp_path / "other")
    empty = site(tmp_path / "empty", add_database)

    def start(*arguments: str) -> str:
        output, _ = source.manage(
            "run_baseline", "--json", "--dataset", "practice", "--model", f"simulated:{WORLD}",
            "--set", "protocol=usaco-2024", *arguments,
        )  # fmt: skip
        return str(json.loads(output)["run"])

    runs = [
        start("--method", "session-neutral", "--attempts", "2"),
        start("--method", "session-analysis"),
        start("--method", "session-verdict"),
    ]
    exported = tmp_path / "exported"
    source.manage("export_run", *runs, "--output", str(exported))

    said, _ = other.manage("import_run", str(exported))
    assert f"16 sessions of run {runs[0]} were recreated from its replies." in said
    assert rows_of(other) == rows_of(source)
    assert len(rows_of(other)[0]) == 32  # type: ignore[arg-type]
    other.manage("export_run", *runs, "--output", str(tmp_path / "again"))
    assert files(tmp_path / "again") == files(exported)
    said, _ = other.manage("import_run", str(exported))
    assert "Nothing was changed." in said
    assert "recreated" not in said
    assert rows_of(other) == rows_of(source)

    document = json.loads(empty.manage("import_run", str(exported), "--json")[0])
    assert [note.partition(": ")[2] for note in document["notes"]] == [
        "this site has no statements of practice. Import the dataset before the run."
    ] * 3
    assert empty.rows("select count(*) from tutoring_session") == [(0,)]
    empty.manage("export_run", *runs, "--output", str(tmp_path / "third"))
    assert files(tmp_path / "third") == files(exported)


def test_sessions_that_would_differ_are_not_recreated(tmp_path: Path, sandbox: SandboxStatus) -> None:
    assert sandbox.available
    source, other = site(tmp_path / "source", partial(add_people, tutors=1)), site(tmp_path / "other")

    def transfer(*arguments: str) -> str:
        output, _ = source.manage(
            "run_baseline", "--json", "--dataset", "practice", "--model", f"simulated:{WORLD}", "--method",
            "session-neutral", "--set", "protocol=usaco-2024", *arguments,
        )  # fmt: skip
        run = str(json.loads(output)["run"])
        source.manage("export_run", run, "--output", str(tmp_path / run))
        [note] = json.loads(other.manage("import_run", str(tmp_path / run), "--json")[0])["notes"]
        return str(note)

    assert "they begin with sessions of people, which exports of runs do not contain" in transfer(
        "from_first=all"
    )
    other.rows("update tutoring_protocol set content_hash = 'other'")
    assert "this site has no protocol usaco-2024@1 with the same rules" in transfer(
        "--problems", "tram-depot"
    )
    assert other.rows("select count(*) from tutoring_session") == [(0,)]
