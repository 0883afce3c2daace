"""Runs that workers carry out, with the real queue, worker and supervisor: any of them may be killed."""

import sqlite3
import subprocess
import sys
from typing import Any

from tests.benchmark.runs.bank import REPLY
from tests.imitation import Hold, Imitation, Script, pieces_of
from tests.stack import HANG, REPOSITORY, Stack

ITEMS, CONCURRENCY = 12, 4
ANSWER = Script(pieces_of(REPLY))


def rows(stack: Stack, query: str) -> list[tuple[Any, ...]]:
    with sqlite3.connect(stack.var / "hintbench.sqlite3", timeout=HANG) as connection:
        return connection.execute(query).fetchall()


def test_a_run_goes_on_after_kill_9_of_its_worker_and_then_of_its_client(
    imitated_stack: Stack, imitation: Imitation
) -> None:
    stored = "select count(*) from benchmark_generation"
    first, second = Hold(after=1), Hold(after=1)
    imitation.script(*[ANSWER] * 4, *[Script(pieces_of(REPLY), hold=first)] * CONCURRENCY)
    command = ["run_baseline", "--dataset", "practice", "--model", "openai:gpt-4o", "--method", "zero-shot"]
    client = subprocess.Popen(
        [sys.executable, "manage.py", *command, "--limit", "3", "--attempts", str(ITEMS // 3),
         "--concurrency", str(CONCURRENCY), "--distribute"],
        cwd=REPOSITORY, env=imitated_stack.environment, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    imitated_stack.wait_for(lambda: len(imitation.requests) == 4 + CONCURRENCY)
    imitated_stack.wait_for(lambda: rows(imitated_stack, stored) == [(4,)])
    imitation.script(*[ANSWER] * 2, *[Script(pieces_of(REPLY), hold=second)] * CONCURRENCY, *[ANSWER] * 2)
    imitated_stack.kill("worker-1")
    imitated_stack.wait_for(lambda: len(imitation.requests) == 4 + CONCURRENCY + 2 + CONCURRENCY)
    client.kill()
    client.wait(HANG)
    second.release()
    imitated_stack.wait_for(lambda: rows(imitated_stack, "select state from benchmark_run") != [("open",)])

    assert rows(imitated_stack, "select state, paid_calls from benchmark_run") == [("finished", ITEMS)]
    assert rows(imitated_stack, stored) == [(ITEMS,)]
    judged = "select state, count(judgement_id), count(distinct judgement_id) from benchmark_workitem group by state"
    assert rows(imitated_stack, judged) == [("done", ITEMS, ITEMS)]
    assert len(imitation.requests) == ITEMS + CONCURRENCY, "only what was in flight is asked for again"
