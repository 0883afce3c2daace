"""Budgets, shared limits, replies paid for once, and pilots."""

from contextlib import AbstractAsyncContextManager
from math import sqrt
from statistics import stdev

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from benchmark.model_calls.budget import Price, RunBudget, Spending
from benchmark.model_calls.ledger import Account
from benchmark.model_calls.rate_limit import BURST, CellRate, check_length
from benchmark.model_calls.stopping import Stop, StopRequestedError
from benchmark.models import Generation, Run
from benchmark.prompts import Prompt
from benchmark.providers import (
    Message,
    ModelReply,
    Parameters,
    ProviderError,
    RetryPolicy,
    open_provider,
    parse_model_spec,
)
from benchmark.runner import ExecutionProgress, estimate_from_pilot
from benchmark.runner.paid_calls import PaidCalls, RoleCalls
from benchmark.runner.reply_store import ModelRole
from tests.benchmark.reports.conftest import MakeRun, make_run  # noqa: F401
from tests.benchmark.runs.bank import REPLY, fill
from tests.benchmark.runs.conftest import CommandSandbox
from tests.fake_providers import Script, pieces_of

SOLUTION = Script(pieces_of(REPLY))
PRICE = ("--price", "1000", "2000")
COST = (11 * 1000 + 7 * 2000) / 1e6  # of one reply of a fake provider


def test_a_run_stops_when_its_budget_is_used_up_and_goes_on_with_a_higher_one(
    commands: CommandSandbox,
) -> None:
    commands.fake_providers.script(*[SOLUTION] * 8)
    document = commands.baseline("--max-calls", "1", "--concurrency", "1", *PRICE, status=1)
    assert (document["state"], document["done"]) == ("stopped", 1)
    assert document["stop_reason"] == "the budget of 1 calls is used up"
    assert document["paid"] == {
        "calls": 1,
        "input_tokens": 11,
        "output_tokens": 7,
        "cached_input_tokens": 3,
        "calls_without_tokens": 0,
        "calls_broken_off": 0,
        "cost_usd": pytest.approx(COST),
        "cost_is_lower_bound": False,
    }
    resume = ("--resume", document["run"], "--concurrency", "1")
    cost = commands.baseline(*resume, "--max-calls", "9", "--max-cost", str(2 * COST), status=1)
    assert cost["paid"]["calls"] == len(commands.fake_providers.requests) == 2
    assert "US dollars is used up" in cost["stop_reason"]
    tokens = commands.baseline(*resume, "--max-cost", "9", "--max-tokens", "54", status=1)
    assert tokens["paid"]["calls"] == 3
    _, errors = commands.manage("run_baseline", *resume, status=1)
    assert "Stopped: the budget of 54 tokens is used up (54 spent)" in errors
    ended = commands.baseline(*resume, "--max-tokens", "999")
    assert (ended["state"], ended["stop_reason"], ended["paid"]["calls"]) == ("finished", "", 4)

    # Another run of the same questions pays nothing, and its figures still state the tokens that the method needs.
    again = commands.baseline("--max-calls", "1")
    assert (again["state"], again["solved"], again["paid"]["calls"]) == ("finished", 2, 0)
    assert again["tokens"] == ended["tokens"]
    assert len(commands.fake_providers.requests) == 4
    assert commands.rows("select count(*) from benchmark_generation where reused_id is not null") == [(4,)]
    more = commands.baseline("--attempts", "2", "--set", "temperature=0.7")
    assert (more["generations"], more["paid"]["calls"]) == (8, 4), "each attempt is a draw of its own"


def test_money_needs_a_price_and_a_provider_that_counts(commands: CommandSandbox) -> None:
    commands.fake_providers.script(Script(pieces_of(REPLY), tokens=None), SOLUTION)
    document = commands.baseline("--max-cost", "5", "--concurrency", "1", *PRICE, status=1)
    assert "does not say how many tokens" in document["stop_reason"]
    assert len(commands.fake_providers.requests) == 1


def test_money_without_a_price_is_refused(db: None, settings: Settings) -> None:
    settings.OPENAI_API_KEY = "sk-any"
    fill()
    with pytest.raises(CommandError, match="--max-cost needs a price: give --price INPUT OUTPUT"):
        call_command(
            "run_baseline", "--dataset", "orchard", "--model", "openai:m", "--method", "zero-shot", "--max-cost", "1"
        )  # fmt: skip


