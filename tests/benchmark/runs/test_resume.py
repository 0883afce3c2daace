"""Runs that are interrupted in every way and resumed: no paid reply is lost, and none is counted twice."""

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest
from django.conf import settings

from benchmark.model_calls import heartbeat as presence
from benchmark.models import Dataset, Run, WorkItem
from benchmark.runner import leases
from tests.benchmark.runs.bank import REPLY, fill
from tests.benchmark.runs.conftest import Workshop
from tests.imitation import Hold, Script, pieces_of
from tests.stack import HANG

CONCURRENCY = 2
SOLUTION = Script(pieces_of(REPLY))
HANGING = Script(pieces_of(REPLY), ending="hang")
EPISODIC = [
    "run_baseline", "--json", "--dataset", "orchard", "--model", "openai:gpt-4o", "--method", "episodic",
    "--attempts", "2", "--concurrency", str(CONCURRENCY),
]  # fmt: skip
ITEMS, STEPS = 8, 2


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + HANG
    while not condition():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.02)


def generations(workshop: Workshop) -> dict[tuple[int, int], tuple[str, str]]:
    rows = workshop.rows("select work_item_id, step, request_id, created_at from benchmark_generation")
    return {(item, step): (request, created) for item, step, request, created in rows}


def only_run(workshop: Workshop) -> str:
    [(run,)] = workshop.rows("select id from benchmark_run")
    return str(UUID(str(run)))


def comparable(workshop: Workshop, run: str) -> dict[str, object]:
    """Return the figures of a run that do not name the run or its time."""
    figures = workshop.report(run, "--k", "1", "2")
    return {
        name: figures[name]
        for name in ("groups", "verdicts", "done", "solved", "failed", "generations", "tokens")
    }


@pytest.mark.parametrize(
    ("method", "problems", "calls", "kills"),
    [
        ("episodic", "apple_sum,berry_product,cherry_sum,date_product", 16, (3, 9)),
        # Reflexion stops at once where the one program is right, else after three reflections.
        ("episodic+reflexion", "apple_sum,berry_product", 2 * 2 + 2 * 5, (3, 6)),
    ],
)
def test_after_kill_9_only_the_calls_in_flight_are_repeated(
    workshop: Workshop, method: str, problems: str, calls: int, kills: tuple[int, ...]
) -> None:
    items = 2 * len(problems.split(","))
    command = [*EPISODIC[:7], method, *EPISODIC[8:], "--problems", problems]
    workshop.imitation.script(*[SOLUTION] * calls)
    undisturbed = workshop.baseline(*command[8:], method=method)
    expected = comparable(workshop, undisturbed["run"])
    assert expected["generations"] == calls
    for table in ("workitem", "generation", "judgement"):
        workshop.rows(f"delete from benchmark_{table}")
    workshop.rows("delete from benchmark_run")
    workshop.imitation.reset()

    stored = 0
    before: dict[tuple[int, int], tuple[str, str]] = {}
    for stored_at_kill in kills:
        workshop.imitation.script(*[SOLUTION] * (stored_at_kill - stored), *[HANGING] * CONCURRENCY)
        sent = len(workshop.imitation.requests) + stored_at_kill - stored + CONCURRENCY
        killed = workshop.start(*command)
        until(lambda: len(generations(workshop)) == stored_at_kill)  # noqa: B023  (called in this round)
        until(lambda: len(workshop.imitation.requests) == sent)  # noqa: B023
        killed.signal(signal.SIGKILL)
        status, output, _ = killed.wait()
        assert (status, output) == (-signal.SIGKILL, "")
        after = generations(workshop)
        assert {key: after[key] for key in before} == before
        before, stored = after, stored_at_kill
        command = [
            "run_baseline",
            "--json",
            "--concurrency",
            str(CONCURRENCY),
            "--resume",
            only_run(workshop),
        ]

    workshop.imitation.script(*[SOLUTION] * (calls - stored))
    resumed = workshop.baseline("--resume", only_run(workshop))
    assert resumed["state"] == "finished"
    after = generations(workshop)
    assert {key: after[key] for key in before} == before
    assert len(after) == calls
    assert len(workshop.imitation.requests) == calls + 2 * CONCURRENCY
    assert comparable(workshop, resumed["run"]) == expected
    answers = calls - items if "reflexion" in method else 0
    assert workshop.rows("select count(*) from benchmark_judgement where suite = 'samples'") == [(answers,)]
    assert workshop.rows("select count(*) from benchmark_judgement where suite = 'all'") == [(items,)]


