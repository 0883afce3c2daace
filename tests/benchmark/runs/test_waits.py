"""Waits that the provider requests, and calls that broke off: messages to the user and stored counts."""

import asyncio
import csv
import io
import signal

import pytest

from benchmark.model_calls.stopping import Stop, StopRequestedError
from tests.benchmark.runs.bank import REPLY
from tests.benchmark.runs.conftest import CommandSandbox
from tests.benchmark.runs.test_resume import only_run, until
from tests.fake_providers import Hold, Script, failure, pieces_of

SOLUTION = Script(pieces_of(REPLY))
CUT = Script(pieces_of(REPLY), ending="cut", after=3)
ONE = ("--limit", "1", "--concurrency", "1")
RUN = ("run_baseline", "--dataset", "orchard", "--model", "openai:gpt-4o", "--method", "zero-shot")
PRICE = ("--price", "1000", "2000")


def test_the_message_of_a_wait_states_seconds_and_reason(commands: CommandSandbox) -> None:
    commands.fake_providers.script(failure(429, retry_after_ms="1000"), SOLUTION)
    _, errors = commands.manage(*RUN, *ONE)
    [line] = [line for line in errors.splitlines() if line.startswith("Waiting")]
    assert line == "Waiting 1 seconds before calls are repeated: OpenAI: HTTP 429: Scripted failure."


def test_a_long_wait_keeps_its_lease_and_ends_when_the_run_is_interrupted(commands: CommandSandbox) -> None:
    commands.fake_providers.script(failure(429, retry_after="500"))
    command = commands.start(*RUN, *ONE)

    def leased_until() -> str:
        [(end,)] = commands.rows("select lease_until from benchmark_workitem")
        return str(end)

    until(lambda: "Waiting" in command.errors())
    before = leased_until()
    until(lambda: leased_until() > before)
    until(lambda: "HTTP 429" in commands.rows("select waiting from benchmark_runner")[0][0])
    command.signal(signal.SIGINT)
    status, _, errors = command.wait()
    assert status == 1
    assert "--resume" in errors
    assert commands.rows("select state from benchmark_workitem") == [("pending",)]
    assert len(commands.fake_providers.requests) == 1
    commands.fake_providers.script(SOLUTION)
    assert commands.baseline("--resume", only_run(commands))["state"] == "finished"


def test_a_wait_of_more_than_ten_minutes_is_a_fault_that_resume_tries_again(commands: CommandSandbox) -> None:
    commands.fake_providers.script(failure(429, retry_after="601"))
    _, errors = commands.manage(*RUN, *ONE, status=1)
    assert "The provider requests a wait of 601 seconds, longer than the 600 seconds" in errors
    assert len(commands.fake_providers.requests) == 1


def test_calls_that_broke_off_are_counted_as_possibly_billed_and_make_the_cost_a_lower_bound(
    commands: CommandSandbox,
) -> None:
    # The refused call is certain to cost nothing.
    commands.fake_providers.script(CUT, failure(429, retry_after_ms="1"), SOLUTION)
    document = commands.baseline(*ONE, *PRICE)
    paid = document["paid"]
    assert (paid["calls"], paid["calls_broken_off"], paid["cost_is_lower_bound"]) == (1, 1, True)
    report = commands.report(document["run"])
    assert (report["calls_broken_off"], report["cost_at_least"]) == (1, True)
    told, _ = commands.manage("report", document["run"])
    assert "at least 0.03 US dollars" in told
    assert "interrupted calls, possibly billed" in told
    rows = {
        row["figure"]: row["value"]
        for row in csv.DictReader(
            io.StringIO(commands.manage("report", document["run"], "--format", "csv")[0])
        )
    }
    assert rows["calls broken off, possibly billed"] == "1"
    assert float(rows["cost in US dollars (at least)"]) > 0


def test_the_last_lines_name_calls_that_broke_off_and_unknown_tokens(commands: CommandSandbox) -> None:
    commands.fake_providers.script(CUT, Script(pieces_of(REPLY), tokens=None), SOLUTION)
    output, _ = commands.manage(*RUN, "--limit", "2", "--concurrency", "1", *PRICE)
    assert "Paid for 2 of 2 replies, at least 0.03 US dollars." in output
    assert "1 call broke off without a complete reply, possibly billed." in output
    resumed = commands.baseline("--resume", only_run(commands))
    assert (resumed["paid"]["calls_without_tokens"], resumed["paid"]["cost_is_lower_bound"]) == (1, True)


def test_calls_that_are_dropped_by_a_second_interrupt_are_counted(commands: CommandSandbox) -> None:
    commands.fake_providers.script(Script(pieces_of(REPLY), hold=Hold(2)))
    command = commands.start(*RUN, *ONE)
    until(lambda: len(commands.fake_providers.requests) == 1)
    command.signal(signal.SIGINT)
    until(lambda: "Once more drops them" in command.errors())
    command.signal(signal.SIGINT)
    assert command.wait()[0] == 1
    assert commands.rows("select calls_broken_off, paid_calls from benchmark_run") == [(1, 0)]


def test_questions_outside_runs_count_and_wait_the_same_way(commands: CommandSandbox) -> None:
    commands.fake_providers.script(CUT, failure(429, retry_after_ms="1000"), *[SOLUTION] * 4)
    output, errors = commands.manage(
        "represent", "--dataset", "orchard", "--model", "openai:gpt-4o", "--representation", "summary",
        "--concurrency", "1", *PRICE,
    )  # fmt: skip
    assert "Waiting 1 seconds" in errors
    assert "at least" in output
    assert "1 call broke off without a complete reply, possibly billed." in output


@pytest.mark.parametrize(
    "command",
    [RUN, ("represent", "--dataset", "orchard", "--model", "openai:gpt-4o", "--representation", "summary")],
)
def test_a_call_that_waits_for_the_rate_limit_is_not_sent_after_an_interrupt(
    commands: CommandSandbox, command: tuple[str, ...]
) -> None:
    hold = Hold(after=1)
    commands.fake_providers.script(Script(pieces_of(REPLY), hold=hold), SOLUTION)
    running = commands.start(*command, "--concurrency", "2", "--requests-per-minute", "1", *PRICE)
    until(lambda: len(commands.fake_providers.requests) == 1)
    running.signal(signal.SIGINT)
    until(lambda: "calls in flight" in running.errors())
    hold.release()
    assert running.wait()[0] == 1
    assert len(commands.fake_providers.requests) == 1


async def test_the_end_of_a_workers_turn_does_not_end_a_wait_but_a_stop_does() -> None:
    stop = Stop()
    stop.request("the turn is over", final=False, cancels_waits=False)
    await stop.sleep(0.01)
    waiting = asyncio.create_task(stop.sleep(500))
    stop.request("interrupted")
    with pytest.raises(StopRequestedError):
        await waiting
    assert (stop.reason, stop.final) == ("the turn is over", False)
