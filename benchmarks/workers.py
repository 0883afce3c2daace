"""Throughput with one and two workers, and a model of 10, 100 and 1 000 workers.

    python -m benchmarks.workers [--rounds N]

Real workers, queue server and PostgreSQL judge stored programs. Rounds with one and with two workers take turns.
Target: on two cores, two workers judge submissions of ten tests of 50 ms CPU or more 1.8 times as fast as one; those
of four tests are reported as well. Throughput is that of a full queue: it is measured from the end of the first
submission to the end after which a worker has no more work. Bare processes of the same program, one and two at a
time, show in the same rounds what the machine allows. The processor time of queue server and database for a
submission, and for an idle worker, is measured in the same rounds. The model multiplies it by the number of workers,
each of which judges submissions of ten tests of 50 ms on a core of its own, and names the limit that is reached
first. The exit status is 1 if the target is missed, which is not significant on a busy machine.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.postgres import Postgres, installed_programs
from tests.stack import REPOSITORY, Stack

if TYPE_CHECKING:
    from collections.abc import Iterator

TARGET = 1.8
BUSY_TESTS = 240
"""Tests of 60 ms that are judged in a round, in submissions of MODEL_TESTS or FEW_TESTS."""

IDLE = 10.0
LOOK = 0.5
MODEL_TESTS, MODEL_TEST = 10, 0.05
FEW_TESTS = 4
SIZES = (10, 100, 1000)
BUSY = """
#include <cstdio>
int main() {
    long n;
    scanf("%ld", &n);
    volatile unsigned x = 1;
    for (int i = 0; i < 110000000; i++) x = x * 3 + 1;
    printf("%ld\\n", 2 * n);
    return 0;
}
"""
BARE = "bare processes"


@dataclass(frozen=True)
class Kind:
    """Submissions of a program, the number of their tests, and how many are judged in a round."""

    name: str
    source: str
    tests: int
    submissions: int


MODEL = Kind("ten tests a submission", BUSY, MODEL_TESTS, BUSY_TESTS // MODEL_TESTS)
FEW = Kind("four tests a submission", BUSY, FEW_TESTS, BUSY_TESTS // FEW_TESTS)
TRIVIAL = Kind("four trivial tests", BUSY.replace("110000000", "6"), FEW_TESTS, 150)
KINDS = (MODEL, FEW, TRIVIAL)


@dataclass(frozen=True)
class Cost:
    """Processor seconds of the queue server and of the database."""

    queue: float
    database: float

    def __sub__(self, other: Cost) -> Cost:
        return Cost(self.queue - other.queue, self.database - other.database)

    def __truediv__(self, number: float) -> Cost:
        return Cost(self.queue / number, self.database / number)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    programs = installed_programs()
    if programs is None:
        sys.exit("PostgreSQL is not installed: apt-get install postgresql")
    server = Postgres(programs)
    try:
        with tempfile.TemporaryDirectory(prefix="hintbench-") as folder:
            url = server.new_database("template1")
            stack = Stack(Path(folder) / "var", DATABASE_URL=url, WORKERS="1", LOG_LEVEL="WARNING")
            try:
                stack.wait_until_ready()
                return report(stack, server, rounds)
            finally:
                stack.stop()
    finally:
        server.stop()


def report(stack: Stack, server: Postgres, rounds: int) -> int:
    """Measure and print; return the exit status."""
    in_stack(stack, "store_problems()")
    bare_program = compiled(stack.environment["HINTBENCH_VAR"])
    speeds: dict[tuple[str, int], list[float]] = {}
    costs: list[Cost] = []
    for _ in range(rounds + 1):  # the first one warms up
        for workers in (1, 2):
            speeds.setdefault((BARE, workers), []).append(BUSY_TESTS / bare(bare_program, workers))
            with another_worker(stack) if workers == 2 else contextlib.nullcontext():
                for kind in KINDS:
                    before = cost(stack, server)
                    count = kind.submissions
                    call = f"judged_per_second({kind.source!r}, {kind.tests}, {count}, {workers})"
                    speeds.setdefault((kind.name, workers), []).append(kind.tests * in_stack(stack, call))
                    if kind is TRIVIAL and workers == 1:
                        costs.append((cost(stack, server) - before) / count)
    met = True
    print(f"load {os.getloadavg()[0]:.1f}; medians of {rounds} rounds")
    for name in (BARE, *(kind.name for kind in KINDS)):
        one, two = (statistics.median(speeds[name, workers][1:]) for workers in (1, 2))
        met &= name != MODEL.name or two >= TARGET * one
        target = f"target {TARGET}" if name == MODEL.name else "no target"
        print(
            f"{name:<27} tests/s: {one:7.2f} with 1 worker, {two:7.2f} with 2: {two / one:.2f} times, {target}"
        )
    before = cost(stack, server)
    time.sleep(IDLE)
    idle = (cost(stack, server) - before) / IDLE
    size = in_stack(stack, "bytes_of_a_judgement()")
    each = Cost(
        statistics.median(one.queue for one in costs[1:]),
        statistics.median(one.database for one in costs[1:]),
    )
    print_model(each, idle, size)
    return int(not met)


def print_model(each: Cost, idle: Cost, size: float) -> None:
    """Print the load that workers of the model cause, from the costs of a submission and of an idle worker."""
    rate = 1 / (MODEL_TESTS * MODEL_TEST)
    queue, database = each.queue * rate + idle.queue, each.database * rate + idle.database
    print(
        f"\na submission: queue server {each.queue * 1e3:.2f} ms, database {each.database * 1e3:.2f} ms of CPU, ",
        end="",
    )
    print(f"{size:.0f} bytes stored")
    print(f"an idle worker: queue server {idle.queue:.2%}, database {idle.database:.2%} of a core")
    print(f"\n{'workers':>8}{'submissions/s':>15}{'queue server':>14}{'database':>12}{'stored':>12}")
    for number in SIZES:
        print(
            f"{number:>8}{number * rate:>15.0f}{number * queue:>9.2f} core{number * database:>7.2f} core"
            f"{number * rate * size / 1e6:>7.2f} MB/s"
        )
    print(f"\nthe queue server has one thread: full at {1 / queue:.0f} workers")
    print(f"the database fills one core at {1 / database:.0f} workers, eight at {8 / database:.0f}")


def compiled(folder: str) -> Path:
    """Return the busy program, compiled on the host."""
    compiler = shutil.which("g++")
    assert compiler is not None
    source, program = Path(folder) / "busy.cpp", Path(folder) / "busy"
    source.write_text(BUSY)
    subprocess.run([compiler, "-O2", "-o", str(program), str(source)], check=True)
    return program


def bare(program: Path, at_once: int) -> float:
    """Return the seconds that BUSY_TESTS tests take as bare processes, this number at once."""

    def test(_number: int) -> None:
        subprocess.run([str(program)], input=b"1\n", stdout=subprocess.DEVNULL, check=True)

    start = time.monotonic()
    with ThreadPoolExecutor(at_once) as pool:
        list(pool.map(test, range(BUSY_TESTS)))
    return time.monotonic() - start


def cost(stack: Stack, server: Postgres) -> Cost:
    """Return the processor seconds that queue server and database have used until now."""
    main_process = int((server.folder / "data" / "postmaster.pid").read_text().split()[0])
    ticks = sum(map(int, _fields(main_process)[11:15]))  # with the processes of closed connections
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            fields = _fields(int(process.name))
            if int(fields[1]) == main_process:
                ticks += sum(map(int, fields[11:13]))
    queue = sum(map(int, _fields(stack.pid_of("valkey"))[11:13]))
    tick = os.sysconf("SC_CLK_TCK")
    return Cost(queue / tick, ticks / tick)


def _fields(process: int) -> list[str]:
    """Return the fields of /proc/PID/stat after the name: the state, the parent …"""
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()


@contextlib.contextmanager
def another_worker(stack: Stack) -> Iterator[None]:
    """Run a second worker, which is registered when the block begins."""
    command = [sys.executable, "manage.py", "worker"]
    worker = subprocess.Popen(command, cwd=REPOSITORY, env=stack.environment)
    try:
        stack.wait_for(lambda: in_stack(stack, "workers()") == 2)
        yield
    finally:
        worker.terminate()
        worker.wait()


def in_stack(stack: Stack, call: str) -> float:
    """Call a function of this module with the stack's database; return the number that it returns."""
    code = f"import json; from benchmarks.workers import *; print(json.dumps({call}))"
    printed = stack.manage("shell", "-v", "0", "--no-imports", "-c", code).stdout
    number: float = json.loads(printed.splitlines()[-1])
    return number


