"""Runs that are interrupted in every way and resumed: no paid reply is lost, and none is counted twice."""

import json
import signal
import time
from collections.abc import Callable
from uuid import UUID

import pytest

from benchmark.model_calls.heartbeat import send_heartbeat
from benchmark.models import Dataset, Run, WorkItem
from benchmark.models.owners import new_owner
from benchmark.runner import leases
from tests.benchmark.processes import killed_process
from tests.benchmark.runs.bank import REPLY, fill
from tests.benchmark.runs.conftest import CommandSandbox
from tests.fake_providers import Hold, Script, pieces_of
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


def generations(commands: CommandSandbox) -> dict[tuple[int, int], tuple[str, str]]:
    rows = commands.rows("select work_item_id, step, request_id, created_at from benchmark_generation")
    return {(item, step): (request, created) for item, step, request, created in rows}


def only_run(commands: CommandSandbox) -> str:
    [(run,)] = commands.rows("select id from benchmark_run")
    return str(UUID(str(run)))


def comparable(commands: CommandSandbox, run: str) -> dict[str, object]:
    """Return the figures of a run that do not name the run or its time."""
    figures = commands.report(run, "--k", "1", "2")
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
    commands: CommandSandbox, method: str, problems: str, calls: int, kills: tuple[int, ...]
) -> None:
    items = 2 * len(problems.split(","))
    command = [*EPISODIC[:7], method, *EPISODIC[8:], "--problems", problems]
    commands.fake_providers.script(*[SOLUTION] * calls)
    undisturbed = commands.baseline(*command[8:], method=method)
    expected = comparable(commands, undisturbed["run"])
    assert expected["generations"] == calls
    for table in ("workitem", "generation", "judgement"):
        commands.rows(f"delete from benchmark_{table}")
    commands.rows("delete from benchmark_run")
    commands.fake_providers.reset()

    stored = 0
    before: dict[tuple[int, int], tuple[str, str]] = {}
    for stored_at_kill in kills:
        commands.fake_providers.script(*[SOLUTION] * (stored_at_kill - stored), *[HANGING] * CONCURRENCY)
        sent = len(commands.fake_providers.requests) + stored_at_kill - stored + CONCURRENCY
        killed = commands.start(*command)
        until(lambda: len(generations(commands)) == stored_at_kill)  # noqa: B023  (called in this round)
        until(lambda: len(commands.fake_providers.requests) == sent)  # noqa: B023
        killed.signal(signal.SIGKILL)
        status, output, _ = killed.wait()
        assert (status, output) == (-signal.SIGKILL, "")
        after = generations(commands)
        assert {key: after[key] for key in before} == before
        before, stored = after, stored_at_kill
        command = [
            "run_baseline",
            "--json",
            "--concurrency",
            str(CONCURRENCY),
            "--resume",
            only_run(commands),
        ]

    commands.fake_providers.script(*[SOLUTION] * (calls - stored))
    resumed = commands.baseline("--resume", only_run(commands))
    assert resumed["state"] == "finished"
    after = generations(commands)
    assert {key: after[key] for key in before} == before
    assert len(after) == calls
    assert len(commands.fake_providers.requests) == calls + 2 * CONCURRENCY
    assert comparable(commands, resumed["run"]) == expected
    answers = calls - items if "reflexion" in method else 0
    assert commands.rows("select count(*) from benchmark_judgement where suite = 'samples'") == [(answers,)]
    assert commands.rows("select count(*) from benchmark_judgement where suite = 'all'") == [(items,)]


def test_ctrl_c_keeps_the_calls_in_flight_and_says_how_to_go_on(commands: CommandSandbox) -> None:
    hold = Hold(after=1)
    commands.fake_providers.script(*[SOLUTION] * 2, *[Script(pieces_of(REPLY), hold=hold)] * CONCURRENCY)
    running = commands.start(*EPISODIC)
    until(lambda: len(commands.fake_providers.requests) == 2 + CONCURRENCY)
    running.signal(signal.SIGINT)
    until(lambda: "calls in flight" in running.errors())
    hold.release()
    status, output, errors = running.wait()
    run = only_run(commands)
    assert status == 1
    assert '"state": "stopped"' in output
    assert f"manage.py run_baseline --resume {run}" in errors
    assert len(generations(commands)) == len(commands.fake_providers.requests) == 2 + CONCURRENCY
    assert commands.rows("select count(*) from benchmark_workitem where state = 'leased'") == [(0,)]

    commands.fake_providers.script(*[SOLUTION] * (ITEMS * STEPS - 2 - CONCURRENCY))
    assert commands.baseline("--resume", run)["state"] == "finished"
    assert len(commands.fake_providers.requests) == ITEMS * STEPS


