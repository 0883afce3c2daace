"""Measured growth of programs with known growth and of the practice programs, beside busy processes.

    python -m benchmarks.growth                 beside 4 busy processes
    python -m benchmarks.growth --busy 0 --part practice

Targets: slopes within 0.15 of the exponent, 0.3 for cubic programs; for programs whose memory exceeds the processor's
caches, slopes within 0.15 of that of the bare process in the same run; no slope for a random running time; two
measurements of a program within 0.15; every program in time_limit_exceeded of the practice packages with a slope of at
least 1.6 or a prediction over the limit, and no accepted one.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf, log
from pathlib import Path

import django

from tests.busy_processes import busy_processes

KNOWN = {"linear": 1.0, "linearithmic": 1.08, "three_halves": 1.5, "quadratic": 2.0, "cubic": 3.0}
UNSEEN = {"blocks_of_the_root.py": 1.5, "common_subsequence.cpp": 2.0}
"""Programs that were not measured while the measurement was written."""

LARGE = {"heap_of_numbers.py": 1.08}
"""Of these, those whose time grows faster than their exponent says, because their memory exceeds the caches."""

PARTS = ("known", "unseen", "large", "random", "repeated", "practice")


RUNS = 5
"""Runs of a bare process, of which the least time counts."""


@dataclass(frozen=True)
class Check:
    """A measurement beside its target."""

    program: str
    target: str
    obtained: str
    holds: bool


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--busy", type=int, default=4, metavar="N", help="busy processes beside (default 4)")
    parser.add_argument("--part", nargs="+", choices=PARTS, default=PARTS)
    arguments = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    missed = 0
    with busy_processes(arguments.busy):
        for part in arguments.part:
            for check in CHECKS[part]():
                missed += not check.holds
                mark = "" if check.holds else "  MISSED"
                print(f"{check.program:<50} {check.target:<28} {check.obtained}{mark}", flush=True)
    print(f"{missed} targets missed.")
    return 1 if missed else 0


def known() -> Iterator[Check]:
    for name, exponent in KNOWN.items():
        for suffix in (".py", ".cpp"):
            yield slope_check(f"programs/{name}{suffix}", exponent)


def unseen() -> Iterator[Check]:
    for name, exponent in UNSEEN.items():
        yield slope_check(f"unseen/{name}", exponent)


def large() -> Iterator[Check]:
    from tests.benchmark.growth.synthetic import FOLDER, measured

    for name, exponent in LARGE.items():
        path = FOLDER / "unseen" / name
        found = measured(path).fit
        if found is None:
            yield Check(f"unseen/{name}", "a slope", "none", False)
            continue
        floor = bare_slope(path, found.sizes)
        yield Check(
            f"unseen/{name} (exponent {exponent:g})",
            f"bare {floor:.2f} ± 0.15",
            f"{found.slope:.2f} [{found.low:.2f}, {found.high:.2f}]",
            abs(found.slope - floor) <= 0.15,
        )


def bare_slope(path: Path, sizes: Sequence[int]) -> float:
    """Return the slope of the CPU seconds of a Python program that is started without the judge."""
    from benchmark.growth.fitting import least_squares

    source = random.Random(1)
    inputs = [
        f"{size}\n{' '.join(str(source.randint(1, 10**6)) for _ in range(size))}\n" for size in (16, *sizes)
    ]
    times = [inf] * len(inputs)
    for _ in range(RUNS):
        for place, given in enumerate(inputs):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(
                [sys.executable, "-I", str(path)], input=given, text=True, check=True, capture_output=True
            )
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            times[place] = min(times[place], spent)
    start, *rest = times
    return least_squares([log(size) for size in sizes], [log(one - start) for one in rest]).slope


def slope_check(name: str, exponent: float) -> Check:
    from tests.benchmark.growth.synthetic import FOLDER, measured

    series = measured(FOLDER / name)
    tolerance = 0.15 if exponent <= 2 else 0.3
    target = f"{exponent:g} ± {tolerance:g}"
    if series.fit is None:
        return Check(name, target, series.outcome, False)
    fit = series.fit
    obtained = f"{fit.slope:.2f} [{fit.low:.2f}, {fit.high:.2f}]"
    return Check(name, target, obtained, abs(fit.slope - exponent) <= tolerance)


def random_time() -> Iterator[Check]:
    from tests.benchmark.growth.synthetic import FOLDER, measured

    series = measured(FOLDER / "programs" / "random_time.py")
    yield Check("programs/random_time.py", "unstable", series.outcome, series.outcome == "unstable")


def repeated() -> Iterator[Check]:
    from tests.benchmark.growth.synthetic import FOLDER, measured

    first, second = (measured(FOLDER / "programs" / "quadratic.py").fit for _ in range(2))
    slopes = [fit.slope for fit in (first, second) if fit is not None]
    holds = len(slopes) == 2 and abs(slopes[0] - slopes[1]) <= 0.15
    obtained = " and ".join(f"{slope:.2f}" for slope in slopes)
    yield Check("programs/quadratic.py, twice", "within 0.15", obtained, holds)


def practice() -> Iterator[Check]:
    from tests.benchmark.growth.practice import ACCEPTED, SLOW, growth, looks_slow

    for paths, slow in ((SLOW, True), (ACCEPTED, False)):
        for path in paths:
            found = growth(path)
            fit = found.steepest.fit
            prediction = found.steepest.prediction
            predicted = "" if prediction is None else f", {prediction:.3g} s at the bound"
            obtained = (f"slope {fit.slope:.2f}" if fit else found.steepest.outcome) + predicted
            name = f"{path.parents[2].name}/{path.name}"
            target = "slow" if slow else "not slow"
            yield Check(name, target, obtained, looks_slow(found) == slow)


CHECKS = {
    "known": known,
    "unseen": unseen,
    "large": large,
    "random": random_time,
    "repeated": repeated,
    "practice": practice,
}

if __name__ == "__main__":
    sys.exit(main())
