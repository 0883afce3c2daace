"""Runs on PostgreSQL, where several processes write at once."""

import json
import shutil
import signal
from pathlib import Path

import pytest

from tests.benchmark.runs.bank import make_bank
from tests.benchmark.runs.conftest import CommandSandbox
from tests.benchmark.runs.processes import run_apart
from tests.benchmark.runs.test_batches import MODELS, kill_in_three_places
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
from tests.fake_providers import FakeProviders
from tests.postgres import Postgres


@pytest.fixture(scope="module")
def filled_database(postgres: Postgres, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Return a HINTBENCH_VAR and a database with tables and problems."""
    var, database = tmp_path_factory.mktemp("bank"), postgres.new_database()
    run_apart(make_bank, var, database)
    return var, database


@pytest.fixture
def on_postgres(
    postgres: Postgres, filled_database: tuple[Path, str], tmp_path: Path, fake_providers: FakeProviders
) -> CommandSandbox:
    filled_var, database = filled_database
    var = tmp_path / "var"
    shutil.copytree(filled_var, var)
    return CommandSandbox(var, fake_providers, postgres.new_database(template=database))


def test_two_processes_share_a_run_and_kill_9_of_one_repeats_only_its_calls_in_flight(
    on_postgres: CommandSandbox,
) -> None:
    requests = on_postgres.fake_providers.requests
    on_postgres.fake_providers.script(*[SOLUTION] * CONCURRENCY, *[HANGING] * CONCURRENCY)
    killed = on_postgres.start(*EPISODIC)
    until(lambda: len(requests) == 2 * CONCURRENCY)
    on_postgres.fake_providers.script(*[SOLUTION] * ITEMS * STEPS)
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


def test_no_question_of_a_batch_is_paid_for_twice_wherever_the_client_is_killed(
    on_postgres: CommandSandbox,
) -> None:
    kill_in_three_places(on_postgres, MODELS[0])
