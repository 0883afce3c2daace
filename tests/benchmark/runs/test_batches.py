"""Runs in the batches of both providers: half the price, the same rows, and no request paid for twice."""

import json
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.core.management import CommandError, call_command
from pytest_django import Settings

from benchmark.model_calls import batches
from benchmark.model_calls.caps import set_cap
from benchmark.models import Run
from benchmark.providers import parse_model_spec, price_factor
from tests.benchmark.runs.bank import REPLY, fill
from tests.benchmark.runs.conftest import CommandSandbox
from tests.benchmark.runs.processes import FORKS, use_var
from tests.benchmark.runs.test_resume import generations, only_run, until
from tests.fake_providers import BatchScript, FakeProviders, Hold, Script, failure, pieces_of
from tests.stack import HANG

SOLUTION = Script(pieces_of(REPLY))
PRICE = ("--price", "1000", "2000")
COST = (11 * 1000 + 7 * 2000) / 1e6 / 2
MODELS = ("openai:gpt-4o", "anthropic:claude")


def started(model: str, *arguments: str, method: str = "episodic", attempts: int = 2) -> list[str]:
    return [
        "run_baseline", "--json", "--dataset", "orchard", "--model", model, "--method", method,
        "--attempts", str(attempts), "--batch", *arguments,
    ]  # fmt: skip


def sizes(commands: CommandSandbox) -> list[int]:
    return [len(batch.requests) for batch in commands.fake_providers.batches.created]


@pytest.mark.parametrize("model", MODELS)
def test_a_run_in_batches_ends_like_any_other_at_half_the_price(commands: CommandSandbox, model: str) -> None:
    reasoned = replace(SOLUTION, reasoning=("Hm.",))
    commands.fake_providers.script(reasoned, *[SOLUTION] * 4, failure(500), failure(429), *[SOLUTION] * 12)
    # The provider's answer to the second batch gets lost, and one of its requests expires.
    commands.fake_providers.batch(BatchScript(polls=2), BatchScript(lost=True, expired=1))
    document = json.loads(commands.manage(*started(model, *PRICE))[0])
    assert (document["batch"], document["state"], document["generations"]) == (True, "finished", 16)
    assert (document["done"], document["solved"], document["failed"]) == (8, 4, 0)
    assert document["paid"] == {
        "calls": 16,
        "input_tokens": 16 * 11,
        "output_tokens": 16 * 7,
        "cached_input_tokens": 16 * 3,
        "calls_without_tokens": 0,
        "calls_broken_off": 0,
        "cost_usd": pytest.approx(16 * COST),
        "cost_is_lower_bound": False,
    }
    # Drafts; then the failed drafts again and the answers after the others; then the rest, with the expired request.
    assert sizes(commands) == [8, 8, 3]
    for told in ((), PRICE):
        report = commands.report(document["run"], *told)
        assert (report["manifest"]["batch"], report["cost"]) == (True, pytest.approx(16 * COST))
    [(first, slowest)] = commands.rows("select max(first_token), max(latency) from benchmark_generation")
    assert first is None
    assert slowest < HANG, "it is that of the batch, by the provider's clock"
    assert commands.rows("select count(*) from benchmark_generation where reasoning = 'Hm.'") == [(1,)]
    assert commands.rows("select count(*) from benchmark_batchedrequest where fault != ''") == [(3,)]


def kill_in_three_places(commands: CommandSandbox, model: str) -> None:
    """Kill the client while a batch is submitted, processed and read; then run to the end."""
    commands.fake_providers.script(*[SOLUTION] * 16)
    unnoted, unended, unread = Hold(0), Hold(0), Hold(3)
    commands.fake_providers.batch(
        BatchScript(confirmation=unnoted), BatchScript(hold=unended, results=unread)
    )
    created = commands.fake_providers.batches.created

    def killed_when(command: list[str], condition: Callable[[], bool]) -> list[str]:
        process = commands.start(*command)
        until(condition)
        process.signal(signal.SIGKILL)
        assert process.wait()[:2] == (-signal.SIGKILL, "")
        return ["run_baseline", "--json", "--resume", only_run(commands)]

    resume = killed_when(started(model), lambda: len(created) == 1)
    assert commands.rows("select provider_id from benchmark_batch") == [("",)]
    killed_when(resume, lambda: len(created) == 2 and created[1].polled > 0)
    unended.release()
    # Anthropic's client may hold back the last result that it has received.
    killed_when(resume, lambda: len(generations(commands)) >= 8 + unread.after - 1)
    unread.release()
    document = json.loads(commands.manage(*resume)[0])
    assert (document["state"], document["done"], document["solved"]) == ("finished", 8, 4)
    assert sizes(commands) == [8, 8]
    assert len(commands.fake_providers.requests) == document["paid"]["calls"] == 16
    ids = [batch.id for batch in created]
    assert sorted(commands.rows("select provider_id from benchmark_batch")) == [(name,) for name in ids]


