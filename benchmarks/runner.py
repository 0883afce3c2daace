"""Generations per second and their CPU time, by manage.py run_baseline and by inspect_ai.

    python -m benchmarks.runner [--inspect PYTHON] [--attempts N] [--rounds N]

Both call the same local fake of OpenAI, which replies after 50 ms with 2.1 kB, with 64 calls in flight. PYTHON is the
interpreter of an environment with inspect_ai and openai (default: INSPECT_PYTHON); without one its rows are left out.
run_baseline stores every reply durably; the replies hold no program, so nothing is judged. The bare calls are the same
calls with the SDK alone (benchmarks.bare_calls), in rounds that alternate. The last rows are a resume of a million
judged items and a dry run of 307 problems, as many as in the USACO benchmark, with the eight methods of the papers.
Targets: docs/architecture.md. The exit status is 1 if the CPU time, its ratio to the bare calls or a delay misses its
target; the rate has no target, because it depends on other load.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.bare_calls import (
    IN_FLIGHT,
    REPOSITORY,
    Cost,
    alternate,
    bare,
    median,
    print_ratios,
    write_conversations,
)

if TYPE_CHECKING:
    from benchmark.models import Run

DELAY = 0.050
PROBLEMS = 484
DRY_RUN_PROBLEMS = 307
STATEMENT = "There are cows on a road, and each of them has a number. " * 50
REPLY = "The cows stand in a row, so count them from the left. " * 39
VERDICT = {
    "verdict": "WA",
    "tests": [{"name": str(number), "verdict": "AC", "cpu": 0.02} for number in range(10)],
}
RATE, PROCESSOR_MS, RATIO = 600, 1.5, 1.4
RESUME_ITEMS, RESUME_SECONDS = 1_000_000, 3.0
DRY_RUN_SECONDS = 3.0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--inspect", default=os.environ.get("INSPECT_PYTHON"), metavar="PYTHON")
    parser.add_argument("--attempts", type=int, default=13, metavar="N", help="at each of the 484 problems")
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    parser.add_argument("--serve", action="store_true", help="run only the fake OpenAI server")
    arguments = parser.parse_args()
    if arguments.serve:
        asyncio.run(serve())
    with fake_openai("benchmarks.runner") as (folder, address):
        return measure(folder, address, arguments)


@contextmanager
def fake_openai(module: str) -> Iterator[tuple[Path, str]]:
    """Run `python -m MODULE --serve` until the block ends; yield a temporary folder and the address of the server."""
    command = [sys.executable, "-m", module, "--serve"]
    with (
        tempfile.TemporaryDirectory(prefix="hintbench-") as folder,
        subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as server,
    ):
        try:
            assert server.stdout is not None
            yield Path(folder), server.stdout.readline().strip()
        finally:
            server.terminate()


def measure(folder: Path, address: str, arguments: argparse.Namespace) -> int:
    """Print the table; return 1 if a target is missed."""
    open_site(folder, address)
    from benchmark.models import Generation

    fill()
    conversations = folder / "conversations.json"
    timed(baseline("--method", "zero-shot", "--set", "temperature=0"))
    write_conversations(conversations, Generation.objects.values_list("messages", flat=True))
    temperatures = count(1)

    def ours() -> Cost:
        # Another temperature each time, so that no reply comes from the cache.
        def run(attempts: int) -> tuple[float, float]:
            options = ("--attempts", str(attempts), "--concurrency", str(IN_FLIGHT))
            temperature = f"temperature={next(temperatures) / 1000}"
            return timed(baseline("--method", "zero-shot", *options, "--set", temperature))

        return slope(run, arguments.attempts)

    calls = PROBLEMS * (arguments.attempts - 1)
    costs, typed, plain = alternate(
        arguments.rounds,
        ours,
        lambda: bare(address, conversations, calls, "typed"),
        lambda: bare(address, conversations, calls, "plain"),
    )
    processor = median(costs).milliseconds
    found = print_ratios("run_baseline", costs, typed, plain)
    if arguments.inspect:
        theirs = slope(lambda attempts: inspect(arguments.inspect, folder, address, attempts), 4)
        print(f"{'inspect_ai':<24} {theirs.rate:13.0f} {theirs.milliseconds:11.2f}")
    else:
        print("inspect_ai is absent: give --inspect PYTHON or INSPECT_PYTHON")
    resumed = resume_seconds()
    print(f"resume of {RESUME_ITEMS:,} items: first call after {resumed:.2f} s")
    dry, dry_cpu = timed(baseline("--method", "all", "--dry-run", dataset="benchmark"))
    print(
        f"dry run of {DRY_RUN_PROBLEMS} problems, eight methods, with the start of Python: {dry:.2f} s, "
        f"CPU {dry_cpu:.2f} s"
    )
    print(
        f"targets: {RATE} generations/s, {PROCESSOR_MS} CPU ms, {RATIO} times the bare calls, {RESUME_SECONDS} s, "
        f"{DRY_RUN_SECONDS} s"
    )
    return int(found > RATIO or processor > PROCESSOR_MS or resumed > RESUME_SECONDS or dry > DRY_RUN_SECONDS)


def open_site(folder: Path, address: str) -> None:
    """Set up Django, here and for commands, with a new variable folder and this address as the compatible provider."""
    # Compiling our modules at each start would take a second, which users do not see.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ |= {
        "HINTBENCH_VAR": str(folder / "var"),
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "COMPATIBLE_BASE_URL": address,
        "COMPATIBLE_API_KEY": "none",
    }
    (folder / "var").mkdir()
    import django

    django.setup()


def slope(run: Callable[[int], tuple[float, float]], attempts: int) -> Cost:
    """Return the cost of a generation, without start and end of the process."""
    (short_wall, short_cpu), (long_wall, long_cpu) = run(1), run(attempts)
    more = PROBLEMS * (attempts - 1)
    return Cost((long_cpu - short_cpu) / more * 1000, more / (long_wall - short_wall))


def timed(command: list[str], *, status: int = 0, **environment: str) -> tuple[float, float]:
    """Return the wall and CPU seconds of a command and its children. Raises RuntimeError for another exit status."""
    start, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    result = subprocess.run(
        command, cwd=REPOSITORY, capture_output=True, text=True, env=os.environ | environment, check=False
    )
    if result.returncode != status:
        raise RuntimeError(result.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.monotonic() - start, sum(after[:2]) - sum(before[:2])


def baseline(*arguments: str, dataset: str = "cows") -> list[str]:
    command = [sys.executable, "manage.py", "run_baseline", "--json"]
    if "--resume" not in arguments:
        command += ["--dataset", dataset, "--model", "compatible:stub"]
    return [*command, *arguments]


def inspect(python: str, folder: Path, address: str, attempts: int) -> tuple[float, float]:
    """Measure the same with inspect_ai, without display and live log, with the simplest scorer."""
    script = folder / "inspect_task.py"
    script.write_text(
        textwrap.dedent(
            f"""
            from inspect_ai import Task, eval
            from inspect_ai.dataset import Sample
            from inspect_ai.model import GenerateConfig, get_model
            from inspect_ai.scorer import includes

            samples = [Sample(input={STATEMENT!r} + str(n), target="cows") for n in range({PROBLEMS * attempts})]
            model = get_model("openai/stub", base_url={address!r}, api_key="none", responses_api=False)
            config = GenerateConfig(max_connections={IN_FLIGHT})
            [log] = eval(Task(dataset=samples, scorer=includes(), config=config), model=model, display="none",
                         log_dir={str(folder / "logs")!r}, log_realtime=False, max_samples={IN_FLIGHT})
            assert log.status == "success", log.error
            """
        )
    )
    return timed([python, str(script)], INSPECT_EVAL_LOG_FILE_PATTERN="{id}")


def resume_seconds() -> float:
    """Return the seconds from the start of the command to its first call, in an almost finished run."""
    from django.db import transaction
    from django.utils import timezone

    from benchmark.models import Run, WorkItem

    run = Run.objects.order_by("started_at").last()
    assert run is not None
    chains = RESUME_ITEMS // PROBLEMS + 1
    have = run.attempts
    with transaction.atomic():
        add_judged_items(run, range(have, chains))
    left = run.items.filter(chain=have + 1)
    left.update(state=WorkItem.State.PENDING)
    Run.objects.filter(pk=run.pk).update(state=Run.State.STOPPED, attempts=chains)
    started = timezone.now()
    enough = str(PROBLEMS * have + 3)
    timed(baseline("--resume", str(run.pk), "--concurrency", "1", "--max-calls", enough), status=1)
    first = run.items.filter(chain=have + 1, generations__isnull=False).order_by("generations__id").first()
    assert first is not None
    stored = first.generations.get().created_at
    return (stored - started).total_seconds() - DELAY


def add_judged_items(run: Run, chains: range) -> None:
    """Store finished items of each problem with judgements; every second one is solved."""
    from benchmark.models import Judgement, Submission, WorkItem

    programs = Submission.objects.bulk_create(
        Submission(problem=problem, language="python", source="print(1)", source_hash="0" * 64)
        for problem in run.dataset.problems.all()
    )
    for chain in chains:
        judgements = Judgement.objects.bulk_create(
            Judgement(
                submission=program,
                suite=Judgement.TestScope.ALL,
                policy="fair",
                state=Judgement.State.DONE,
                verdict="WA" if number % 2 else "AC",
                result=VERDICT,
            )
            for number, program in enumerate(programs)
        )
        WorkItem.objects.bulk_create(
            WorkItem(
                run=run,
                problem_id=judgement.submission.problem_id,
                chain=chain,
                state=WorkItem.State.DONE,
                judgement=judgement,
            )
            for judgement in judgements
        )


def fill() -> None:
    """Create two datasets and a textbook of one article."""
    from django.core.management import call_command

    from benchmark.models import Article, Corpus
    from benchmark.models.corpora import SHIPPED

    call_command("migrate", verbosity=0)
    add_problems("cows", PROBLEMS)
    add_problems("benchmark", DRY_RUN_PROBLEMS)
    corpus = Corpus.objects.create(name=SHIPPED, format="markdown", content_hash="0" * 64)
    Article.objects.create(corpus=corpus, external_id="cows", order=0, title="Cows", text=STATEMENT)


def add_problems(name: str, count: int) -> None:
    """Create a dataset of problems without tests."""
    from benchmark.models import Dataset, Problem, TestCase

    dataset = Dataset.objects.create(name=name, format="usaco")
    problems = Problem.objects.bulk_create(
        Problem(
            dataset=dataset,
            external_id=f"cows-{number:03}",
            title=f"Cows {number}",
            tier=("bronze", "silver", "gold", "platinum")[number % 4],
            statement=f"Problem {number}. {STATEMENT}",
            statement_format="usaco",
            analysis=f"Count the cows, {number} times. " * 100,
            analysis_format="usaco",
            time_limit=2,
            memory_limit=2**28,
            checker={"kind": "tokens"},
            content_hash=f"{number:064}",
        )
        for number in range(count)
    )
    TestCase.objects.bulk_create(
        TestCase(
            problem=problem, order=0, name="1", origin="hidden", input_hash="0" * 64, answer_hash="0" * 64
        )
        for problem in problems
    )


async def serve() -> None:
    """Serve the minimal API that both clients accept as OpenAI, on a free port that it prints."""
    loop = asyncio.get_running_loop()

    class Connection(asyncio.Protocol):
        def connection_made(self, transport: Any) -> None:
            self.transport, self.received = transport, b""

        def data_received(self, data: bytes) -> None:
            self.received += data
            head, found, body = self.received.partition(b"\r\n\r\n")
            length = re.search(rb"content-length: *(\d+)", head.lower())
            if found and length and len(body) >= int(length[1]):
                self.received = b""
                streamed = b'"stream":true' in body.replace(b" ", b"")
                loop.call_later(DELAY, self.transport.write, STREAMED if streamed else WHOLE)

    server = await loop.create_server(Connection, "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await server.serve_forever()


def _answer(kind: str, body: str) -> bytes:
    return f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n{body}".encode()


def _document(**fields: Any) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "stub", **fields}


def _chunk(**fields: Any) -> str:
    return f"data: {json.dumps(_document(**fields))}\n\n"


USAGE = {"prompt_tokens": 700, "completion_tokens": 480, "total_tokens": 1180}
STREAMED = _answer(
    "text/event-stream",
    _chunk(choices=[{"index": 0, "delta": {"role": "assistant", "content": REPLY}, "finish_reason": None}])
    + _chunk(choices=[{"index": 0, "delta": {}, "finish_reason": "stop"}])
    + _chunk(choices=[], usage=USAGE)
    + "data: [DONE]\n\n",
)
MESSAGE = {"role": "assistant", "content": REPLY}
WHOLE = _answer(
    "application/json",
    json.dumps(_document(choices=[{"index": 0, "message": MESSAGE, "finish_reason": "stop"}], usage=USAGE)),
)

if __name__ == "__main__":
    sys.exit(main())
