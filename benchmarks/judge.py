"""The overhead of the judge, compared in one run with a bare process and with bubblewrap alone.

    python -m benchmarks.judge [--rounds N]
    python -m benchmarks.judge --load N [--part PART …] [--share I/N] [--repeat N] [--packages DIR …]

With --load the command prints verdict flips beside N busy processes instead (`benchmarks.flips`), of every part and all
programs, or of one share of them: the shares 1/3, 2/3 and 3/3 together contain all programs.

This Python starts the bare process with posix_spawn. Recipes alternate in random order, each with ten runs in a row as
for the tests of a submission; figures are medians. The exit status is 1 if a target is missed, which is not significant
on a busy machine.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shutil
import statistics
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import Barrier, synchronize
from pathlib import Path
from typing import TYPE_CHECKING

import judge
from benchmarks import flips
from benchmarks.compile import measure as measure_compilation
from judge.compilation import compile_program
from judge.records import MEBIBYTE
from judge.sandbox import SandboxRun, open_sandbox
from tests.busy_processes import busy_processes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from judge.compilation import CompiledProgram
    from judge.sandbox import Container

SOURCES = {
    "cpp": "#include <iostream>\nint main() { int a, b; std::cin >> a >> b; std::cout << a + b << std::endl; }",
    "python": "a, b = map(int, input().split())\nprint(a + b)\n",
    "python with imports": """import heapq, sys
from collections import defaultdict, deque
from typing import List

def main():
    numbers = deque(map(int, sys.stdin.readline().split()))
    seen: List[int] = []
    while numbers:
        heapq.heappush(seen, numbers.popleft())
    print(sum(seen))

