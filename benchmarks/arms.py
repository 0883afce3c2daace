"""CPU time of 1,000 session chains of 5 generations, with their projection, beside the bare calls with the same SDK.

    python -m benchmarks.arms [--chains N] [--profile FILE]

run_baseline executes `session-neutral` against a local fake of OpenAI that replies at once. All replies have the same
program, so the judge runs it once for each of four problems and all other verdicts are copied; benchmarks.judge
measures the judge. The bare calls send the messages of the same chains, read from the rows of the run, with the same
number of calls in flight. The arm's figures are slopes between a short and a long run, without the start of Python.
The exit status is 1 if the ratio misses its target (docs/architecture.md).
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from benchmarks import runner

GENERATIONS = 5
IN_FLIGHT = 64
RATIO = 2.0
PROSE = "The cows stand in a row, so count them from the left. " * 39
REPLY = f"{PROSE}\n\n```python\na, b = map(int, input().split())\nprint(a - b)\n```\n"
PROBLEMS, SESSIONS = 4, 3


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--chains", type=int, default=1000, metavar="N")
    parser.add_argument("--profile", metavar="FILE", help="write a profile of the long run by cProfile")
    parser.add_argument("--serve", action="store_true", help="run only the fake OpenAI server")
    arguments = parser.parse_args()
    if arguments.serve:
        _reply_at_once()
        asyncio.run(runner.serve())
    command = [sys.executable, "-m", "benchmarks.arms", "--serve"]
    with (
        tempfile.TemporaryDirectory(prefix="hintbench-arms-") as folder,
        subprocess.Popen(command, cwd=runner.REPOSITORY, stdout=subprocess.PIPE, text=True) as server,
    ):
        try:
            assert server.stdout is not None
            return measure(Path(folder), server.stdout.readline().strip(), arguments)
        finally:
            server.terminate()


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
    _add_problems()
    each = PROBLEMS * SESSIONS
    epochs = -(-arguments.chains // each)
    short_wall, short_cpu = runner.timed(_command(3))
    long_wall, long_cpu = runner.timed(_command(3 + epochs, arguments.profile))
    generations, long = epochs * each * GENERATIONS, (3 + epochs) * each
    processor = (long_cpu - short_cpu) / generations * 1000
    run = Run.objects.get(epochs=3 + epochs)
    assert run.paid_calls == long * GENERATIONS, run.paid_calls
    sessions = Session.objects.filter(work_item__run=run)
    assert sessions.count() == long
    events = Event.objects.filter(session__in=sessions).count()
    rate, floor = asyncio.run(calls_alone(run, epochs * each))
    print(f"{'':<24} {'generations/s':>13} {'CPU ms each':>11}")
    print(f"{'arm with projection':<24} {generations / (long_wall - short_wall):13.0f} {processor:11.2f}")
    print(f"{'calls alone':<24} {rate:13.0f} {floor:11.2f}")
    print(
        f"ratio {processor / floor:.2f}, target {RATIO:g}; {sessions.count():,} sessions with {events:,} events"
    )
    return int(processor > RATIO * floor)


def _add_problems() -> None:
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


async def calls_alone(run: Any, chains: int) -> tuple[float, float]:
    """Return calls a second and CPU ms of each, for the messages of the run's first chains."""
    from benchmark.models import Generation
    from benchmark.providers import Message, Parameters, complete, open_provider, parse_model_spec

    stored: dict[int, list[list[Message]]] = defaultdict(list)
    rows = Generation.objects.filter(work_item__run=run).order_by("work_item", "step")
    async for item, messages in rows.values_list("work_item", "messages"):
        stored[item].append([Message(one["role"], one["content"]) for one in messages])
    left = iter(list(stored.values())[:chains])
    provider = open_provider(parse_model_spec("compatible:stub"))

    async def slot() -> None:
        for chain in left:
            for messages in chain:
                await complete(provider, "stub", messages, Parameters())

    start, before = time.monotonic(), time.process_time()
    async with asyncio.TaskGroup() as slots:
        for _ in range(IN_FLIGHT):
            slots.create_task(slot())
    wall, processor = time.monotonic() - start, time.process_time() - before
    await provider.aclose()
    calls = chains * GENERATIONS
    return calls / wall, processor / calls * 1000


if __name__ == "__main__":
    sys.exit(main())
