"""Spending caps on runs: commands stop before a call and continue after the cap is raised."""

import json
import time
from typing import Any

import pytest

from tests.benchmark.runs.bank import REPLY
from tests.benchmark.runs.conftest import CommandSandbox
from tests.fake_providers import Hold, Script, pieces_of
from tests.stack import HANG

SOLUTION = Script(pieces_of(REPLY))
PRICE = ("--price", "1000", "2000")
COST = (11 * 1000 + 7 * 2000) / 1e6  # of one reply of a fake provider
LEDGER = "select model_spec, study_key, calls, microdollars, calls_of_unknown_cost from benchmark_dailyspend"


def listed(commands: CommandSandbox) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(commands.manage("spending", "--json")[0])
    return document


@pytest.mark.parametrize("target", [(), ("--model", "openai:gpt-4o")])
def test_a_run_stops_at_a_cap_and_resumes_after_it_is_raised(
    commands: CommandSandbox, target: tuple[str, ...]
) -> None:
    commands.fake_providers.script(*[SOLUTION] * 8)
    commands.manage("spending", "set", "total", str(2 * COST), *target)
    stopped = commands.baseline("--concurrency", "1", *PRICE, status=1)
    subject = "model openai:gpt-4o" if target else "the site"
    assert (stopped["state"], stopped["paid"]["calls"]) == ("stopped", 2)
    assert stopped["stop_reason"] == (
        f"the spending cap of {subject} of 0.05 US dollars in all is reached (0.05 spent). Raise the cap on the page "
        f"Spending, or with: {' '.join(['manage.py spending set total DOLLARS', *target])}"
    )
    assert commands.rows(LEDGER) == [("openai:gpt-4o", "", 2, round(2 * COST * 1e6), 0)]
    assert listed(commands)["caps"][0] | {"reached": True, "spent": 2 * COST} == listed(commands)["caps"][0]

    resume = ("--resume", stopped["run"], "--concurrency", "1")
    again = commands.baseline(*resume, status=1)
    assert (again["paid"]["calls"], again["stop_reason"]) == (2, stopped["stop_reason"])
    commands.manage("spending", "set", "total", "1", *target)
    ended = commands.baseline(*resume)
    assert (ended["state"], ended["paid"]["calls"]) == ("finished", len(commands.fake_providers.requests))
    assert commands.rows(LEDGER) == [("openai:gpt-4o", "", 4, round(4 * COST * 1e6), 0)]

    # A run whose replies are all paid for ends under a cap that is reached.
    commands.manage("spending", "set", "total", "0", *target)
    assert commands.baseline(*PRICE)["state"] == "finished"


def test_an_unknown_price_under_a_cap_is_refused_before_a_run_is_stored(commands: CommandSandbox) -> None:
    commands.manage("spending", "set", "day", "5")
    command = (
        "run_baseline",
        "--dataset",
        "orchard",
        "--method",
        "zero-shot",
        "--model",
        "openai:unlisted-model",
    )
    _, errors = commands.manage(*command, status=1)
    assert (
        "The price of openai:unlisted-model is unknown, so the spending cap of the site cannot hold."
        in errors
    )
    assert "Type a price on the model's page, or give --price" in errors
    assert commands.rows("select count(*) from benchmark_run") == [(0,)]
    assert commands.rows("select count(*) from benchmark_languagemodel") == [(0,)]
    commands.manage("spending", "remove", "day")
    commands.fake_providers.script(*[SOLUTION] * 8)
    commands.manage(*command)
    assert commands.rows(LEDGER) == [("openai:unlisted-model", "", 4, 0, 4)]
    [missing] = listed(commands)["models_without_price"]
    assert missing["model"] == "openai:unlisted-model"


def test_caps_of_other_models_and_studies_do_not_apply_and_free_calls_continue(
    commands: CommandSandbox,
) -> None:
    commands.fake_providers.script(*[SOLUTION] * 8)
    commands.manage("spending", "set", "total", "0", "--model", "openai:other")
    commands.manage("spending", "set", "total", "0", "--study", "demo@1")
    assert commands.baseline(*PRICE)["state"] == "finished"
    commands.manage("spending", "set", "total", "0")
    free = commands.baseline("--price", "0", "0", "--draws", "fresh")
    assert (free["state"], free["paid"]["calls"]) == ("finished", 4)


def test_the_cap_of_a_study_holds_for_its_runs(commands: CommandSandbox) -> None:
    commands.fake_providers.script(*[SOLUTION] * 8)
    stopped = commands.baseline("--max-calls", "1", "--concurrency", "1", *PRICE, status=1)
    commands.rows("update benchmark_run set study_key = 'study:demo@1'")
    commands.manage("spending", "set", "total", str(COST), "--study", "demo@1")
    resume = ("--resume", stopped["run"], "--concurrency", "1", "--max-calls", "9")
    stopped = commands.baseline(*resume, status=1)
    assert stopped["paid"]["calls"] == 2
    assert "the spending cap of study demo@1 of" in stopped["stop_reason"]
    assert sorted(row[1:4] for row in commands.rows(LEDGER)) == [
        ("", 1, round(COST * 1e6)),
        ("study:demo@1", 1, round(COST * 1e6)),
    ]


def test_two_processes_exceed_a_cap_by_no_more_than_the_calls_in_flight(commands: CommandSandbox) -> None:
    hold = Hold(after=1)
    commands.fake_providers.script(*[Script(pieces_of(REPLY), hold=hold)] * 4, *[SOLUTION] * 36)
    commands.manage("spending", "set", "day", str(3 * COST))
    options = ("--dataset", "orchard", "--model", "openai:gpt-4o", "--method", "zero-shot", *PRICE,
               "--draws", "fresh", "--attempts", "5", "--concurrency", "2")  # fmt: skip
    processes = [commands.start("run_baseline", *options) for _ in range(2)]
    deadline = time.monotonic() + HANG
    while len(commands.fake_providers.requests) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    hold.release()  # both processes have calls in flight
    for process in processes:
        status, _, errors = process.wait()
        assert status == 1
        assert "the spending cap of the site of 0.07 US dollars a day is reached" in errors
    [(_, _, calls, microdollars, unknown)] = commands.rows(LEDGER)
    assert calls == len(commands.fake_providers.requests)
    assert 3 <= calls <= 3 + 2 * 2 - 1, "the calls in flight when the third was stored"
    assert (microdollars, unknown) == (calls * round(COST * 1e6), 0)


def test_batches_are_not_created_beyond_a_cap(commands: CommandSandbox) -> None:
    commands.manage("spending", "set", "total", str(COST))
    stopped = commands.baseline("--batch", *PRICE, status=1)
    assert (
        "a spending cap leaves 0.03 US dollars, which may not be enough for one more question"
        in (stopped["stop_reason"])
    )
    assert (stopped["paid"]["calls"], commands.rows("select count(*) from benchmark_batch")) == (0, [(0,)])
    commands.manage("spending", "set", "total", "0")
    stopped = commands.baseline("--resume", stopped["run"], status=1)
    assert "the spending cap of the site of 0.00 US dollars in all is reached" in stopped["stop_reason"]
    commands.manage("spending", "set", "total", "1000")
    assert commands.baseline("--resume", stopped["run"])["state"] == "finished"
    [(_, _, calls, microdollars, _)] = commands.rows(LEDGER)
    assert (calls, microdollars) == (4, 4 * round(COST / 2 * 1e6))
