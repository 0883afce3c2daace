"""Runs that are cut off in every way, and go on: nothing paid for is lost, and nothing is counted twice."""

import json
import signal
import time
from collections.abc import Callable
from uuid import UUID

import pytest

from tests.benchmark.runs.bank import REPLY
from tests.benchmark.runs.conftest import Workshop
from tests.imitation import Script, pieces_of

CONCURRENCY = 2
SOLUTION = Script(pieces_of(REPLY))
SLOW = Script(pieces_of(REPLY), delay=0.01)
HANGING = Script(pieces_of(REPLY), ending="hang")
EPISODIC = [
    "run_baseline", "--json", "--dataset", "orchard", "--model", "openai:gpt-4o", "--method", "episodic",
    "--attempts", "2", "--concurrency", str(CONCURRENCY),
]  # fmt: skip
ITEMS, STEPS = 8, 2


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.02)


def generations(workshop: Workshop) -> dict[tuple[int, int], tuple[str, str]]:
    rows = workshop.rows("select work_item_id, step, request_id, created_at from benchmark_generation")
    return {(item, step): (request, created) for item, step, request, created in rows}


def only_run(workshop: Workshop) -> str:
    [(run,)] = workshop.rows("select id from benchmark_run")
    return str(UUID(run))


def comparable(workshop: Workshop, run: str) -> dict[str, object]:
    """The figures of a run that do not name the run or its time."""
    figures = workshop.report(run, "--k", "1", "2")
    return {
        name: figures[name]
        for name in ("groups", "verdicts", "done", "solved", "failed", "generations", "tokens")
    }


@pytest.mark.parametrize("stored_at_kill", [3, 9])
def test_after_kill_9_only_the_calls_in_flight_are_repeated(workshop: Workshop, stored_at_kill: int) -> None:
    workshop.imitation.script(*[SOLUTION] * ITEMS * STEPS)
    undisturbed = workshop.baseline(*EPISODIC[8:], method="episodic")
    expected = comparable(workshop, undisturbed["run"])
    assert expected["generations"] == ITEMS * STEPS
    for table in ("workitem", "generation"):
        workshop.rows(f"delete from benchmark_{table}")
    workshop.rows("delete from benchmark_run")
    workshop.imitation.reset()

    workshop.imitation.script(*[SLOW] * ITEMS * STEPS * 2)
    killed = workshop.start(*EPISODIC)
    until(lambda: len(generations(workshop)) >= stored_at_kill)
    killed.signal(signal.SIGKILL)
    status, output, _ = killed.wait()
    assert (status, output) == (-signal.SIGKILL, "")
    before = generations(workshop)

    resumed = workshop.baseline("--resume", only_run(workshop))
    assert resumed["state"] == "finished"
    after = generations(workshop)
    assert {key: after[key] for key in before} == before
    assert len(after) == ITEMS * STEPS
    assert ITEMS * STEPS <= len(workshop.imitation.requests) <= ITEMS * STEPS + CONCURRENCY
    assert comparable(workshop, resumed["run"]) == expected


def test_ctrl_c_keeps_the_calls_in_flight_and_says_how_to_go_on(workshop: Workshop) -> None:
    workshop.imitation.script(*[SLOW] * ITEMS * STEPS)
    running = workshop.start(*EPISODIC)
    until(lambda: len(workshop.imitation.requests) >= 4)
    running.signal(signal.SIGINT)
    status, output, errors = running.wait()
    run = only_run(workshop)
    assert status == 1
    assert '"state": "stopped"' in output
    assert f"manage.py run_baseline --resume {run}" in errors
    sent = len(workshop.imitation.requests)
    assert len(generations(workshop)) == sent < ITEMS * STEPS
    assert workshop.rows("select count(*) from benchmark_workitem where state = 'leased'") == [(0,)]

    assert workshop.baseline("--resume", run)["state"] == "finished"
    assert len(workshop.imitation.requests) == ITEMS * STEPS


def test_a_second_ctrl_c_drops_the_calls_in_flight(workshop: Workshop) -> None:
    workshop.imitation.script(HANGING, HANGING)
    running = workshop.start(*EPISODIC)
    until(lambda: len(workshop.imitation.requests) == CONCURRENCY)
    running.signal(signal.SIGINT)
    until(lambda: "calls in flight" in running.errors())
    running.signal(signal.SIGINT)
    status, _, errors = running.wait()
    assert status == 1
    assert "--resume" in errors
    assert "Traceback" not in errors
    workshop.imitation.script(*[SOLUTION] * ITEMS * STEPS)
    assert workshop.baseline("--resume", only_run(workshop))["done"] == ITEMS


def test_two_processes_on_one_run_share_its_items(workshop: Workshop) -> None:
    workshop.imitation.script(*[SLOW] * ITEMS * STEPS)
    first = workshop.start(*EPISODIC)
    until(lambda: len(workshop.imitation.requests) >= 2)
    second = workshop.start("run_baseline", "--json", "--resume", only_run(workshop))
    first.wait()
    second.wait()
    assert len(workshop.imitation.requests) == len(generations(workshop)) == ITEMS * STEPS
    assert workshop.baseline("--resume", only_run(workshop))["state"] == "finished"
    assert len(workshop.imitation.requests) == ITEMS * STEPS


def test_a_run_does_not_go_on_with_other_prompts_problems_or_methods(workshop: Workshop) -> None:
    workshop.imitation.script(SOLUTION)
    run = workshop.baseline("--limit", "1")["run"]
    [(manifest,)] = workshop.rows("select manifest from benchmark_run")
    other = json.loads(manifest)
    other["templates"]["zero_shot"] = "of another text"
    for change, value, said in (
        ("update benchmark_run set manifest = ?", json.dumps(other), "Prompt templates changed since"),
        (
            "update benchmark_problem set content_hash = ? where external_id = 'apple_sum'",
            "x",
            "problems of orchard",
        ),
        ("update benchmark_run set method = ?", "telepathy", "'telepathy', which this version does not have"),
    ):
        workshop.rows(change, [value])
        _, errors = workshop.manage("run_baseline", "--resume", run, status=1)
        assert said in errors
    assert len(workshop.imitation.requests) == 1
