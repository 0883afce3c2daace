"""Rows of models in runs: found or made by run_baseline, and named by a label."""

from __future__ import annotations

import json

from tests.benchmark.runs.bank import REPLY
from tests.benchmark.runs.conftest import CommandSandbox
from tests.fake_providers import Script, pieces_of

SOLUTION = Script(pieces_of(REPLY))
ROWS = (
    "select m.label, m.version, m.automatic, m.frozen_at is not null from benchmark_run r "
    "join benchmark_languagemodel m on m.id = r.model_id order by r.started_at"
)


def test_runs_with_equal_sampling_share_a_frozen_row(commands: CommandSandbox) -> None:
    commands.fake_providers.script(*[SOLUTION] * 8)
    first = commands.baseline()
    commands.manage("run_baseline", "--like", first["run"], "--json")
    commands.baseline("--set", "temperature=0.2")
    assert commands.rows(ROWS) == [("gpt-4o", 1, 1, 1), ("gpt-4o", 1, 1, 1), ("gpt-4o", 2, 1, 1)]
    commands.manage("models", "deactivate", "gpt-4o@1")
    _, errors = commands.manage("run_baseline", "--like", first["run"], status=1)
    assert "The model gpt-4o v1 (openai:gpt-4o) is inactive." in errors
    assert len(commands.rows(ROWS)) == 3


def test_a_label_gives_a_run_sampling_price_context_and_cutoff(commands: CommandSandbox) -> None:
    add = ("models", "add", "small", "openai:gpt-4o", "--set", "seed=7", "max_output_tokens=900")
    facts = ("--price", "3", "4", "--cutoff", "2023-04-30", "--context-tokens", "100000")
    commands.manage(*add, "--extra", '{"service_tier": "flex"}', *facts)
    dry = commands.baseline("--model", "small", "--dry-run")
    assert (dry["parameters"]["seed"], dry["parameters"]["temperature"], dry["price"]["input"]) == (
        7,
        None,
        3,
    )
    assert commands.rows("select frozen_at from benchmark_languagemodel") == [(None,)], "a dry run is no use"

    commands.fake_providers.script(*[SOLUTION] * 8)
    run = commands.baseline("--model", "small")
    [body, *_] = [request.body for request in commands.fake_providers.requests]
    assert (body["seed"], body["service_tier"], "temperature" in body) == (7, "flex", False)
    assert run["price"]["output"] == 4
    [(limits, manifest)] = commands.rows("select limits, manifest from benchmark_run")
    assert json.loads(limits)["context_tokens"] == 100_000
    assert json.loads(manifest)["cutoff"] == "2023-04-30"

    commands.baseline("--model", "small@1", "--set", "temperature=0.5")
    assert commands.fake_providers.requests[-1].body["temperature"] == 0.5
    assert commands.fake_providers.requests[-1].body["service_tier"] == "flex"
    assert commands.rows(ROWS) == [("small", 1, 0, 1), ("small", 2, 1, 1)]
    assert commands.baseline("--model", "small", "--dry-run")["parameters"]["temperature"] is None

    commands.manage("models", "deactivate", "small@1")
    _, errors = commands.manage(
        "run_baseline", "--dataset", "orchard", "--method", "zero-shot", "--model", "small@1", status=1
    )
    assert "small v1 (openai:gpt-4o) is inactive" in errors