def test_a_pilot_tries_some_problems_and_rescales_the_estimate(commands: CommandSandbox) -> None:
    commands.fake_providers.script(*[SOLUTION] * 8)
    pilot = commands.baseline("--pilot", "2", "--attempts", "2", *PRICE)
    assert (pilot["total"], pilot["state"], pilot["pilot"]["of_problems"]) == (4, "finished", 4)
    assert pilot["estimates"]["expected"] == {
        "generations": 8,
        "input_tokens": 88,
        "output_tokens": 56,
        "cached_input_tokens": 24,
        "cost_usd": pytest.approx(8 * COST),
    }
    assert pilot["estimates"]["low"] == pilot["estimates"]["high"], (
        "all replies of the fake provider are equal"
    )
    whole = commands.baseline("--attempts", "2")
    assert (whole["generations"], whole["paid"]["calls"]) == (8, 4)


def test_an_unfinished_pilot_gives_no_estimate(commands: CommandSandbox) -> None:
    commands.fake_providers.script(*[SOLUTION] * 3)
    pilot = commands.baseline("--pilot", "2", "--attempts", "2", "--max-calls", "2", *PRICE, status=1)
    assert (pilot["state"], pilot["estimates"]) == ("stopped", None)
    output, _ = commands.manage("run_baseline", "--resume", pilot["run"], "--max-calls", "3", status=1)
    assert "No estimate: the pilot is not finished." in output


def test_a_pilot_of_few_problems_is_rescaled_with_t(
    make_run: MakeRun,  # noqa: F811
) -> None:
    run = make_run([("", ["AC"])] * 3, state="finished", manifest={"pilot": {"of_problems": 30}})
    for tokens, generation in zip((10, 20, 60), Generation.objects.filter(work_item__run=run), strict=True):
        generation.output_tokens = tokens
        generation.save()
    found = {name: one.output_tokens for name, one in estimate_from_pilot(run).items()}
    reach = 4.302653 * stdev([10, 20, 60]) / sqrt(3)
    assert found == {"low": 0, "expected": 900, "high": round(30 * (30 + reach))}


def test_a_prompt_that_leaves_no_room_for_the_reply_is_not_sent(commands: CommandSandbox) -> None:
    document = commands.baseline("--context-tokens", "4100", "--limit", "1", status=1)
    assert (document["failed"], commands.fake_providers.requests) == (1, [])
    [fault] = commands.report(document["run"])["faults"]
    assert "more than the context of 4,100 (--context-tokens)" in fault
    assert check_length([Message("user", "x" * 365)], Parameters(max_output_tokens=1), 101) == 100
    with pytest.raises(ProviderError):
        check_length([Message("user", "x" * 365)], Parameters(max_output_tokens=2), 101)


def test_a_rate_limit_is_divided_among_its_peers() -> None:
    now = [100.0]
    for peers in (1, 3):
        rate, taken, end = CellRate(120, lambda: now[0]), 0, now[0] + 60
        while now[0] < end:
            if wait := rate.wait():
                now[0] += wait
            else:
                rate.take(1, peers)
                taken += 1
        assert 120 / peers <= taken <= (120 + 120 * BURST / 60) / peers + 2


def test_what_is_in_flight_counts_as_a_call() -> None:
    assert RunBudget(calls=3).used_up(Spending(1), None, in_flight=2)
    assert not RunBudget(calls=3).used_up(Spending(1), None, in_flight=1)
    assert RunBudget(cost=1.0).used_up(Spending(1, 0, 500_000), Price(0, 2))
    assert not RunBudget(cost=1.0).used_up(Spending(1, 0, 499_999), Price(0, 2))


async def test_a_reply_counts_as_a_call_in_flight_until_it_is_stored() -> None:
    run = Run(method="zero-shot", model_spec="practice:student")
    part = ModelRole("student", parse_model_spec(run.model_spec), Parameters(), run, Account.of_run(run))
    provider, stop = open_provider(part.spec), Stop()
    calls = RoleCalls(part, provider, "a runner", stop)
    progress = ExecutionProgress(spent=Spending(1))
    paid = PaidCalls({"student": calls}, RunBudget(calls=2), RetryPolicy(), stop, progress)
    prompt = Prompt((Message("user", "Hello"),), "")

    def call() -> AbstractAsyncContextManager[ModelReply]:
        return paid.send("student", prompt, Parameters(), "key", "")

    async with call():
        with pytest.raises(StopRequestedError):
            await call().__aenter__()
        assert stop.reason == "the budget of 2 calls is used up"
        assert not stop.cancels_waits, "the budget includes the calls in flight, which may wait"
        paid.record("student", Generation(input_tokens=1, output_tokens=1), Spending(2))
    with pytest.raises(StopRequestedError):
        await call().__aenter__()
    assert stop.cancels_waits
