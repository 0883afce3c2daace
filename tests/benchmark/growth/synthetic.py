"""Programs of known growth, and a generator of their inputs."""

from pathlib import Path

import judge
from benchmark.growth.measuring import MeasuredProgram, MeasuredSeries, measure_series
from benchmark.growth.sizes import SizeParameter
from benchmark.suites.recipes import SuiteProgram

FOLDER = Path(__file__).resolve().parent

NUMBERS = SuiteProgram(
    "numbers.py",
    "python",
    {
        "main.py": (
            "import random, sys\n"
            "size, seed = map(int, sys.argv[1:])\n"
            "source = random.Random(seed)\n"
            "print(size)\n"
            "print(*(source.randint(1, 10**6) for _ in range(size)))\n"
        )
    },
)


def measured(path: Path, *, limit: float = 0.4, budget: float = 10.0) -> MeasuredSeries:
    """Return the measured series of a program."""
    program = MeasuredProgram({path.name: path.read_text()}, judge.language_of(path))
    parameter = SizeParameter("n", NUMBERS, "{size} {seed}", 10**6)
    limits = judge.Limits(time=limit, memory=2**29)
    return measure_series(program, parameter, (), limits, {}, budget=budget)
