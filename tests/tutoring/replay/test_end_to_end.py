"""Replays of simulated sessions through the command: prompts, figures, interruption, and refusals before any call."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from judge import SandboxStatus
from tests.benchmark.runs.conftest import CommandSandbox
from tests.fake_providers import FakeProviders
from tests.tutoring.arms.simulated_people import WORLD, add_people

pytestmark = pytest.mark.slow
DRAWS = "select arm, count(*), sum(d.right) from tutoring_replaydraw d group by arm order by arm"


@pytest.fixture
def world(tmp_path: Path, sandbox: SandboxStatus) -> CommandSandbox:
    """Return a site with two tutors' sessions on the practice problems, with hints of level 3."""
    assert sandbox.available
    return CommandSandbox(add_people(tmp_path, 2), FakeProviders())


def replay(world: CommandSandbox, *arguments: str, status: int = 0) -> dict[str, Any]:
    command = ("replay", "--json", "--model", f"simulated:{WORLD}", "--cards", "first", *arguments)
    output, _ = world.manage(*command, status=status)
    document: dict[str, Any] = json.loads(output)
    return document


def test_the_receptivity_of_a_world_is_found_and_nothing_is_drawn_twice(world: CommandSandbox) -> None:
    estimate = replay(world, "--dry-run")
    assert world.rows("select count(*) from tutoring_hintcard") == [(0,)], "a dry run writes nothing"
    found = replay(world, "--draws", "8")
    figures = found["figures"]
    assert found["state"] == "finished"
    gain = next(one for one in figures["gains"] if one["name"] == "gain")
    content = next(one for one in figures["gains"] if one["name"] == "content gain")
    assert gain["low"] > 0, "guidance solves 60 % of what is left"
    assert content["mean"] > 0.1, "a hint of another problem does not help the simulated student"
    [[low, high]] = figures["receptivity"]["ranges"]
    assert 0 < low < high
    arms = {arm: (number, right) for arm, number, right in world.rows(DRAWS)}
    states = world.rows("select count(*) from tutoring_replaystate")[0][0]
    assert arms["neutral"][0] == arms["verdict"][0] == arms["sham"][0] == 8 * states
    assert arms["hint"][0] == 8 * figures["placements"]
    assert estimate["states"] >= states
    assert figures["draws"] == sum(number for number, _ in arms.values())
    assert set(figures["uptake"]["hint"]) >= {"solved", "unchanged"}

    again, _ = world.manage("replay", "--json", "--resume", found["replay"])
    assert json.loads(again)["figures"] == figures
    assert json.loads(again)["spent"]["calls"] == found["spent"]["calls"] == figures["draws"]


def test_a_killed_replay_repeats_no_stored_draw(world: CommandSandbox) -> None:
    world.manage("replay", "--model", f"simulated:{WORLD}", "--cards", "first", "--freeze")
    [(run,)] = world.rows("select id from tutoring_replayrun")
    killed = world.start("replay", "--resume", run, "--requests-per-minute", "600")
    for _ in range(400):
        if world.rows("select count(*) from tutoring_replaydraw")[0][0] > 5:
            break
        time.sleep(0.05)
    killed.signal(signal.SIGKILL)
    killed.wait()
    before = world.rows("select id, arm, number, reply from tutoring_replaydraw order by id")
    assert before
    finished = json.loads(
        world.manage("replay", "--json", "--resume", run, "--requests-per-minute", "100000")[0]
    )
    after = world.rows("select id, arm, number, reply from tutoring_replaydraw order by id")
    assert after[: len(before)] == before
    assert finished["state"] == "finished"
    assert finished["spent"]["calls"] == finished["figures"]["draws"] == len(after)


def test_own_programs_are_compared_with_those_of_the_cards(world: CommandSandbox) -> None:
    output, _ = world.manage(
        "run_baseline", "--json", "--dataset", "practice", "--model", f"simulated:{WORLD}", "--method",
        "session-again", "--set", "protocol=usaco-2024",
    )  # fmt: skip
    run = json.loads(output)["run"]
    found = replay(world, "--mode", "own", "--programs", run, "--draws", "2")
    fits = dict(world.rows("select fit, count(*) from tutoring_placement group by fit"))
    assert sum(fits.values()) == found["figures"]["placements"]
    assert set(fits) <= {"same", "near", "other", "unknown"}
    assert 0 <= found["figures"]["portability"]["mean"] <= 1
    prefix = world.rows("select messages from tutoring_replaystate limit 1")[0][0]
    roles = [one["role"] for one in json.loads(prefix)]
    assert roles == ["user", "assistant"]


def test_bad_input_is_refused_before_anything_is_stored(world: CommandSandbox) -> None:
    refused = [
        (("--model", "nonsense:model", "--cards", "first"), "nonsense"),
        (("--model", "simulated:nowhere", "--cards", "first", "--freeze"), "no world 'nowhere'"),
        (("--model", f"simulated:{WORLD}", "--mode", "own"), "--programs RUN"),
        (("--model", f"simulated:{WORLD}", "--dataset", "nothing"), "nothing"),
        (("--model", f"simulated:{WORLD}"), "not reviewed by two persons"),
        (("--model", f"simulated:{WORLD}", "--cards", "first", "--context-tokens", "50"), "longer than"),
        ((), "--model is missing"),
        (("--resume", "no-such-replay"), "no replay"),
    ]
    for arguments, reason in refused:
        _, errors = world.manage("replay", *arguments, status=1)
        assert reason in errors, arguments
    assert world.rows("select count(*) from tutoring_replayrun") == [(0,)]
    assert world.rows("select count(*) from benchmark_languagemodel where spec like '%nowhere'") == [(0,)]
    world.manage("replay", "--model", f"simulated:{WORLD}", "--draws", "0", status=2)