@pytest.mark.parametrize("model", MODELS)
def test_no_question_is_paid_for_twice_wherever_the_client_is_killed(
    commands: CommandSandbox, model: str
) -> None:
    kill_in_three_places(commands, model)


def resume_patiently(var: Path, values: dict[str, str], run: str) -> None:
    """Run `run_baseline --resume` so that a batch is only submitted when every chain waits."""
    batches._QUIET = 2 * HANG
    use_var(var)
    for name, value in values.items():
        setattr(django_settings, name, value)
    call_command("run_baseline", "--resume", run)


def test_a_batch_does_not_wait_for_items_that_another_process_holds(commands: CommandSandbox) -> None:
    commands.fake_providers.script(*[SOLUTION] * 4)
    unended = Hold(0)
    commands.fake_providers.batch(BatchScript(hold=unended))
    first = commands.start(*started(MODELS[0], "--concurrency", "3", method="zero-shot", attempts=1))
    until(lambda: sizes(commands) == [3])
    second = FORKS.Process(
        target=resume_patiently, args=(commands.var, commands.settings, only_run(commands))
    )
    second.start()
    until(lambda: sizes(commands) == [3, 1])
    unended.release()
    second.join()
    assert first.wait()[0] == second.exitcode == 0
    assert len(commands.fake_providers.requests) == 4


def test_ctrl_c_waits_for_batches_or_leaves_them_and_they_can_be_cancelled(commands: CommandSandbox) -> None:
    commands.fake_providers.script(*[SOLUTION] * 9)
    commands.fake_providers.batch(BatchScript(hold=Hold(0)), BatchScript(), BatchScript(polls=3))
    running = commands.start(*started(MODELS[0], *PRICE, method="zero-shot", attempts=1))
    until(
        lambda: (
            commands.fake_providers.batches.created != []
            and commands.fake_providers.batches.created[0].polled > 0
        )
    )
    for said in ("No new batch begins", "--resume"):
        running.signal(signal.SIGINT)
        until(lambda: said in running.errors())  # noqa: B023  (called in this round)
    assert running.wait()[0] == 1
    resume = ("--resume", only_run(commands))
    cancelled = commands.baseline(*resume, "--cancel-batches", status=1)
    assert (cancelled["stop_reason"], cancelled["done"]) == ("its batches were cancelled", 2)
    assert commands.fake_providers.batches.created[0].cancelled

    # The budget is enough for one more request, however long the reply is.
    three = commands.baseline(*resume, "--max-calls", "3", status=1)
    assert (three["stop_reason"], three["paid"]["calls"]) == ("the budget of 3 calls is used up", 3)
    dear = commands.baseline(*resume, "--max-calls", "9", "--max-cost", "0.2", *PRICE, status=1)
    assert "the rest of the budget may not be enough for one more question" in dear["stop_reason"]
    assert sizes(commands) == [4, 1]

    # A batch that was requested, and that the provider never created.
    commands.rows("update benchmark_batch set provider_id = '', created_at = '2026-01-01 00:00:00+00:00'")
    commands.rows("update benchmark_batchedrequest set fault = ''")
    commands.fake_providers.batches.created.clear()
    last = commands.baseline(*resume, "--max-cost", "1000")
    assert (last["state"], last["paid"]["calls"], sizes(commands)) == ("finished", 4, [1])
    rest = commands.rows("select requests from benchmark_batch where provider_id = ''")
    assert rest == [(1,)], "all questions of that one have replies, so nobody looks for it"


