"""Distributed runs with the real queue, worker and supervisor, any of which may be killed."""

import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.benchmark.runs.bank import REPLY
from tests.fake_providers import FakeProviders, Hold, Script, failure, pieces_of
from tests.stack import HANG, REPOSITORY, Stack

ITEMS, CONCURRENCY = 12, 4
ANSWER = Script(pieces_of(REPLY))


def rows(stack: Stack, query: str) -> list[tuple[Any, ...]]:
    with sqlite3.connect(stack.var / "hintbench.sqlite3", timeout=HANG) as connection:
        return connection.execute(query).fetchall()


def test_a_run_continues_after_kill_9_of_its_worker_and_then_of_its_client(
    fake_provider_stack: Stack, fake_providers: FakeProviders
) -> None:
    stored = "select count(*) from benchmark_generation"
    first, second = Hold(after=1), Hold(after=1)
    fake_providers.script(*[ANSWER] * 4, *[Script(pieces_of(REPLY), hold=first)] * CONCURRENCY)
    command = ["run_baseline", "--dataset", "practice", "--model", "openai:gpt-4o", "--method", "zero-shot"]
    client = subprocess.Popen(
        [sys.executable, "manage.py", *command, "--limit", "3", "--attempts", str(ITEMS // 3),
         "--concurrency", str(CONCURRENCY), "--distribute"],
        cwd=REPOSITORY, env=fake_provider_stack.environment, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    fake_provider_stack.wait_for(lambda: len(fake_providers.requests) == 4 + CONCURRENCY)
    fake_provider_stack.wait_for(lambda: rows(fake_provider_stack, stored) == [(4,)])
    fake_providers.script(
        *[ANSWER] * 2, *[Script(pieces_of(REPLY), hold=second)] * CONCURRENCY, *[ANSWER] * 2
    )
    fake_provider_stack.kill("model-worker")
    fake_provider_stack.wait_for(lambda: len(fake_providers.requests) == 4 + CONCURRENCY + 2 + CONCURRENCY)
    client.kill()
    client.wait(HANG)
    second.release()
    fake_provider_stack.wait_for(
        lambda: rows(fake_provider_stack, "select state from benchmark_run") != [("open",)]
    )

    assert rows(fake_provider_stack, "select state, paid_calls from benchmark_run") == [("finished", ITEMS)]
    assert rows(fake_provider_stack, stored) == [(ITEMS,)]
    judged = "select state, count(judgement_id), count(distinct judgement_id) from benchmark_workitem group by state"
    assert rows(fake_provider_stack, judged) == [("done", ITEMS, ITEMS)]
    assert len(fake_providers.requests) == ITEMS + CONCURRENCY, "only calls that were in flight are repeated"


def test_a_client_shows_its_workers_wait_and_stops_it_and_fresh_draws_are_those_of_the_run(
    fake_provider_stack: Stack, fake_providers: FakeProviders, tmp_path: Path
) -> None:
    fake_providers.script(ANSWER, failure(429, retry_after="500"))
    errors = tmp_path / "errors"

    def start(*arguments: str) -> subprocess.Popen[bytes]:
        with errors.open("wb") as file:
            return subprocess.Popen(
                [sys.executable, "manage.py", "run_baseline", *arguments, "--distribute"],
                cwd=REPOSITORY, env=fake_provider_stack.environment, stderr=file,
            )  # fmt: skip

    client = start(
        "--dataset", "practice", "--model", "openai:gpt-4o", "--method", "zero-shot", "--limit", "1",
        "--epochs", "3", "--draws", "fresh", "--concurrency", "1",
    )  # fmt: skip
    fake_provider_stack.wait_for(lambda: "Waiting 5" in errors.read_text())
    client.send_signal(signal.SIGINT)
    assert client.wait(HANG) == 1
    [(run, state, draw)] = rows(
        fake_provider_stack, "select id, state, first_draw from benchmark_run where epochs = 3"
    )
    assert (state, draw) == ("stopped", 1)
    fake_providers.script(*[ANSWER] * 2)
    assert start("--resume", run).wait(HANG) == 0
    assert len(fake_providers.requests) == 4, "the reply of the first epoch is reused"
    keys = (
        "select count(distinct cache_key) from benchmark_generation g join benchmark_workitem i "
        f"on i.id = g.work_item_id where i.run_id = '{run}'"
    )
    assert rows(fake_provider_stack, keys) == [(3,)]
