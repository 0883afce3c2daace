"""Replays in exports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from tests.tutoring.arms.arm_rows import store_problems
from tests.tutoring.replay.replay_rows import store_replay
from tutoring.models import HintCard, Placement, ReplayDraw, ReplayRun, Session
from tutoring.replay.records import to_records
from tutoring.trajectories.datasets import write_folder
from tutoring.trajectories.json_lines import read_record, store_record, to_record

pytestmark = pytest.mark.django_db


@pytest.fixture
def session() -> Session:
    store_replay(store_problems(2), mode="own")
    return HintCard.objects.order_by("pk")[0].event.session


def test_a_record_holds_cards_placements_and_draws(session: Session):
    [card] = to_record(session, replays=to_records(session))["replays"]
    [placement] = card["placements"]
    assert (card["event"], card["level"], card["text"]) == (1, 2, "Look at the sample.")
    assert (placement["mode"], placement["fit"], placement["overlap"]) == ("own", "other", 0.2)
    assert len(placement["draws"]) == 16
    sham = next(one for one in placement["draws"] if one["arm"] == "sham")
    other = HintCard.objects.order_by("pk")[1]
    assert sham["sham"] == {"session": str(other.event.session_id), "event": 1}
    hint = next(one for one in placement["draws"] if one["arm"] == "hint")
    assert (hint["right"], hint["uptake"], hint["sham"]) == (True, "solved", None)


def test_an_import_reads_a_record_with_replays_and_stores_none(session: Session):
    line = json.dumps(to_record(session, replays=to_records(session)))
    record = json.loads(line) | {"id": "11111111-1111-4111-8111-111111111111"}
    before = ReplayDraw.objects.count()
    stored = store_record(read_record(json.dumps(record), "test"), session.problem)
    assert stored is not None
    assert to_records(stored) == []
    assert ReplayDraw.objects.count() == before


def rows_of(folder: Path, table: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "data" / f"{table}.jsonl").read_text().splitlines()]


def test_the_folder_of_datasets_has_placements_and_draws_and_explains_them(session: Session, tmp_path: Path):
    write_folder([to_record(session, replays=to_records(session))], tmp_path / "folder")
    rows = rows_of(tmp_path / "folder", "draws")
    assert len(rows) == 16
    assert {row["arm"] for row in rows} == {"hint", "neutral", "verdict", "sham"}
    assert all(row["session"] == str(session.pk) and row["message"] == 1 for row in rows)
    card = (tmp_path / "folder" / "README.md").read_text()
    assert "| draws of replayed hints | 16 |" in card
    assert "`draws` has a row for each reply of the model at a placement" in card
    [placement] = rows_of(tmp_path / "folder", "placements")
    assert {(row["replay"], row["state"], row["card"]) for row in rows} == {
        (placement["replay"], placement["state"], placement["card"])
    }
    assert (placement["fit"], placement["overlap"], placement["level"]) == ("other", 0.2, 2)


def test_cards_and_placements_without_draws_are_rows_of_the_folder(session: Session, tmp_path: Path):
    ReplayDraw.objects.all().delete()
    frozen = to_record(session, replays=to_records(session))
    write_folder([frozen], tmp_path / "frozen")
    assert [row["replay"] for row in rows_of(tmp_path / "frozen", "placements")] == [
        str(ReplayRun.objects.get().pk)
    ]
    Placement.objects.all().delete()
    write_folder([to_record(session, replays=to_records(session))], tmp_path / "unplaced")
    [row] = rows_of(tmp_path / "unplaced", "placements")
    assert (row["text"], row["replay"], row["applicability"]) == ("Look at the sample.", None, [])


def test_the_command_exports_replays_in_every_format(
    session: Session, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    call_command("export_trajectories", "--session", str(session.pk))
    assert json.loads(capsys.readouterr().out)["replays"][0]["placements"]
    call_command(
        "export_trajectories",
        "--session",
        str(session.pk),
        "--format",
        "inspect",
        "--output",
        str(tmp_path / "logs"),
    )
    [log] = (tmp_path / "logs").glob("*.json")
    assert json.loads(log.read_text())["samples"][0]["metadata"]["replays"][0]["card"]
