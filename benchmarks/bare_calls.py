"""CPU time of model calls with the bare OpenAI SDK, the floor of benchmarks.arms and benchmarks.runner.

    python -m benchmarks.bare_calls ADDRESS CONVERSATIONS CALLS plain|typed

A conversation is a list of messages; the script sends CALLS of them, streamed, with IN_FLIGHT calls in flight, and
prints the CPU seconds of its process as JSON. `typed` is the call that the SDK documents
(`chat.completions.create(stream=True)`): the bare SDK call, to which the targets refer. `plain` is the cheapest way
through the SDK, which run_baseline uses too: the SDK sends the request, and the events are decoded as plain JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, cycle, islice
from pathlib import Path
from typing import Any, NamedTuple

REPOSITORY = Path(__file__).resolve().parent.parent
IN_FLIGHT = 64
WARM_UP = 2 * IN_FLIGHT
MODEL = "stub"


class Cost(NamedTuple):
    """CPU milliseconds of each call, and calls per second."""

    milliseconds: float
    rate: float


class Ratio(NamedTuple):
    """The ratio of two medians, with the lowest and the highest ratio of a round."""

    median: float
    lowest: float
    highest: float

    def __str__(self) -> str:
        return f"{self.median:.2f} (rounds: {self.lowest:.2f} to {self.highest:.2f})"


def ratio(costs: Sequence[Cost], floors: Sequence[Cost]) -> Ratio:
    """Return the ratio of the CPU times of alternating rounds."""
    each = [cost.milliseconds / floor.milliseconds for cost, floor in zip(costs, floors, strict=True)]
    return Ratio(median(costs).milliseconds / median(floors).milliseconds, min(each), max(each))


def print_ratios(name: str, costs: Sequence[Cost], typed: Sequence[Cost], plain: Sequence[Cost]) -> float:
    """Print costs of alternating rounds beside both kinds of bare calls. Return the ratio to the typed calls."""
    print(f"{'':<24} {'generations/s':>13} {'CPU ms each':>11}  ratio to it")
    print(_row(name, costs))
    for floor, its in (("bare calls of the SDK", typed), ("decoded as plain JSON", plain)):
        print(f"{_row(floor, its)}  {ratio(costs, its)}")
    return ratio(costs, typed).median


def _row(name: str, costs: Sequence[Cost]) -> str:
    return f"{name:<24} {median(costs).rate:13.0f} {median(costs).milliseconds:11.2f}"


def median(costs: Sequence[Cost]) -> Cost:
    """Return the medians of CPU time and rate."""
    return Cost(*(statistics.median(column) for column in zip(*costs, strict=True)))


def alternate(rounds: int, *measures: Callable[[], Cost]) -> list[list[Cost]]:
    """Return the costs of each measure; every round takes all of them in turn."""
    taken = [[measure() for measure in measures] for _ in range(rounds)]
    return [list(column) for column in zip(*taken, strict=True)]


def bare(address: str, conversations: Path, calls: int, way: str) -> Cost:
    """Return the cost of that many calls, `plain` or `typed`, in a process of their own."""
    command = [sys.executable, "-m", "benchmarks.bare_calls", address, str(conversations), str(calls), way]
    printed = subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True, text=True).stdout
    return Cost(**json.loads(printed))


def write_conversations(path: Path, rows: Iterable[list[dict[str, Any]]]) -> None:
    """Write the messages of calls for `bare`."""
    path.write_text(json.dumps([*rows]))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("address")
    parser.add_argument("conversations", type=Path)
    parser.add_argument("calls", type=int)
    parser.add_argument("way", choices=("plain", "typed"))
    arguments = parser.parse_args()
    conversations = json.loads(arguments.conversations.read_text())
    cost = asyncio.run(measure(arguments.address, conversations, arguments.calls, arguments.way))
    print(json.dumps(cost._asdict()))


async def measure(address: str, conversations: Sequence[list[Any]], calls: int, way: str) -> Cost:
    """Return the cost of the calls after WARM_UP others, which open the connections."""
    import openai

    client = openai.AsyncOpenAI(
        base_url=address, api_key="none", http_client=openai.DefaultAioHttpClient(), max_retries=0
    )
    call = _typed(client) if way == "typed" else _plain(client, f"{address}/chat/completions")

    async def send(messages: Iterable[list[Any]]) -> None:
        async def slot() -> None:
            for one in messages:
                await call(one)

        async with asyncio.TaskGroup() as slots:
            for _ in range(IN_FLIGHT):
                slots.create_task(slot())

    await send(islice(cycle(conversations), WARM_UP))
    start, before = time.monotonic(), time.process_time()
    await send(islice(cycle(conversations), calls))
    wall, processor = time.monotonic() - start, time.process_time() - before
    await client.close()
    return Cost(processor / calls * 1000, calls / wall)


_REQUEST: dict[str, Any] = {"model": MODEL, "stream": True, "stream_options": {"include_usage": True}}


def _plain(client: Any, url: str) -> Callable[[list[Any]], Any]:
    import httpx2

    async def call(messages: list[Any]) -> str:
        response = await client.post(
            url, cast_to=httpx2.Response, body=_REQUEST | {"messages": messages}, stream=True
        )
        body = b"".join([piece async for piece in response.aiter_bytes()])
        await response.aclose()
        lines = (line.removeprefix(b"data: ") for line in body.splitlines() if line.startswith(b"data: {"))
        choices = chain.from_iterable(json.loads(line)["choices"] for line in lines)
        return "".join(choice["delta"].get("content") or "" for choice in choices)

    return call


def _typed(client: Any) -> Callable[[list[Any]], Any]:
    async def call(messages: list[Any]) -> str:
        stream = await client.chat.completions.create(messages=messages, **_REQUEST)
        choices = [choice async for chunk in stream for choice in chunk.choices]
        return "".join(choice.delta.content or "" for choice in choices)

    return call


if __name__ == "__main__":
    main()
