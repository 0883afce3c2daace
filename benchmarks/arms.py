"""CPU time of 1,000 session chains of 5 generations, with their projection, beside the same calls with the bare SDK.

    python -m benchmarks.arms [--chains N] [--rounds N] [--profile FILE]

run_baseline executes `session-neutral` against a local fake of OpenAI that replies at once. All replies have the same
program, so the judge runs it once for each of four problems and all other verdicts are copied; benchmarks.judge
measures the judge. benchmarks.bare_calls sends the messages of the same chains, read from the rows of a run, with as
many calls in flight: typed, as the SDK documents it, and decoded as plain JSON. Rounds of all three alternate, because
a busy machine slows all of them. All figures are CPU time of the processes that send and store, without the server: for
the arm the difference between a long and a short run, so that the start of Python and the judge are left out. The exit
status is 1 if the ratio of the medians to the typed calls misses its target (docs/architecture.md).
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path
from typing import Any

from benchmarks import runner
from benchmarks.bare_calls import (
    IN_FLIGHT,
    Cost,
    alternate,
    bare,
    print_ratios,
    write_conversations,
)

GENERATIONS = 5
RATIO = 2.0
PROSE = "The cows stand in a row, so count them from the left. " * 39
REPLY = f"{PROSE}\n\n```python\na, b = map(int, input().split())\nprint(a - b)\n```\n"
PROBLEMS, SESSIONS = 4, 3
EPOCH = PROBLEMS * SESSIONS
"""Chains of one epoch."""

SHORT = 3
"""Epochs of the short run."""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--chains", type=int, default=1000, metavar="N")
    parser.add_argument("--rounds", type=int, default=5, metavar="N")
    parser.add_argument("--profile", metavar="FILE", help="write a profile of one run by cProfile")
    parser.add_argument("--serve", action="store_true", help="run only the fake OpenAI server")
    arguments = parser.parse_args()
    if arguments.serve:
        _reply_at_once()
        asyncio.run(runner.serve())
    with runner.fake_openai("benchmarks.arms") as (folder, address):
        return measure(folder, address, arguments)


def _reply_at_once() -> None:
    """Make the server of benchmarks.runner reply with REPLY and without a delay."""
    runner.DELAY = 0.0
    choice = {"index": 0, "delta": {"role": "assistant", "content": REPLY}, "finish_reason": None}
    runner.STREAMED = runner._answer(
        "text/event-stream",
        runner._chunk(choices=[choice])
        + runner._chunk(choices=[{"index": 0, "delta": {}, "finish_reason": "stop"}])
        + runner._chunk(choices=[], usage=runner.USAGE)
        + "data: [DONE]\n\n",
    )


def measure(folder: Path, address: str, arguments: argparse.Namespace) -> int:
    """Print the table; return 1 if the ratio misses its target."""
    runner.open_site(folder, address)
    from django.core.management import call_command

    from benchmark.models import Run
    from tutoring.models import Event, Session

    call_command("migrate", verbosity=0)
    add_problems()
    epochs = -(-arguments.chains // EPOCH)
    if arguments.profile:
        runner.timed(_command(SHORT + epochs, arguments.profile))
        return 0
    runner.timed(_command(SHORT))
    conversations = folder / "conversations.json"
    write_conversations(conversations, _messages(Run.objects.get()))
    calls = epochs * EPOCH * GENERATIONS
    measured = alternate(
        arguments.rounds,
        lambda: _arm(epochs),
        lambda: bare(address, conversations, calls, "typed"),
        lambda: bare(address, conversations, calls, "plain"),
    )
    run = Run.objects.filter(epochs=SHORT + epochs).latest("started_at")
    assert run.paid_calls == (SHORT + epochs) * EPOCH * GENERATIONS, run.paid_calls
    sessions = Session.objects.filter(work_item__run=run)
    assert sessions.count() == (SHORT + epochs) * EPOCH
    events = Event.objects.filter(session__in=sessions).count()
    found = print_ratios("arm with projection", *measured)
    print(
        f"target {RATIO:g} times the bare calls; {sessions.count():,} sessions with {events:,} events in a run"
    )
    return int(found > RATIO)


def _arm(epochs: int) -> Cost:
    """Return the cost of a generation of the arm, without the start and the end of the process."""
    short_wall, short_cpu = runner.timed(_command(SHORT))
    long_wall, long_cpu = runner.timed(_command(SHORT + epochs))
    generations = epochs * EPOCH * GENERATIONS
    return Cost((long_cpu - short_cpu) / generations * 1000, generations / (long_wall - short_wall))


def _messages(run: Any) -> Any:
    """Yield the messages of all calls of the run."""
    from benchmark.models import Generation

    return Generation.objects.filter(work_item__run=run).values_list("messages", flat=True)


def add_problems() -> None:
    """Create problems with a sample and a hidden test that the program of the replies fails."""
    from benchmark.models import Problem, TestCase, blobs

    runner.add_problems("cows", PROBLEMS)
    TestCase.objects.all().delete()
    given, answer = blobs.put(b"1 2\n"), blobs.put(b"3\n")
    TestCase.objects.bulk_create(
        TestCase(
            problem=problem, order=order, name=str(order), origin=origin, input_hash=given, answer_hash=answer
        )
        for problem in Problem.objects.all()
        for order, origin in enumerate(("sample", "hidden"))
    )


def _command(epochs: int, profile: str | None = None) -> list[str]:
    profiled = ["-m", "cProfile", "-o", profile] if profile else []
    return [
        sys.executable, *profiled, "manage.py", "run_baseline", "--json", "--dataset", "cows", "--model",
        "compatible:stub", "--method", "session-neutral", "--concurrency", str(IN_FLIGHT), "--attempts",
        str(SESSIONS), "--epochs", str(epochs),
    ]  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
