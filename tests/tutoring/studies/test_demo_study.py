"""`manage.py demo_study` and rehearsals, without a network and without other processes."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from tests.benchmark.runs.processes import CommandProcess, run_apart, use_var
from tests.tutoring.arms.simulated_people import add_world
from tests.tutoring.studies.conftest import FreezeFactory
from tests.tutoring.studies.designs import design_data
from tutoring.studies.upkeep import advance_studies


def manage(folder: Path, *arguments: str, status: int = 0) -> str:
    """Return the standard output of a command, or its errors if it must fail."""
    ended, output, errors = CommandProcess(arguments, folder, {}).wait()
    assert ended == status, errors
    return errors if status else output


@pytest.mark.slow
def test_the_demonstration_holds_and_closes_a_simulated_study(tmp_path: Path):
    folder = add_world(tmp_path)
    said = manage(folder, "demo_study")
    assert "16 sessions held through the tutors' pages." in said
    assert "demo-study v1 is closed." in said
    assert "Every figure of it is simulated" in said
    again = manage(folder, "demo_study")
    assert "demo-study v1 exists and is closed" in again
    studies = json.loads(manage(folder, "study", "list", "--json"))
    states = {one["name"]: (one["state"], one["rehearsal"], one["done"], one["assigned"]) for one in studies}
    assert states == {"demo-study": ("closed", True, 40, 40), "demo-draft": ("draft", True, 0, 0)}
    verified = json.loads(manage(folder, "study", "verify", "demo-study", "--json"))
    assert verified["faults"] == []

    # Yoked chains of the study's sessions, one for each, as long as the session.
    arm = ["--dataset", "practice", "--model", "simulated:guidance-60", "--method", "session-neutral"]
    yoked = ["protocol=demo-study", "from_first=study=demo-study"]
    run = json.loads(manage(folder, "run_baseline", *arm, "--set", *yoked, "--json"))["run"]
    document = json.loads(manage(folder, "arms", "--json", "--human", "study=demo-study", run))
    assert [one["first_sessions"] for one in document["yoked"]] == [8]
    assert "Exploratory: no frozen study names these comparisons." in document["warnings"]


@pytest.mark.slow
def test_the_demonstration_of_level_caps_has_simulated_reviews_and_efforts(tmp_path: Path):
    folder = add_world(tmp_path)
    said = manage(folder, "demo_study", "--ladder")
    assert "40 sessions held through the tutors' pages." in said
    assert "40 sessions reviewed twice by simulated reviewers." in said
    assert "Every figure of it is simulated" in said
    ladder = json.loads(manage(folder, "ladder", "--json", "--human", "study=demo-ladder"))
    assert ladder["simulated"]
    assert [one["cap"] for one in ladder["caps"]] == [0, 1, 2, 3, 4]
    assert [one["sessions"] for one in ladder["caps"]] == [8] * 5
    assert ladder["caps"][0]["obeying"] == ladder["caps"][0]["decided"], "cap 0 has no hint to mislabel"
    with closing(sqlite3.connect(folder / "hintbench.sqlite3")) as database:
        [[run]] = database.execute("select id from benchmark_run where method = 'session-neutral'").fetchall()
    arms = json.loads(
        manage(folder, "arms", "--json", "--human", "study=demo-ladder,protocol=demo-cap-4", run)
    )
    [any_right] = [one["share"] for one in arms["rates"] if one["rule"] == "perfect"]
    assert {one["second_rate"] for one in ladder["gains"]} == {any_right}, "stopping late is no lack of help"
    assert ladder["intended"]["messages"] > 20
    assert 0 < ladder["intended"]["alpha"] < 1, "reviewers differ from the tutors now and then"
    assert len(ladder["curve"]) == 5
    assert all(one["compared"] == one["sessions"] for one in ladder["curve"]), (
        "the neutral arm has its own cap"
    )
    effort = json.loads(manage(folder, "effort", "--json", "--study", "demo-ladder", "--wage", "30"))
    assert effort["simulated"]
    assert [one["sessions"] for one in effort["groups"]] == [8] * 5
    assert [one["arm"] for one in effort["cost_plane"]] == [f"cap-{cap}" for cap in range(5)]
    assert [one["gain"]["second_rate"] for one in effort["cost_plane"]] == [any_right] * 5
    assert "demo-ladder v1 exists and is closed" in manage(folder, "demo_study", "--ladder")

    # The demonstration of automatic tutors compares with its own neutral run, not with that of the study's protocol.
    said = manage(folder, "demo_tutors")
    assert "Every figure is simulated" in said
    assert "A gain is unknown" not in said
    assert "items done" not in manage(folder, "demo_tutors"), "the stored figures"


@pytest.mark.slow
def test_the_run_of_an_arm_is_resumed_by_the_same_command(tmp_path: Path):
    folder = add_world(tmp_path)
    manage(folder, "create_account", "tess", "--role", "tutor")
    manage(folder, "models", "add", "student", "simulated:guidance-60")
    design = tmp_path / "design.json"
    arms = [
        {"kind": "human", "name": "tutor", "protocol": "usaco-2024@1", "model": "student@1"},
        {"kind": "automatic", "name": "neutral", "method": "session-neutral", "model": "student@1"},
    ]
    data = design_data(
        arms=arms, problems={"dataset": "practice"}, tutors=["tess"], primary_contrast=["tutor", "neutral"]
    )
    design.write_text(json.dumps(data))
    manage(folder, "study", "freeze", str(design), "--accept-gate")
    stopped = manage(folder, "study", "run", "hints", "--max-calls", "3", status=1)
    assert "Resume with: manage.py study run hints" in stopped
    [done] = json.loads(manage(folder, "study", "run", "hints", "--max-calls", "100", "--json"))
    assert (done["arm"], done["state"]) == ("neutral", "finished")
    manage(folder, "study", "stop", "hints", "--reason", "Enough.")
    manage(folder, "study", "close", "hints")
    assert "neither started nor resumed" in manage(folder, "study", "run", "hints", status=1)


@pytest.mark.slow
def test_a_yoked_arm_begins_with_the_sessions_of_its_own_study(tmp_path: Path):
    folder = add_world(tmp_path)
    manage(folder, "create_account", "tess", "--role", "tutor")
    manage(folder, "models", "add", "student", "simulated:guidance-60")
    without_pace = ("--set", "characters_per_second=none", "--set", "seconds_to_first_word=none")
    quick = ["quick", "--title", "Quick", "--preset", "usaco-2024"]
    manage(folder, "freeze_protocol", *quick, *without_pace)
    design = tmp_path / "design.json"
    settings = {"protocol": "quick@1", "from_first": "study=hints"}
    automatic = {"kind": "automatic", "method": "session-neutral", "model": "student@1"}
    arms = [
        {"kind": "human", "name": "tutor", "protocol": "quick@1", "model": "student@1"},
        {**automatic, "name": "neutral", "settings": {"protocol": "quick@1"}},
        {**automatic, "name": "yoked", "settings": settings},
    ]
    data = design_data(
        arms=arms,
        problems={"dataset": "practice", "only": ["hut-to-hut", "tram-depot"]},
        tutors=["tess"],
        primary_contrast=["tutor", "yoked"],
        rehearsal=True,
    )
    design.write_text(json.dumps(data))
    manage(folder, "study", "freeze", str(design), "--accept-gate")
    [first] = json.loads(manage(folder, "study", "run", "hints", "--json"))
    assert first["arm"] == "neutral", "the yoked arm waits for the sessions of people"
    manage(folder, "study", "rehearse", "hints", "--level", "3")
    done = json.loads(manage(folder, "study", "run", "hints", "--json"))
    assert [(one["arm"], one["state"]) for one in done] == [("neutral", "finished"), ("yoked", "finished")]
    run_apart(advance_all, folder)
    [state] = json.loads(manage(folder, "study", "list", "--json"))
    assert (state["state"], state["done"], state["assigned"]) == ("closed", 6, 6)
    assert json.loads(manage(folder, "study", "verify", "hints", "--json"))["faults"] == []
    runs = [one["run"] for one in done]
    document = json.loads(manage(folder, "arms", "--json", "--human", "study=hints", *runs))
    [yoked] = [one for one in document["yoked"] if "yoked" in one["second"]]
    assert (yoked["first_sessions"], yoked["second_sessions"]) == (2, 2)
    assert [one for one in document["warnings"] if one.startswith("Exploratory")] == [
        "Exploratory, except what the frozen study hints v1 names: tutor − yoked. The figures of the study itself are "
        "on its page."
    ]


def advance_all(folder: Path) -> None:
    """Bring the studies of a database up to date, as workers do."""
    use_var(folder)
    advance_studies()


def test_only_rehearsals_of_simulated_students_are_rehearsed(freeze: FreezeFactory, tutors: list[User]):
    freeze(name="real")
    with pytest.raises(CommandError, match="real v1 is not a rehearsal"):
        call_command("study", "rehearse", "real")
    freeze(name="paid", rehearsal=True)
    with pytest.raises(CommandError, match="Simulated tutors tutor simulated:WORLD only"):
        call_command("study", "rehearse", "paid")
