"""From *Submit for judging* to the verdict on the page: real web server, queue server, worker and socket.

    python -m benchmarks.execution [EXECUTIONS]

A tutor submits programs on 20 trivial tests. Executions of three kinds take turns, each beside the bare processes of
the same program on the same tests: Python, C++ that was compiled before, and C++ that was not. Targets: at the median
100 ms more than the bare processes; for the first compilation 1.3 times g++ with the precompiled header and the bare
processes. Each time is divided into its parts: the command (until the job is in the queue), the queue (until a worker
has claimed it), compilation, runs, storage (until the verdict is committed), and the notification of the page. The exit
status is 1 if a target is missed, which is not significant on a busy machine.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import judge
from benchmarks.judge import on_host
from benchmarks.stopwatch import STEPS
from judge.compilation import compile_program
from judge.compilation.compiler import filled
from judge.compilation.precompiled_headers import precompiled_headers
from judge.languages import CPP
from judge.sandbox import open_sandbox
from tests.stack import Stack
from tests.tutoring.visitor import Visitor

if TYPE_CHECKING:
    from collections.abc import Iterator

TESTS = 20
TARGET = 0.1
COMPILE_TARGET = 1.3
LIMITS = judge.Limits(time=1, memory=2**28)
PYTHON = "print(2 * int(input()))\n"
CPP_SOURCE = """
#include <bits/stdc++.h>
using namespace std;

