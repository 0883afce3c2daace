"""Measurement of a program's CPU time on generated inputs of growing size (docs/slow-programs.md).

Inputs come from the problem's generators and pass its input validators. Hidden tests are never used.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from math import log, sqrt
from typing import Any, Literal, Protocol, Self

import judge
from benchmark.growth.fitting import (
    FEWEST_POINTS,
    LEAST_SECONDS,
    SMALLEST,
    Fit,
    Point,
    fit,
    is_clear,
    start_up,
    used_points,
)
from benchmark.growth.sizes import FIRST_SIZE, GrowthRecipe, SizeParameter
from benchmark.suites.generating import GENERATOR_LIMITS, INPUT_FILE, VALID
from benchmark.suites.recipes import SuiteProgram
from benchmark.suites.running import runnable
from judge import Limits, Verdict

BUDGET = 20.0
"""CPU seconds of a program for one size argument."""

RUNS, MOST_RUNS = 3, 6
"""Runs on each input, of which the fastest counts, and the maximum while the times do not fit a line closely."""

_SMALL_RESIDUAL = 0.08
"""Maximum standard deviation of log seconds around the line for which no further runs are needed."""

Outcome = Literal["fitted", "fast", "slow", "unstable", "memory", "stopped"]
"""The result of a series. `fast`: the bound is reached with fewer than three times long enough to be fitted. `slow`:
twice the limit is exceeded before that. `memory`: the memory limit is exceeded. `stopped`: the series ended before a
fit for another reason."""

Pause = Callable[[], None]


class MakeInput(Protocol):
    """A function that returns a valid input of a size, or None; each `number` gives another input of the size."""

    def __call__(self, size: int, number: int = 0) -> bytes | None: ...


class GrowthError(Exception):
    """A measurement that is impossible: no input of any size is valid, or the program does not compile."""


@dataclass(frozen=True)
class MeasuredProgram:
    """A program in the form that the judge accepts."""

    files: str | Mapping[str, str]
    language: str


@dataclass(frozen=True)
class MeasuredSeries:
    """The series of one size argument.

    `ended` is the reason of the last size without a time, in words, and `ended_at` its size (None: the series reached
    the bound or twice the limit). `prediction` is the CPU seconds at the bound, measured if it was reached.
    """

    parameter: str
    largest: int
    points: tuple[Point, ...]
    outcome: Outcome
    fit: Fit | None = None
    prediction: float | None = None
    ended: str = ""
    ended_at: int | None = None

    @property
    def start_up(self) -> float:
        """The CPU seconds that do not depend on the size."""
        return start_up(self.points)

    def to_json(self) -> dict[str, Any]:
        """Return all fields by name."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Return the series that `to_json` stored."""
        points = tuple(Point(one["size"], tuple(one["times"])) for one in document["points"])
        found = Fit.from_json(document["fit"]) if document["fit"] else None
        return cls(**{**document, "points": points, "fit": found})


@dataclass(frozen=True)
class Growth:
    """The measured growth of a program: a series for each size argument, and the limits of its language."""

    series: tuple[MeasuredSeries, ...]
    time_limit: float
    memory_limit: int

    @property
    def steepest(self) -> MeasuredSeries:
        """The series with the largest slope. One that ended at a limit ranks higher, and one without a slope lower."""
        return max(self.series, key=_steepness)

    @property
    def slow(self) -> bool:
        """Whether a program of this growth exceeds the time limit at the bound of a size argument."""
        return any(_exceeds(one, self.time_limit) for one in self.series)

    @property
    def shown_slow(self) -> bool:
        """Whether the prediction is at least half the time limit, so that feedback quotes it."""
        return any(_exceeds(one, self.time_limit / 2) for one in self.series)

    def to_json(self) -> dict[str, Any]:
        """Return all fields by name."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Return the growth that `to_json` stored."""
        series = tuple(MeasuredSeries.from_json(one) for one in document["series"])
        return cls(series, document["time_limit"], document["memory_limit"])


def _steepness(series: MeasuredSeries) -> tuple[int, float]:
    if series.outcome in ("slow", "memory"):
        return (2, series.prediction or 0)
    return (1, series.fit.slope) if series.fit else (0, series.prediction or 0)


def _exceeds(series: MeasuredSeries, limit: float) -> bool:
    return series.outcome == "slow" or (series.prediction is not None and series.prediction > limit)


