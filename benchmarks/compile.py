"""Seconds to compile a C++ source with <bits/stdc++.h>: the first time, with the precompiled header, and cached.

    python -m benchmarks.compile

The floor is plain g++ with the same flags outside the sandbox. The first compilation on a machine also creates the
precompiled header; `without` is the fallback of the judge if it cannot.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from judge.compilation import compile_program
from judge.compilation.compiler import filled
from judge.languages import CPP
from judge.records import Limits
from judge.sandbox import open_sandbox

if TYPE_CHECKING:
    from judge.toolchains import Language

ROUNDS = 5
LIMITS = Limits(time=1, memory=2**28)
SOURCE = """
#include <bits/stdc++.h>
using namespace std;
int main() {
    int n;
    cin >> n;
    map<int, vector<int>> places;
    for (int i = 0, value; i < n; i++) { cin >> value; places[value].push_back(i); }
    long long sum = %d;
    for (auto& [value, at] : places) sum += (long long)value * at.size();
    cout << sum << endl;
}
"""


def main() -> int:
    figures = measure()
    floor = figures["floor (g++)"]
    print(f"{'compilation':<20} {'median ms':>10} {'x floor':>8}")
    for name, seconds in figures.items():
        print(f"{name:<20} {seconds * 1e3:10.1f} {seconds / floor:8.2f}")
    return 0


def measure() -> dict[str, float]:
    """Return the median seconds of each kind of compilation in an empty cache."""
    before = os.environ.get("JUDGE_CACHE")
    with tempfile.TemporaryDirectory(prefix="hintbench-compile-") as cache:
        os.environ["JUDGE_CACHE"] = cache
        try:
            open_sandbox()
            without = replace(CPP, precompiled=None)
            figures = {
                "floor (g++)": [plain(number) for number in range(ROUNDS)],
                "first": [judged(CPP, 0)],
                "precompiled header": [judged(CPP, number) for number in range(1, ROUNDS + 1)],
                "cached": [judged(CPP, number) for number in range(1, ROUNDS + 1)],
                "without": [judged(without, number) for number in range(ROUNDS + 1, 2 * ROUNDS + 1)],
            }
        finally:
            del os.environ["JUDGE_CACHE"]
            if before:
                os.environ["JUDGE_CACHE"] = before
    return {name: statistics.median(times) for name, times in figures.items()}


def judged(language: Language, number: int) -> float:
    """Return the seconds that the judge takes to compile the program with this number."""
    start = time.perf_counter()
    compilation = compile_program(open_sandbox(), language, SOURCE % number, LIMITS)
    seconds = time.perf_counter() - start
    assert compilation.program is not None, compilation.output
    return seconds


def plain(number: int) -> float:
    """Return the seconds that g++ takes outside the sandbox."""
    with tempfile.TemporaryDirectory() as folder:
        source, program = (Path(folder) / name for name in ("main.cpp", "program"))
        source.write_text(SOURCE % number)
        command = filled(CPP, CPP.compile, (source.name,), str(program))[:-1]
        start = time.perf_counter()
        subprocess.run([*command, str(source)], check=True)
        return time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(main())
