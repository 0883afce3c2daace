"""Cost estimates of a run without a call, a key or a stored run."""

import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from benchmark.methods import METHODS
from tests.benchmark.runs.bank import fill
from tests.benchmark.runs.conftest import CommandSandbox


def dry_run(commands: CommandSandbox, *arguments: str, model: str = "openai:m") -> dict[str, Any]:
    output, _ = commands.manage(
        "run_baseline",
        "--dry-run",
        "--json",
        "--dataset",
        "orchard",
        "--model",
        model,
        "--method",
        *arguments,
    )
    document: dict[str, Any] = json.loads(output)
    return document


def test_the_calls_and_tokens_of_every_item_are_counted_and_nobody_is_called(
    commands: CommandSandbox,
) -> None:
    for arguments, low, high in (
        (["zero-shot", "--attempts", "3"], 12, 12),
        (["episodic", "--set", "query=statement"], 4, 4),
        (["reflexion", "--set", "i=2"], 4, 12),
        (["reflexion", "--profile", "usaco-code", "--limit", "3"], 9, 9),
        (["reflexion+episodic"], 8, 20),
    ):
        estimates = dry_run(commands, *arguments)["estimates"]
        calls = [estimates[name]["generations"] for name in ("low", "expected", "high")]
        assert calls == [low, high, high], arguments
        for kind in ("input_tokens", "output_tokens"):
            values = [estimates[name][kind] for name in ("low", "expected", "high")]
            assert 0 < values[0] < values[1] < values[2], arguments
    assert commands.fake_providers.requests == []
    assert commands.rows("select count(*) from benchmark_run") == [(0,)]


def test_the_cost_is_unknown_without_a_price(commands: CommandSandbox) -> None:
    zero_shot = ["zero-shot", "--set", "max_output_tokens=1000"]
    assert {one["cost_usd"] for one in dry_run(commands, *zero_shot)["estimates"].values()} == {None}
    high = dry_run(commands, *zero_shot, "--price", "2", "10")["estimates"]["high"]
    assert high["output_tokens"] == 4000
    assert high["cost_usd"] == pytest.approx((2 * high["input_tokens"] + 10 * 4000) / 1e6)
    scripted = dry_run(commands, *zero_shot, model="practice:student")["estimates"]
    assert scripted["high"]["cost_usd"] == 0


def test_the_text_states_the_estimate(commands: CommandSandbox) -> None:
    told, _ = commands.manage(
        "run_baseline", "--dry-run", "--dataset", "orchard", "--model", "openai:m", "--method", "reflexion"
    )
    assert "reflexion on 4 problems, 1 attempt each. No call was made." in told
    low, high = (line.split() for line in told.splitlines() if line.startswith(("low ", "high ")))
    assert (low[1], low[-1], high[1], high[-1]) == ("4", "unknown", "16", "unknown")


def test_method_all_estimates_the_eight_methods_of_the_paper(commands: CommandSandbox) -> None:
    methods = dry_run(commands, "all", "--attempts", "2")["methods"]
    assert [one["method"] for one in methods] == [
        name for name, method in METHODS.items() if method.in_usaco_paper
    ]
    assert methods[4] == dry_run(commands, "reflexion", "--attempts", "2")
    command = ["run_baseline", "--dataset", "orchard", "--model", "openai:m", "--method", "all"]
    told, _ = commands.manage(*command, "--dry-run")
    assert told.count("on 4 problems, 1 attempt each. No call was made.") == 8
    assert told.count("A token is counted as") == 1
    _, errors = commands.manage(*command, status=1)
    assert "A run has one method; --method all is for --dry-run." in errors


def test_a_price_is_refused_where_it_is_none(db: None) -> None:
    fill()
    run = ["run_baseline", "--dataset", "orchard", "--model", "openai:m", "--method", "zero-shot"]
    with pytest.raises(CommandError, match="'-1' is not a number of dollars"):
        call_command(*run, "--dry-run", "--price", "1", "-1")
    with pytest.raises(CommandError, match="leave out --dry-run with --resume"):
        call_command("run_baseline", "--resume", "x", "--dry-run")
