"""Runs on PostgreSQL, where several processes write at once."""

import json
import signal
from pathlib import Path

import pytest

from tests.benchmark.runs.bank import make_bank
from tests.benchmark.runs.conftest import Workshop
from tests.benchmark.runs.processes import run_apart
from tests.benchmark.runs.test_resume import (
    CONCURRENCY,
    EPISODIC,
    HANGING,
    ITEMS,
    SOLUTION,
    STEPS,
    generations,
    only_run,
    until,
)
from tests.imitation import Imitation
from tests.postgres import Postgres


@pytest.fixture
def on_postgres(postgres: Postgres, tmp_path: Path, imitation: Imitation) -> Workshop:
    database = postgres.new_database()
    run_apart(make_bank, tmp_path, database)
    return Workshop(tmp_path, imitation, database)


def test_two_processes_share_a_run_and_kill_9_of_one_repeats_only_its_calls_in_flight(
    on_postgres: Workshop,
) -> None:
    requests = on_postgres.imitation.requests
    on_postgres.imitation.script(*[SOLUTION] * CONCURRENCY, *[HANGING] * CONCURRENCY)
    killed = on_postgres.start(*EPISODIC)
    until(lambda: len(requests) == 2 * CONCURRENCY)
    on_postgres.imitation.script(*[SOLUTION] * ITEMS * STEPS)
    other = on_postgres.start(
        "run_baseline", "--json", "--concurrency", str(2 * CONCURRENCY), "--resume", only_run(on_postgres)
    )
    until(lambda: len(requests) > 2 * CONCURRENCY)
    killed.signal(signal.SIGKILL)
    killed.wait()
    _, output, _ = other.wait()
    document = json.loads(output)
    assert (document["state"], document["done"], document["solved"]) == ("finished", ITEMS, ITEMS // 2)
    assert document["paid"]["calls"] == len(generations(on_postgres)) == ITEMS * STEPS
    assert len(requests) == ITEMS * STEPS + CONCURRENCY