def test_a_second_ctrl_c_drops_the_calls_in_flight(commands: CommandSandbox) -> None:
    commands.fake_providers.script(HANGING, HANGING)
    running = commands.start(*EPISODIC)
    until(lambda: len(commands.fake_providers.requests) == CONCURRENCY)
    running.signal(signal.SIGINT)
    until(lambda: "calls in flight" in running.errors())
    running.signal(signal.SIGINT)
    status, _, errors = running.wait()
    assert status == 1
    assert "--resume" in errors
    assert "Traceback" not in errors
    commands.fake_providers.script(*[SOLUTION] * ITEMS * STEPS)
    assert commands.baseline("--resume", only_run(commands))["done"] == ITEMS


def test_two_processes_on_one_run_share_its_items(commands: CommandSandbox) -> None:
    hold = Hold(after=1)
    held = Script(pieces_of(REPLY), hold=hold)
    commands.fake_providers.script(*[held] * 2 * CONCURRENCY, *[SOLUTION] * (ITEMS * STEPS - 2 * CONCURRENCY))
    first = commands.start(*EPISODIC)
    until(lambda: len(commands.fake_providers.requests) == CONCURRENCY)
    second = commands.start(
        "run_baseline", "--json", "--concurrency", str(2 * CONCURRENCY), "--resume", only_run(commands)
    )
    # Both are at work: the second has its half of the model's concurrency.
    until(lambda: len(commands.fake_providers.requests) == 2 * CONCURRENCY)
    hold.release()
    first.wait()
    second.wait()
    assert len(commands.fake_providers.requests) == len(generations(commands)) == ITEMS * STEPS
    assert commands.baseline("--resume", only_run(commands))["state"] == "finished"
    assert len(commands.fake_providers.requests) == ITEMS * STEPS


def test_a_second_process_finishes_what_the_first_left_at_its_kill_9(commands: CommandSandbox) -> None:
    commands.fake_providers.script(*[HANGING] * CONCURRENCY)
    first = commands.start(*EPISODIC)
    until(lambda: len(commands.fake_providers.requests) == CONCURRENCY)
    own = ITEMS - CONCURRENCY
    commands.fake_providers.script(*[SOLUTION] * ITEMS * STEPS)
    second = commands.start("run_baseline", "--json", "--resume", only_run(commands))
    done = "select count(*) from benchmark_workitem where state = 'done'"
    until(lambda: commands.rows(done) == [(own,)])
    assert commands.rows("select state from benchmark_run") == [("open",)], (
        "the first may still finish its items"
    )
    first.signal(signal.SIGKILL)
    first.wait()
    status, output, _ = second.wait()
    document = json.loads(output)
    assert (status, document["state"], document["done"]) == (0, "finished", ITEMS)
    assert document["paid"]["calls"] == ITEMS * STEPS
    assert len(commands.fake_providers.requests) == ITEMS * STEPS + CONCURRENCY


def test_a_run_does_not_go_on_with_other_prompts_problems_or_methods(commands: CommandSandbox) -> None:
    commands.fake_providers.script(SOLUTION)
    run = commands.baseline("--limit", "1")["run"]
    [(manifest,)] = commands.rows("select manifest from benchmark_run")
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
        commands.rows(change, [value])
        _, errors = commands.manage("run_baseline", "--resume", run, status=1)
        assert said in errors
    assert len(commands.fake_providers.requests) == 1


def test_items_and_the_row_of_a_runner_that_died_on_this_machine_are_free_at_once(db: None) -> None:
    fill()
    orchard = Dataset.objects.get(name="orchard")
    run = Run.objects.create(
        dataset=orchard, method="zero-shot", model_spec="openai:m", parameters={}, manifest={}
    )
    item = WorkItem.objects.create(run=run, problem=run.dataset.problems.all()[0], chain=0)
    with killed_process() as dead:
        send_heartbeat(dead, run.model_spec, run)
        leases.claim(run.pk, dead, 1)
        living = new_owner()
        assert send_heartbeat(living, run.model_spec, run) == 2, "the other process lives"
        assert leases.release_lost(run.pk) == 0
    assert send_heartbeat(living, run.model_spec, run) == 1
    assert leases.release_lost(run.pk) == 1
    item.refresh_from_db()
    assert item.state == "pending"