def measure(
    program: MeasuredProgram,
    recipe: GrowthRecipe,
    limits: Limits,
    *,
    budget: float = BUDGET,
    pause: Pause = lambda: None,
) -> Growth:
    """Measure the program with each size argument of the problem. `limits` are those of its language.

    `pause` is called before each run of the program. Raises GrowthError if no input is valid or the program does not
    compile, and the errors of the sandbox.
    """
    inputs: dict[str, bytes | None] = {}
    series = [
        measure_series(program, one, recipe.validators, limits, inputs, budget=budget, pause=pause)
        for one in recipe.parameters
        if not one.tried or _is_size(one, recipe.validators, inputs)
    ]
    series = [one for one in series if one.points or one.ended_at is not None]
    if not series:
        raise GrowthError("no generator makes valid inputs of growing size")
    return Growth(tuple(series), limits.time, limits.memory)


def measure_series(
    program: MeasuredProgram,
    parameter: SizeParameter,
    validators: Sequence[SuiteProgram],
    limits: Limits,
    inputs: dict[str, bytes | None],
    *,
    budget: float = BUDGET,
    pause: Pause = lambda: None,
) -> MeasuredSeries:
    """Measure sizes doubling from 16 until the bound, twice the time limit, or `budget` CPU seconds in all.

    Raises GrowthError and the errors of the sandbox.
    """
    with ExitStack() as opened:
        generate = opened.enter_context(generating(parameter, validators, inputs))
        try:
            run = opened.enter_context(
                judge.open_program(program.files, program.language, replace(limits, time=budget))
            )
        except judge.CompilationError as error:
            raise GrowthError(f"the program does not compile: {error}") from None
        series = _Series(run, generate, parameter.largest, _Bounds(2 * limits.time, budget, pause))
        series.double()
        series.halve_steps()
        series.repeat()
    return _result(parameter, series)


@dataclass(frozen=True)
class _Bounds:
    """The bounds of a series: CPU seconds after which no larger size is tried, and CPU seconds in all.

    `pause` is called before each run.
    """

    enough: float
    budget: float
    pause: Pause


class _Series:
    """The runs of one program with one size argument."""

    def __init__(
        self,
        run: judge.OpenProgram,
        generate: MakeInput,
        largest: int,
        bounds: _Bounds,
    ) -> None:
        self._run, self._generate, self._largest = run, generate, largest
        self._enough, self._left, self._pause = bounds.enough, bounds.budget, bounds.pause
        self._times: dict[int, list[float]] = {}
        self.ended = ""
        self.ended_at: int | None = None
        self.fault: Verdict | None = None

    @property
    def points(self) -> tuple[Point, ...]:
        """The times so far, by size."""
        return tuple(Point(size, tuple(times)) for size, times in sorted(self._times.items()))

    def double(self) -> None:
        """Run the program once on each size, until one takes long enough or has no time."""
        for size in _sizes(self._largest):
            if RUNS * _next_seconds(self.points, size) > self._left:
                self._end("too long to measure", size)
            elif self._is_measured(size) and self._times[size][0] <= self._enough:
                continue
            return

    def halve_steps(self) -> None:
        """Add sizes between the last ones if a steep growth leaves fewer than three usable points."""
        for _ in range(FEWEST_POINTS - 1):
            sizes = sorted(self._times)
            if (
                len(used_points(self.points)) >= FEWEST_POINTS
                or len(sizes) < 2
                or not self._is_long(sizes[-1])
            ):
                return
            for low, high in zip(sizes[-3:], sizes[-2:], strict=False):
                middle = round(sqrt(low * high))
                if low < middle < high:
                    self._is_measured(middle)

    def repeat(self) -> None:
        """Run the smallest and the used sizes again in turn, so that noise affects different sizes."""
        for number in range(MOST_RUNS - 1):
            found = fit(self.points)
            if number >= RUNS - 1 and found is not None and found.residual <= _SMALL_RESIDUAL:
                return
            sizes = [point.size for point in (*self.points[:SMALLEST], *used_points(self.points))]
            for size in dict.fromkeys(sizes):
                if min(self._times[size]) < self._left:
                    self._is_measured(size)

    def _is_long(self, size: int) -> bool:
        return self._times[size][0] >= LEAST_SECONDS

    def _is_measured(self, size: int) -> bool:
        """Run the program on the input of this size; return whether the run has a time."""
        given = self._generate(size)
        if given is None:
            self._end("the generator makes no valid input of this size", size)
            return False
        self._pause()
        output = self._run.run(given)
        self._left -= output.time
        if output.fault is None:
            self._times.setdefault(size, []).append(output.time)
        elif size not in self._times:
            self.fault = output.fault
            self._end(output.message or output.fault.value, size)
        return output.fault is None

    def _end(self, reason: str, size: int) -> None:
        self.ended, self.ended_at = reason, size

    @property
    def too_slow(self) -> bool:
        """Whether a run took longer than is needed, or was stopped."""
        last = self.points[-1] if self._times else None
        return self.fault is Verdict.TLE or (last is not None and last.seconds > self._enough)