main()
""",
}
"""Programs by language, and one more that imports what programs in contests import."""
INPUT = b"3 4\n"
LIMITS = judge.Limits(time=2, memory=256 * MEBIBYTE)
CORES = 2
SECONDS = 2.0
ROUNDS = 5
"""Each kind of series runs for SECONDS in each round; the kinds take turns."""

SHARE_OF_SERIES = 0.85
"""Target of ten tests per submission, as a share of a long series of tests."""

IN_A_ROW = 10


@dataclass(frozen=True)
class Row:
    """One line of the table; `met` is None without a target."""

    what: str
    ours: str
    floor: str
    peer: str
    target: str
    met: bool | None


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=200, help="measurements of each recipe")
    parser.add_argument("--load", type=int, metavar="N", help="print verdict flips beside N busy processes")
    parser.add_argument(
        "--part", nargs="+", default=flips.PARTS, choices=flips.PARTS, help="corpora to judge under load"
    )
    parser.add_argument(
        "--share",
        type=flips.Share.parse,
        default="1/1",
        metavar="I/N",
        help="the I-th of N shares of each corpus",
    )
    parser.add_argument("--repeat", type=int, default=3, help="runs of each corpus under load")
    parser.add_argument(
        "--packages", nargs="+", type=Path, default=[], metavar="DIR", help="more labelled packages"
    )
    options = parser.parse_args()
    if options.load is not None:
        with busy_processes(options.load):
            return int(flips.measure(options.part, options.repeat, options.packages, options.share) > 0)
    rounds = options.rounds
    if rounds < 4 * IN_A_ROW:
        parser.error(f"--rounds must be at least {4 * IN_A_ROW}")
    print(f"{open_sandbox().isolation}; load {os.getloadavg()[0]:.1f}")
    rows = [*tests("quiet", rounds, targets=(0.6, 2.0, 0.6, 3.0))]
    with busy_processes(4):
        rows += tests("4 busy processes", rounds // 4, targets=(1.0, None, None, None))
    rows += [*throughput(), *compilation(), clock(), overshoot(), *peak_memory(), *output()]
    print(f"{'what':<42} {'judge':>12} {'bare':>12} {'bubblewrap':>12}  target")
    for row in rows:
        mark = {True: "met", False: "MISSED", None: ""}[row.met]
        print(f"{row.what:<42} {row.ours:>12} {row.floor:>12} {row.peer:>12}  {row.target} {mark}")
    return int(any(row.met is False for row in rows))


def tests(state: str, rounds: int, targets: tuple[float | None, ...]) -> Iterator[Row]:
    """Measure milliseconds of a trivial test: C++, Python with the fork server, Python without, a C++ submission."""
    cpp, python = compiled("cpp"), compiled("python")
    with (
        submission("cpp", 1) as graded,
        on_host(cpp) as bare_cpp,
        on_host(python) as bare_python,
        contextlib.ExitStack() as stack,
    ):
        containers = [stack.enter_context(open_sandbox().open(one.mounts)) for one in (cpp, python, python)]
        recipes: dict[str, Callable[[], object]] = {
            "bare C++": bare(bare_cpp),
            "C++": judged(containers[0], cpp, fork=False),
            "submitted C++": graded,
            "bubblewrap C++": bubblewrap(bare_cpp),
            "bare Python": bare(bare_python),
            "forked Python": judged(containers[1], python, fork=True),
            "started Python": judged(containers[2], python, fork=False),
            "bubblewrap Python": bubblewrap(bare_python),
        }
        times = in_turns(recipes, rounds)
    for name, kind, target in zip(
        ("C++", "forked Python", "started Python", "submitted C++"),
        ("over", "is", "over", "over"),
        targets,
        strict=True,
    ):
        language = name.rpartition(" ")[2]
        ours, floor, peer = times[name], times[f"bare {language}"], times[f"bubblewrap {language}"]
        value = ours - floor if kind == "over" else ours
        wanted = "" if target is None else f"≤ {target} ms" + (" over bare" if kind == "over" else "")
        yield Row(
            f"{name} test, {state} (over bare {ours - floor:+.2f})",
            f"{ours:.2f} ms",
            f"{floor:.2f} ms",
            f"{peer:.2f} ms",
            wanted,
            None if target is None else value <= target,
        )


def throughput() -> Iterator[Row]:
    """Measure trivial tests per second on two cores: in a long series, and ten tests per submission."""
    with ProcessPoolExecutor(CORES, initializer=_starts.append, initargs=(Barrier(CORES),)) as pool:
        for language, target in (("cpp", 1200), ("python", 900), ("python with imports", None)):
            kinds = (bare_for_a_while, run_for_a_while, grade_for_a_while)
            counts = dict.fromkeys(kinds, 0)
            for _ in range(ROUNDS):
                for kind in random.sample(kinds, len(kinds)):
                    counts[kind] += sum(pool.map(kind, [language] * CORES))
            floor, one, ten = (counts[kind] / SECONDS / ROUNDS for kind in kinds)
            bare_figure = f"{floor:.0f}/s"
            yield Row(
                f"{language} tests on {CORES} cores",
                f"{one:.0f}/s",
                bare_figure,
                "",
                f"≥ {target}/s" if target else "",
                one >= target if target else None,
            )
            yield Row(
                f"{language} tests, ten a submission ({ten / one:.0%} of series)",
                f"{ten:.0f}/s",
                bare_figure,
                "",
                f"≥ {SHARE_OF_SERIES:.0%}" if target else "",
                ten >= SHARE_OF_SERIES * one if target else None,
            )


def compilation() -> Iterator[Row]:
    """Measure the seconds of compiling a program with bits/stdc++.h."""
    figures = measure_compilation()
    floor = f"{figures['floor (g++)'] * 1e3:.0f} ms"
    for what, name, target in (("first", "precompiled header", 0.6), ("again", "cached", 0.005)):
        ours = figures[name]
        yield Row(
            f"bits/stdc++.h program compiled {what}",
            f"{ours * 1e3:.1f} ms",
            floor,
            "",
            f"≤ {target * 1e3:.0f} ms",
            ours <= target,
        )


def clock() -> Row:
    """Measure CPU seconds of the same work without and with four other busy processes."""
    source = "int main() { volatile unsigned x = 1; for (int i = 0; i < 300000000; i++) x = x * 3 + 1; }"
    program = compiled("cpp", source)
    with open_sandbox().open(program.mounts) as container:
        run = SandboxRun(program.command, judge.Limits(time=20, memory=LIMITS.memory), wall=60)
        quiet = statistics.median(container.run(run).time for _ in range(7))
        with busy_processes(4):
            busy = statistics.median(container.run(run).time for _ in range(7))
    change = busy / quiet - 1
    return Row(
        f"CPU time beside 4 busy processes ({change:+.1%})",
        f"{busy:.3f} s",
        f"{quiet:.3f} s",
        "",
        "within 5 %",
        abs(change) <= 0.05,
    )


def overshoot() -> Row:
    """Measure the CPU seconds beyond the limit before the process ends."""
    endless = "int main() { for (;;); }"
    program = compiled("cpp", endless)
    with open_sandbox().open(program.mounts) as container:
        run = SandboxRun(program.command, judge.Limits(time=0.2, memory=LIMITS.memory), wall=5)
        worst = max(container.run(run).time for _ in range(10)) - 0.2
    return Row("CPU over the limit, worst of 10", f"{worst * 1e3:.1f} ms", "", "", "≤ 20 ms", worst <= 0.020)


def peak_memory() -> Iterator[Row]:
    """Measure the peak memory of programs that use a known number of bytes, from a small and a large judge process."""
    template = """
