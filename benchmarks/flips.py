"""Verdict flips beside busy processes (`python -m benchmarks.judge --load N`).

A flip is a verdict that the program's label does not allow. The corpora are the labelled submissions of the practice
problems and of the packages in the given folders, the fidelity corpus and the hostile corpus of `tests/judge`, and
named programs whose verdicts used to depend on load.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import judge
from judge.records import MEBIBYTE
from judge.verification import find_packages, plan, verify
from tests.judge.corpus import Program, programs

T = TypeVar("T")

PARTS = ("named", "labels", "fidelity", "hostile")
REPEATS = 20
"""Judgements of each named program; this part has one run."""

JOBS = 8
"""Judgements at the same time. Beside busy processes, each has a small share of a CPU, and several programs sleep."""

PROGRESS = 15.0
"""Seconds between two lines of progress."""

PRACTICE_PROBLEMS = Path(__file__).parent.parent / "benchmark" / "practice_problems"
INPUT, ANSWER = "5\n3 1 4 1 5\n", "14\n"
BOMBS = judge.Limits(time=0.2, memory=48 * MEBIBYTE, output=MEBIBYTE)
SHORT_COMPILE_TIME = 2.0
"""CPU seconds for compilers of hostile sources, most of which use them up."""


@dataclass(frozen=True)
class Judged:
    """A judged program: its name, the allowed verdicts, the given verdict with its reason, and real seconds."""

    name: str
    allowed: frozenset[str]
    verdict: str
    reason: str
    seconds: float

    @property
    def flipped(self) -> bool:
        """Whether the label does not allow the verdict."""
        return self.verdict not in self.allowed


@dataclass(frozen=True)
class Case:
    """A program of a corpus with its limits, its number of equal tests, and the CPU seconds of its compiler."""

    program: Program
    limits: judge.Limits
    tests: int = 1
    fork_server: bool = False
    compile_time: float = judge.GradingOptions.compile_time


class Progress:
    """The number of judged programs of one run, printed to standard error from time to time."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._start = self._printed = time.monotonic()
        self._count = 0
        self._changing = threading.Lock()

    def advance(self) -> None:
        """Count one more judged program."""
        with self._changing:
            self._count += 1
            now = time.monotonic()
            if now - self._printed < PROGRESS:
                return
            self._printed = now
        print(
            f"{self._title}: {self._count} judged after {now - self._start:.0f} s",
            file=sys.stderr,
            flush=True,
        )


@dataclass(frozen=True)
class Share:
    """One of `parts` equal shares of a corpus; `number` counts from 1."""

    number: int
    parts: int

    @classmethod
    def parse(cls, text: str) -> Share:
        """Return the share that a text such as "2/3" names. Raises ValueError."""
        number, parts = map(int, text.split("/"))
        if not 1 <= number <= parts:
            raise ValueError(f"{text} is not a share")
        return cls(number, parts)

    def of(self, corpus: Iterable[T]) -> list[T]:
        """Return every `parts`-th element."""
        return list(corpus)[self.number - 1 :: self.parts]


def measure(parts: Sequence[str], rounds: int, packages: Sequence[Path], share: Share) -> int:
    """Print the flips of each part in each round, and the progress to standard error. Return the number of flips."""
    total = 0
    for part in parts:
        for number in range(1, (1 if part == "named" else rounds) + 1):
            start = time.monotonic()
            progress = Progress(f"{part}, run {number}")
            if part == "labels":
                judged = _labels(packages, progress, share)
            else:
                judged = _graded(share.of(_CASES[part]()), progress)
            flips = [one for one in judged if one.flipped]
            total += len(flips)
            seconds = time.monotonic() - start
            print(
                f"{part}, run {number}: {len(flips)} flips of {len(judged)} ({seconds:.0f} s, "
                f"the longest {max((one.seconds for one in judged), default=0):.1f} s)",
                flush=True,
            )
            for one in flips:
                print(
                    f"  {one.name}: {one.verdict}, allowed {'|'.join(sorted(one.allowed))}, "
                    f"after {one.seconds:.1f} s: {one.reason}",
                    flush=True,
                )
    print(f"{total} flips", flush=True)
    return total


def _labels(packages: Sequence[Path], progress: Progress, share: Share) -> list[Judged]:
    works, _ = plan(share.of(find_packages([PRACTICE_PROBLEMS, *packages])), [], "python")
    results = verify(works, JOBS, lambda _: progress.advance()).results
    return [
        Judged(
            f"{one.package}/{one.submission.name}",
            frozenset(one.verdict if one.agree else verdict for verdict in one.submission.expected),
            one.verdict,
            one.broken_rule or one.reason,
            0.0,
        )
        for one in results
    ]