def _result(parameter: SizeParameter, series: _Series) -> MeasuredSeries:
    points = series.points
    found = fit(points)
    last = points[-1] if points else None
    at_bound = last.seconds if last and last.size == parameter.largest else None
    if found is not None and at_bound is not None and not is_clear(found, points):
        found = None
    prediction = at_bound
    if prediction is None and found is not None:
        prediction = start_up(points) + found.seconds(parameter.largest)
    outcome: Outcome
    if series.fault is Verdict.MLE:
        outcome = "memory"
    elif found is not None:
        outcome = "fitted"
    elif len(used_points(points)) >= FEWEST_POINTS and fit(points) is None:
        outcome = "unstable"
    elif series.too_slow:
        outcome = "slow"
    else:
        outcome = "fast" if at_bound is not None else "stopped"
    if outcome == "unstable":
        prediction = None
    ended = series.ended[:200]
    return MeasuredSeries(
        parameter.name, parameter.largest, points, outcome, found, prediction, ended, series.ended_at
    )


def _sizes(largest: int) -> Iterator[int]:
    """Yield 16, 32 … and the largest size."""
    size = FIRST_SIZE
    while size < largest:
        yield size
        size *= 2
    yield largest


def _next_seconds(points: Sequence[Point], size: int) -> float:
    """Return the CPU seconds expected of one run at the size, from the last two points; 0 if they are short."""
    if len(points) < 2 or points[-1].seconds < 0.5 or points[-2].seconds <= 0:
        return 0.0
    before, last = points[-2:]
    slope = log(last.seconds / before.seconds) / log(last.size / before.size)
    return float(last.seconds * (size / last.size) ** max(0.0, slope))


@contextmanager
def generating(
    parameter: SizeParameter, validators: Sequence[SuiteProgram], inputs: dict[str, bytes | None]
) -> Iterator[MakeInput]:
    """Yield a function that returns a valid input of a size, or None. `inputs` keeps them by parameter and size."""
    with ExitStack() as stack:
        opened: list[judge.OpenProgram] = []

        def open_all() -> None:
            for program in (parameter.program, *validators):
                with suppress(judge.CompilationError):
                    opened.append(
                        stack.enter_context(judge.open_program(*runnable(program), GENERATOR_LIMITS))
                    )
                    continue
                if program is parameter.program:
                    raise GrowthError(f"the generator {program.name} does not compile")

        def make(size: int, number: int = 0) -> bytes | None:
            key = f"{parameter.name} {size} {number}"
            if key not in inputs:
                if not opened:
                    open_all()
                inputs[key] = _valid_input(opened[0], opened[1:], parameter.command(size, number))
            return inputs[key]

        yield make


def _valid_input(
    generator: judge.OpenProgram, validators: Sequence[judge.OpenProgram], arguments: Sequence[str]
) -> bytes | None:
    """Return the generator's input, or None if it fails or a validator rejects it."""
    output = generator.run(b"", arguments, (INPUT_FILE,))
    given = output.files.get(INPUT_FILE, output.output)
    if output.fault is not None or not given.strip():
        return None
    return given if all(one.run(given).exit_status == VALID for one in validators) else None


def _is_size(
    parameter: SizeParameter, validators: Sequence[SuiteProgram], inputs: dict[str, bytes | None]
) -> bool:
    """Return whether inputs are valid and grow with the number: one of twice the size is at least half as long again.

    A number with another meaning, such as a largest value, adds at most one digit.
    """
    with generating(parameter, validators, inputs) as generate:
        small, large = generate(64), generate(128)
    return small is not None and large is not None and len(large) >= 1.5 * len(small)