#include <cstring>
static char a[{0} << 20];
int main() {{ memset(a, 1, sizeof a); return a[9] - 1; }}
"""
    ballast = b""
    for parent in (0, 600):
        ballast = b"x" * (parent * MEBIBYTE)
        for size in (1, 100):
            program = compiled("cpp", template.format(size))
            with open_sandbox().open(program.mounts) as container:
                measured = container.run(SandboxRun(program.command, LIMITS, wall=5)).memory
            error = measured / MEBIBYTE - size
            yield Row(
                f"peak memory, judge with {parent} MB more",
                f"{measured / MEBIBYTE:.1f} MB",
                f"{size} MB",
                "",
                "± 2 MB",
                abs(error) <= 2,
            )
    del ballast


def output() -> Iterator[Row]:
    """Check the verdicts on 64 MB of right output and on one byte more than the limit."""
    with tempfile.TemporaryDirectory() as folder:
        given = Path(folder) / "1.in"
        given.write_bytes(b"0123456789abcde\n" * (4 * MEBIBYTE))
        test = judge.Test("1", input=given, answer=given)
        size = given.stat().st_size
        copy = "#include <cstdio>\nint main() { for (int c; (c = getchar_unlocked()) >= 0;) putchar_unlocked(c); }"
        for what, limit, verdict in (
            ("64 MB of correct output", size, "AC"),
            ("one byte over the limit", size - 1, "OLE"),
        ):
            limits = judge.Limits(time=5, memory=LIMITS.memory, output=limit)
            start = time.perf_counter()
            judgement = judge.grade(
                judge.Submission(copy, "cpp"), judge.Problem([test], limits, judge.Checker())
            )
            seconds = time.perf_counter() - start
            yield Row(
                f"{what} ({seconds:.2f} s)", judgement.verdict, "", "", verdict, judgement.verdict == verdict
            )


# ---- recipes ----


def compiled(language: str, source: str = "") -> CompiledProgram:
    row = judge.get_language(language.partition(" ")[0])
    made = compile_program(open_sandbox(), row, source or SOURCES[language], LIMITS)
    assert made.program is not None, made.output
    return made.program


def judged(container: Container, program: CompiledProgram, *, fork: bool) -> Callable[[], object]:
    run = SandboxRun(program.command, LIMITS, input=INPUT, preload=program.preload if fork else None)

    def recipe() -> None:
        assert container.run(run).stdout == b"7\n"

    return recipe


@contextlib.contextmanager
def on_host(program: CompiledProgram) -> Iterator[list[str]]:
    """Yield the command of our own program outside the sandbox."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in program.mounts.files:
            file = Path(folder) / name
            file.write_bytes(content)
            file.chmod(0o755)
        yield [
            word.replace("/program", folder, 1) if word.startswith("/program/") else word
            for word in program.command
        ]


def bare(command: list[str]) -> Callable[[], object]:
    given = os.memfd_create("input")
    os.write(given, INPUT)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    actions = [(os.POSIX_SPAWN_DUP2, given, 0), (os.POSIX_SPAWN_DUP2, nowhere, 1)]

    def recipe() -> None:
        os.lseek(given, 0, os.SEEK_SET)
        process = os.posix_spawn(command[0], command, os.environ, file_actions=actions)
        assert os.waitpid(process, 0)[1] == 0

    return recipe


def bubblewrap(command: list[str]) -> Callable[[], object]:
    bwrap = shutil.which("bwrap") or ""
    return bare(
        [bwrap, "--unshare-all", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--", *command]
    )


def in_turns(recipes: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return the median milliseconds of each recipe."""
    times: dict[str, list[float]] = {name: [] for name in recipes}
    for recipe in recipes.values():
        recipe()
    for _ in range(rounds // IN_A_ROW):
        for name in random.sample(list(recipes), len(recipes)):
            for _ in range(IN_A_ROW):
                start = time.perf_counter()
                recipes[name]()
                times[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) * 1e3 for name, values in times.items()}


_starts: list[synchronize.Barrier] = []
"""In a process of the pool: the barrier at which all processes begin a series."""


def for_a_while(recipe: Callable[[], object]) -> int:
    """Return how often the function ran in SECONDS, while the other processes ran theirs.

    They begin at the same time: a process that is still preparing leaves its core to the others.
    """
    recipe()
    _starts[0].wait()
    count, end = 0, time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        recipe()
        count += 1
    return count


def bare_for_a_while(language: str) -> int:
    with on_host(compiled(language)) as command:
        return for_a_while(bare(command))


def run_for_a_while(language: str) -> int:
    program = compiled(language)
    with open_sandbox().open(program.mounts) as container:
        return for_a_while(judged(container, program, fork=True))


def grade_for_a_while(language: str) -> int:
    with submission(language, 10) as recipe:
        return 10 * for_a_while(recipe)


@contextlib.contextmanager
def submission(language: str, tests: int) -> Iterator[Callable[[], object]]:
    """Yield a function that grades a submission, compiled before, on this number of tests."""
    with tempfile.TemporaryDirectory() as folder:
        given, answer = (Path(folder) / name for name in ("1.in", "1.ans"))
        given.write_bytes(INPUT)
        answer.write_bytes(b"7\n")
        several = [judge.Test(str(number), given, answer) for number in range(tests)]
        program = judge.Submission(SOURCES[language], language.partition(" ")[0])
        problem = judge.Problem(several, LIMITS, judge.Checker())

        def recipe() -> None:
            assert judge.grade(program, problem).passed == tests

        yield recipe


if __name__ == "__main__":
    sys.exit(main())