def test_ctrl_c_keeps_the_calls_in_flight_and_says_how_to_go_on(workshop: Workshop) -> None:
    hold = Hold(after=1)
    workshop.imitation.script(*[SOLUTION] * 2, *[Script(pieces_of(REPLY), hold=hold)] * CONCURRENCY)
    running = workshop.start(*EPISODIC)
    until(lambda: len(workshop.imitation.requests) == 2 + CONCURRENCY)
    running.signal(signal.SIGINT)
    until(lambda: "calls in flight" in running.errors())
    hold.release()
    status, output, errors = running.wait()
    run = only_run(workshop)
    assert status == 1
    assert '"state": "stopped"' in output
    assert f"manage.py run_baseline --resume {run}" in errors
    assert len(generations(workshop)) == len(workshop.imitation.requests) == 2 + CONCURRENCY
    assert workshop.rows("select count(*) from benchmark_workitem where state = 'leased'") == [(0,)]

    workshop.imitation.script(*[SOLUTION] * (ITEMS * STEPS - 2 - CONCURRENCY))
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
    hold = Hold(after=1)
    held = Script(pieces_of(REPLY), hold=hold)
    workshop.imitation.script(*[held] * 2 * CONCURRENCY, *[SOLUTION] * (ITEMS * STEPS - 2 * CONCURRENCY))
    first = workshop.start(*EPISODIC)
    until(lambda: len(workshop.imitation.requests) == CONCURRENCY)
    second = workshop.start(
        "run_baseline", "--json", "--concurrency", str(2 * CONCURRENCY), "--resume", only_run(workshop)
    )
    # Both are at work: the second has its half of the model's concurrency.
    until(lambda: len(workshop.imitation.requests) == 2 * CONCURRENCY)
    hold.release()
    first.wait()
    second.wait()
    assert len(workshop.imitation.requests) == len(generations(workshop)) == ITEMS * STEPS
    assert workshop.baseline("--resume", only_run(workshop))["state"] == "finished"
    assert len(workshop.imitation.requests) == ITEMS * STEPS


def test_a_second_process_finishes_what_the_first_left_at_its_kill_9(workshop: Workshop) -> None:
    workshop.imitation.script(*[HANGING] * CONCURRENCY)
    first = workshop.start(*EPISODIC)
    until(lambda: len(workshop.imitation.requests) == CONCURRENCY)
    own = ITEMS - CONCURRENCY
    workshop.imitation.script(*[SOLUTION] * ITEMS * STEPS)
    second = workshop.start("run_baseline", "--json", "--resume", only_run(workshop))
    done = "select count(*) from benchmark_workitem where state = 'done'"
    until(lambda: workshop.rows(done) == [(own,)])
    assert workshop.rows("select state from benchmark_run") == [("open",)], (
        "the first may still finish its items"
    )
    first.signal(signal.SIGKILL)
    first.wait()
    status, output, _ = second.wait()
    document = json.loads(output)
    assert (status, document["state"], document["done"]) == (0, "finished", ITEMS)
    assert document["paid"]["calls"] == ITEMS * STEPS
    assert len(workshop.imitation.requests) == ITEMS * STEPS + CONCURRENCY


def test_a_run_does_not_go_on_with_other_prompts_problems_or_methods(workshop: Workshop) -> None:
    workshop.imitation.script(SOLUTION)
    run = workshop.baseline("--limit", "1")["run"]
    [(manifest,)] = workshop.rows("select manifest from benchmark_run")
    other = json.loads(manifest)
    other["templates"]["problem"] = "of another text"
    for change, value, said in (
        ("update benchmark_run set manifest = ?", json.dumps(other), "Prompt templates changed since"),
        (
            "update benchmark_problem set content_hash = ? where external_id = 'apple_sum'",
            "x",
            "problems of orchard",
        ),
        ("update benchmark_run set parameters = ?", '{"k1": 1.5, "top_p": 7}', "in this version: k1, top_p."),
        ("update benchmark_run set method = ?", "telepathy", "'telepathy', which this version does not have"),
    ):
        workshop.rows(change, [value])
        _, errors = workshop.manage("run_baseline", "--resume", run, status=1)
        assert said in errors
    assert len(workshop.imitation.requests) == 1


def test_whoever_asks_first_all_learn_that_a_runner_on_this_machine_is_gone(db: None) -> None:
    fill()
    orchard = Dataset.objects.get(name="orchard")
    run = Run.objects.create(
        dataset=orchard, method="zero-shot", model_spec="openai:m", parameters={}, manifest={}
    )
    item = WorkItem.objects.create(run=run, problem=run.dataset.problems.all()[0], chain=0)
    with presence.present() as dead:
        file = Path(settings.VAR) / "runners" / dead
        presence.beat(dead, run.model_spec, run)
        leases.claim(run.pk, dead, 1)
    file.touch()  # as a kill -9 leaves it: without its lock
    try:
        with presence.present() as living:
            assert presence.beat(living, run.model_spec, run) == 1
            assert leases.free_lost(run.pk) == 1
        item.refresh_from_db()
        assert item.state == "pending"
        os.utime(file, (0, 0))
        with presence.present():
            assert not file.exists()
    finally:
        file.unlink(missing_ok=True)
