"""Seconds to fill a kill matrix: 50 programs on 100 tests of 10 ms each, with one judge per core.

    python -m benchmarks.suites [--programs N] [--tests N]

Half of the programs are C++, half Python; all are different, so that the cache holds none. The floor is the CPU time
of the programs over the number of cores.
"""

import argparse
import os
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import judge

CPP = """#include <bits/stdc++.h>
int main() {{ // {mark}
    auto end = clock() + CLOCKS_PER_SEC / 100;
    while (clock() < end) {{}}
    int n; std::cin >> n; std::cout << 2 * n << "\\n";
}}
"""
PYTHON = """import time  # {mark}
end = time.process_time() + 0.01
while time.process_time() < end:
    pass
print(2 * int(input()))
"""


def main() -> None:
    """Print the time and the floor."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--programs", type=int, default=50)
    parser.add_argument("--tests", type=int, default=100)
    options = parser.parse_args()
    programs, tests = options.programs, options.tests
    mark = time.time_ns()
    limits = judge.Limits(time=1.0, memory=256 * 2**20)
    cores = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(cores) as pool:
        stored = [judge.Test(str(n), *_files(Path(folder), n)) for n in range(tests)]

        def graded(number: int) -> judge.Judgement:
            language, text = ("cpp", CPP) if number % 2 else ("python", PYTHON)
            source = text.format(mark=f"{mark} {number}")
            return judge.grade(
                judge.Submission(source, language),
                judge.Problem(stored, limits, judge.Checker()),
                judge.GradingOptions(stop_at_first_failure=False),
            )

        judge.prepare()
        started = time.monotonic()
        judgements = list(pool.map(graded, range(programs)))
        wall = time.monotonic() - started
    assert all(judgement.verdict is judge.Verdict.AC for judgement in judgements)
    own = sum(test.time for judgement in judgements for test in judgement.tests)
    print(
        f"{programs} programs on {tests} tests: {wall:.1f} s with {cores} cores; the programs alone {own / cores:.1f} s"
    )


def _files(folder: Path, number: int) -> tuple[Path, Path]:
    given, answer = folder / f"{number}.in", folder / f"{number}.ans"
    given.write_text(f"{number}\n")
    answer.write_text(f"{2 * number}\n")
    return given, answer


if __name__ == "__main__":
    main()