# ---- in the stack ----


def store_problems() -> int:
    """Store a problem for each number of tests, in a dataset named after it; return 0."""
    from benchmark.models import TestCase
    from tests.problems import add_doubling_tests, store_doubling

    for tests in {kind.tests for kind in KINDS}:
        problem = store_doubling(str(tests))
        TestCase.objects.filter(problem=problem).delete()
        add_doubling_tests(problem, *range(tests - 1))
    return 0


def judged_per_second(source: str, tests: int, count: int, workers: int) -> float:
    """Request this number of judgements at once; return how many a second these workers judge while all have work.

    The polls are rare and the times are those of the rows, because a poll takes processor time from the workers.
    """
    from benchmark.judging import EXECUTIONS, enqueue, request_judgement, store_submission
    from benchmark.models import Judgement, Problem

    problem = Problem.objects.get(dataset__name=str(tests))
    submission = store_submission(problem, source, "cpp")
    rows = [request_judgement(submission) for _ in range(count)]
    for row in rows:
        enqueue(row, EXECUTIONS)
    mine = Judgement.objects.filter(pk__in=[row.pk for row in rows])
    while mine.filter(state__in=(Judgement.State.QUEUED, Judgement.State.RUNNING)).exists():
        time.sleep(LOOK)
    assert mine.filter(verdict="AC").count() == count, mine.exclude(verdict="AC").first()
    ends = sorted(row.finished_at.timestamp() for row in mine if row.finished_at)
    first, *while_all_work = ends[: count - workers + 1]
    return len(while_all_work) / (while_all_work[-1] - first)


def workers() -> int:
    """Return the number of registered workers."""
    from benchmark.judging.fair_share import living_workers

    return living_workers()


def bytes_of_a_judgement() -> float:
    """Return the bytes of the table and its indexes for each judgement."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_total_relation_size('benchmark_judgement') / count(*)::float FROM benchmark_judgement"
        )
        return float(cursor.fetchone()[0])


if __name__ == "__main__":
    sys.exit(main())