def test_a_cap_stops_new_batches_of_unlimited_replies_but_open_ones_end(commands: CommandSandbox) -> None:
    commands.fake_providers.script(*[SOLUTION] * 4)
    commands.fake_providers.batch(BatchScript(hold=Hold(0)))
    unlimited = ("--set", "max_output_tokens=none", *PRICE)
    running = commands.start(*started(MODELS[0], *unlimited, method="zero-shot", attempts=1))
    until(lambda: sizes(commands) == [4] and commands.fake_providers.batches.created[0].polled > 0)
    for said in ("No new batch begins", "--resume"):
        running.signal(signal.SIGINT)
        until(lambda: said in running.errors())  # noqa: B023  (called in this round)
    assert running.wait()[0] == 1
    commands.manage("spending", "set", "total", "1000")
    resume = ("--resume", only_run(commands))
    cancelled = commands.baseline(*resume, "--cancel-batches", status=1)
    assert (cancelled["stop_reason"], cancelled["done"]) == ("its batches were cancelled", 2)
    stopped = commands.baseline(*resume, status=1)
    assert "needs max_output_tokens in new batches" in stopped["stop_reason"]
    assert sizes(commands) == [4]
    commands.manage("spending", "remove", "total")
    assert commands.baseline(*resume)["state"] == "finished"


def test_a_budget_counts_the_reasoning_tokens_of_a_batch(commands: CommandSandbox) -> None:
    options = ("--model", "anthropic:claude", "--set", "max_output_tokens=none", "temperature=none")
    stopped = commands.baseline("--batch", *options, "reasoning=9000", "--max-tokens", "25000", status=1)
    assert "may not be enough for one more question (up to 25," in stopped["stop_reason"]
    assert commands.rows("select count(*) from benchmark_batch") == [(0,)]


def test_batches_become_smaller_when_the_provider_does_not_hold_so_much(commands: CommandSandbox) -> None:
    commands.rows("update benchmark_problem set statement = 'The same.' where external_id like '%_sum'")
    commands.fake_providers.script(*[SOLUTION] * 4, failure(400), SOLUTION)
    commands.fake_providers.batch(BatchScript(invalid="token_limit_exceeded"))
    document = commands.baseline("--batch", "--json", status=1)
    assert sizes(commands) == [3, 1, 1, 1]
    assert (document["done"], document["failed"], document["paid"]["calls"]) == (3, 1, 2)
    [fault] = commands.report(document["run"])["faults"]
    assert "HTTP 400: Scripted failure." in fault
    assert commands.rows("select count(*) from benchmark_generation where reused_id is not null") == [(1,)]


def test_conflicting_options_are_refused_before_any_call(
    db: None, settings: Settings, fake_providers: FakeProviders
) -> None:
    fill()
    set_cap("site", "", "total", 9)
    unlimited = ["--model", "openai:m", "--set", "max_output_tokens=none", *PRICE]
    for arguments, said in (
        (
            ["--model", "practice:student"],
            "The provider practice does not accept batches. Leave out --batch.",
        ),
        (["--model", "openai:m", "--distribute"], "--batch and --distribute exclude each other"),
        (["--model", "openai:m", "--tokens-per-minute", "9"], "cannot be used with --batch"),
        (["--model", "openai:m", "--cancel-batches"], "--cancel-batches needs --resume RUN"),
        ([*unlimited, "--max-tokens", "9"], "give --set max_output_tokens=N"),
        ([*unlimited, "--max-cost", "9"], "give --set max_output_tokens=N"),
        (unlimited, "give --set max_output_tokens=N"),
    ):
        with pytest.raises(CommandError, match=said):
            call_command(
                "run_baseline", "--dataset", "orchard", "--method", "zero-shot", "--batch", *arguments
            )
    fake_providers.batches.offered = False
    for model in ("compatible:llama", *MODELS):
        with pytest.raises(CommandError, match=r"127.0.0.1:\d+ does not accept batches. Leave out --batch."):
            call_command(
                "run_baseline", "--dataset", "orchard", "--method", "zero-shot", "--batch", "--model", model
            )
    assert not Run.objects.exists()
    assert not fake_providers.requests


def test_a_dry_run_tells_the_price_in_batches_where_it_is_known(commands: CommandSandbox) -> None:
    dry = (
        "run_baseline",
        "--dataset",
        "orchard",
        "--method",
        "zero-shot",
        "--model",
        "openai:m",
        "--dry-run",
    )
    costs = []
    for batch in ([], ["--batch"]):
        document = json.loads(commands.manage(*dry, "--json", "--price", "2", "4", *batch)[0])
        assert document["batch"] is bool(batch)
        costs.append(document["estimates"]["expected"]["cost_usd"])
    assert costs[1] == costs[0] / 2
    told, _ = commands.manage(*dry, "--batch")
    assert "in batches, at 50% of the usual price. No call was made." in told
    assert "unknown" in told
    for model, part in (("anthropic:m", 0.5), ("compatible:m", 1)):
        assert price_factor(parse_model_spec(model), batch=True) == part