def _graded(cases: Iterable[Case], progress: Progress) -> list[Judged]:
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(JOBS) as pool:
        folder = Path(name)
        (folder / "1.in").write_text(INPUT)
        (folder / "1.ans").write_text(ANSWER)
        test = judge.Test("1", folder / "1.in", folder / "1.ans")
        return list(pool.map(lambda case: _judged(case, test, progress), cases))


def _judged(case: Case, test: judge.Test, progress: Progress) -> Judged:
    program = case.program
    start = time.monotonic()
    judgement = judge.grade(
        judge.Submission(program.source, program.language),
        judge.Problem([test] * case.tests, case.limits, judge.Checker()),
        judge.GradingOptions(
            policy=judge.Policy.COMPAT,
            fork_server=case.fork_server,
            compile_time=case.compile_time,
        ),
    )
    progress.advance()
    reason = judgement.tests[-1].message if judgement.tests else judgement.compiler_output[:200]
    return Judged(
        f"{program}{', forked' if case.fork_server else ''}",
        frozenset(program.verdicts),
        judgement.verdict,
        " ".join(reason.split()),
        time.monotonic() - start,
    )


# ---- corpora ----


def _fidelity() -> Iterator[Case]:
    for file in ("idioms.txt", "faults.txt"):
        for program in _available(file):
            yield from _both_starts(Case(program, program.limits))


def _hostile() -> Iterator[Case]:
    for program in _available("attacks.txt"):
        yield from _both_starts(Case(program, program.limits))
    for program in _available("traces.txt"):
        yield from _both_starts(Case(program, program.limits, tests=3))
    for program in _available("bombs.txt"):
        yield Case(program, BOMBS)
    for program in _available("sources.txt"):
        yield Case(program, program.limits, compile_time=SHORT_COMPILE_TIME)


def _named() -> Iterator[Case]:
    # CPU times of programs that use much memory double beside busy processes: only the limit to exceed is tight.
    two, four, eight = (judge.Limits(time=seconds, memory=512 * MEBIBYTE) for seconds in (2, 4, 8))
    cases = (
        (Program("2.7 s of CPU", "cpp", (judge.Verdict.AC,), BUSY), four),
        (Program("deep recursion", "cpp", (judge.Verdict.MLE,), RECURSION), four),
        (Program("deep recursion", "python", (judge.Verdict.MLE,), PYTHON_RECURSION), four),
        (Program("deep recursion", "go", (judge.Verdict.MLE,), GO_RECURSION), eight),
        (Program("sleeps 9 s", "cpp", (judge.Verdict.TLE,), SLEEP), two),
        (Program("sleeps 9 s", "python", (judge.Verdict.TLE,), PYTHON_SLEEP), two),
        (Program("its child stops it and sleeps", "c", (judge.Verdict.TLE,), STOPS_PARENT), two),
    )
    for _ in range(REPEATS):  # in turn: some programs compute while others sleep
        for program, limits in cases:
            yield from _both_starts(Case(program, limits))


_CASES: dict[str, Callable[[], Iterator[Case]]] = {
    "named": _named,
    "fidelity": _fidelity,
    "hostile": _hostile,
}


def _available(file: str) -> Iterator[Program]:
    for program in programs(file):
        try:
            judge.compiler_version(program.language)
        except judge.ToolMissingError:
            continue
        yield program


def _both_starts(case: Case) -> Iterator[Case]:
    yield case
    if case.program.language == "python":
        yield replace(case, fork_server=True)


BUSY = """
#include <cstdio>
#include <ctime>
int main() {
    while (clock() < 2.7 * CLOCKS_PER_SEC) continue;
    puts("14");
}
"""

RECURSION = """
#include <cstdio>
int depth(volatile int *above) {
    volatile int here[256];
    here[0] = *above + 1;
    return depth(here) + here[0];
}
int main() {
    volatile int start = 0;
    printf("%d", depth(&start));
}
"""

PYTHON_RECURSION = """
import sys
sys.setrecursionlimit(10**9)
def depth(n): return [n, depth(n + 1)]
print(depth(0))
"""

SLEEP = """
#include <cstdio>
#include <unistd.h>
int main() { sleep(9); puts("13"); }
"""

GO_RECURSION = """
package main
func depth(n int) int { return depth(n+1) + n }
func main() { println(depth(0)) }
"""

PYTHON_SLEEP = """
import time
time.sleep(9)
print(13)
"""

STOPS_PARENT = """
#include <signal.h>
#include <unistd.h>
int main() {
    if (fork() == 0) {
        kill(getppid(), SIGSTOP);
        sleep(1000);
    }
    for (;;) continue;
}
"""