int main() {
    long n;  // NUMBER
    cin >> n;
    cout << 2 * n << endl;
    return 0;
}
"""
PARTS = ("command", "queue", "compile", "run", "store", "notify")


@dataclass
class Kind:
    """One kind of execution: its program, and the seconds of its executions, of their parts and of bare processes."""

    name: str
    language: str
    source: str
    times: list[float] = field(default_factory=list)
    parts: list[dict[str, float]] = field(default_factory=list)
    bare: list[float] = field(default_factory=list)

    def program(self, number: int) -> str:
        return self.source.replace("NUMBER", str(number))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("executions", nargs="?", type=int, default=15)
    count = parser.parse_args().executions
    kinds = [
        Kind("Python", "python", PYTHON),
        Kind("C++, compiled before", "cpp", CPP_SOURCE.replace("NUMBER", "0")),
        Kind("C++, compiled first", "cpp", CPP_SOURCE),
    ]
    with tempfile.TemporaryDirectory(prefix="hintbench-") as folder, running_stack(Path(folder)) as stack:
        paths = prepare_sessions(stack, kinds, count + 1)
        tutor = Visitor(stack, "ann", "ann")
        with bare_commands(Path(folder), kinds) as commands:
            for number in range(count + 1):
                for kind in random.sample(kinds, len(kinds)):
                    measure(stack, tutor, paths[kind.name][number], kind)
                    kind.bare.append(bare(commands[kind.name], number))
    print(f"{TESTS} tests; load {os.getloadavg()[0]:.1f}; medians of {count} executions in ms")
    print(f"{'':<24}{'execution':>10}{'bare':>8}" + "".join(f"{part:>9}" for part in PARTS))
    met = True
    for kind in kinds:
        total, floor = statistics.median(kind.times[1:]), statistics.median(kind.bare[1:])
        parts = [statistics.median(one[part] for one in kind.parts[1:]) for part in PARTS]
        figures = "".join(f"{part * 1e3:9.1f}" for part in parts)
        print(f"{kind.name:<24}{total * 1e3:10.1f}{floor * 1e3:8.1f}{figures}")
        if kind.name.endswith("first"):
            met &= total <= COMPILE_TARGET * floor
            print(f"    {total / floor:.2f} times g++ with the precompiled header; target {COMPILE_TARGET}")
        else:
            met &= total - floor <= TARGET
            print(
                f"    {(total - floor) * 1e3:.0f} ms more than the bare processes; target {TARGET * 1e3:.0f} ms"
            )
    return int(not met)


@contextlib.contextmanager
def running_stack(folder: Path) -> Iterator[Stack]:
    stack = Stack(
        folder / "var",
        DJANGO_SETTINGS_MODULE="benchmarks.stopwatch",
        STOPWATCH=str(folder / "steps"),
        LOG_LEVEL="WARNING",
        WORKERS="2",
    )
    try:
        yield stack.wait_until_ready()
    finally:
        stack.stop()


def prepare_sessions(stack: Stack, kinds: list[Kind], count: int) -> dict[str, list[str]]:
    """Store sessions whose latest program can be executed; return their paths by kind. The last one warms up."""
    programs = {
        kind.name: [kind.language, [kind.program(number) for number in range(1, count + 1)]] for kind in kinds
    }
    streamer = stack.pid_of("streamer")
    os.kill(streamer, signal.SIGSTOP)  # it would claim the replies
    try:
        code = f"from benchmarks.execution import store_sessions; store_sessions({programs!r})"
        printed = stack.manage("shell", "-v", "0", "-c", code).stdout
    finally:
        os.kill(streamer, signal.SIGCONT)
    paths: dict[str, list[str]] = json.loads(printed.splitlines()[-1])
    return paths


def store_sessions(programs: dict[str, tuple[str, list[str]]]) -> None:
    """Store a tutor with a session for each program, and print the paths by kind as JSON. Call it in the stack."""
    from django.contrib.auth.models import Group, User

    from benchmark.models import Problem, TestCase, blobs
    from tests.problems import store_doubling
    from tests.tutoring.dialogues import SessionUnderTest, start
    from tutoring.protocols import PRESETS, freeze

    ann = User.objects.create_user("ann", password="ann")
    ann.groups.add(Group.objects.get(name="tutor"))
    now = {"consent": "", "characters_per_second": None, "seconds_to_first_word": None}
    protocols = {
        language: freeze(f"bench-{language}", PRESETS["usaco-2024"].with_settings(language=language, **now))
        for language, _ in programs.values()
    }
    problem = store_doubling("benchmark")
    TestCase.objects.filter(problem=problem).delete()
    paths: dict[str, list[str]] = {}
    number = 0
    for name, (language, sources) in programs.items():
        for source in sources:
            problem = Problem.objects.get(pk=problem.pk)
            problem.pk, problem.external_id = None, f"doubling-{number}"
            problem.save()
            number += 1
            for order in range(TESTS):
                given, answer = (blobs.put(f"{value}\n".encode()) for value in (order, 2 * order))
                TestCase.objects.create(
                    problem=problem,
                    order=order,
                    name=f"hidden-{order}",
                    origin=TestCase.Origin.HIDDEN,
                    input_hash=given,
                    answer_hash=answer,
                )
            session = SessionUnderTest(start(ann, problem, protocols[language]), ann)
            session.ask_and_get(f"```{language}\n{source}```\n")
            paths.setdefault(name, []).append(f"/sessions/{session.pk}/")
    print(json.dumps(paths))


def measure(stack: Stack, tutor: Visitor, path: str, kind: Kind) -> None:
    """Execute the program of a session and wait until its page has the verdict."""
    socket = tutor.socket(path)
    socket.listen_until(lambda s: bool(s.status))
    begun = time.monotonic()
    answer = tutor.command(path + "execute/")
    assert answer[0] == 200, answer
    socket.listen_until(lambda s: "verdict" in s.kinds())
    socket.drop()
    shown = next(
        at
        for at, message in socket.messages
        if any(event["kind"] == "verdict" for event in message.get("events", ()))
    )
    assert "verdict" in str(socket.events)
    marks = [begun]
    steps = [line.split() for line in Path(stack.environment["STOPWATCH"]).read_text().splitlines()]
    for step in STEPS:
        marks.append(min(float(at) for name, at in steps if name == step and float(at) > marks[-1]))
    marks.append(shown)
    kind.times.append(shown - begun)
    differences = (after - before for before, after in pairwise(marks))
    kind.parts.append(dict(zip(PARTS, differences, strict=True)))


@contextlib.contextmanager
def bare_commands(folder: Path, kinds: list[Kind]) -> Iterator[dict[str, list[list[str]]]]:
    """Yield, for each kind, the commands without a sandbox: the compiler's if it is measured, and the program's."""
    commands: dict[str, list[list[str]]] = {}
    stack = contextlib.ExitStack()
    for kind in kinds:
        place = folder / kind.language / kind.name.replace(" ", "-")
        place.mkdir(parents=True)
        language = judge.get_language(kind.language)
        made = compile_program(open_sandbox(), language, kind.program(0), LIMITS)
        assert made.program is not None, made.output
        commands[kind.name] = [stack.enter_context(on_host(made.program))]
        if kind.name.endswith("first"):
            source = place / "main.cpp"
            headers = precompiled_headers(open_sandbox(), CPP, [(source.name, kind.program(0).encode())])
            first, *others = filled(CPP, CPP.compile, (source.name,), str(place / "made"))[:-1]
            commands[kind.name].insert(0, [first, "-I", str(headers), *others, str(source)])
    with stack:
        yield commands


def bare(commands: list[list[str]], number: int) -> float:
    """Return the seconds of the bare commands: a compiler's once, a program's for each test."""
    *compilers, program = commands
    if compilers:
        Path(compilers[0][-1]).write_text(CPP_SOURCE.replace("NUMBER", f"bare {number}"))
    start = time.monotonic()
    for command in compilers:
        subprocess.run(command, check=True)
    for test in range(TESTS):
        subprocess.run(program, input=f"{test}\n".encode(), check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - start


if __name__ == "__main__":
    sys.exit(main())
