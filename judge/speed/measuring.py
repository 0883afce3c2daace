"""The measurement of this machine's speed: the CPU times of two short programs in the sandbox."""

import contextlib
import functools
import platform
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean

from judge.execution import CompilationError, open_program
from judge.records import MEBIBYTE, Limits
from judge.sandbox import SandboxFaultError
from judge.toolchains import ToolMissingError

_DRIVERS = Path(__file__).parent.parent / "drivers"

_REFERENCES = {"cpp": ("speed_reference.cpp", 0.044), "python": ("speed_reference.py", 0.037)}
"""By language the reference program and its CPU seconds on the reference machine, the least of 40 runs.

The reference machine is a virtual core of an Intel Xeon with AMX (2.7 GHz), g++ 12 and CPython 3.11, with which the
labels of the practice packages were checked. Its factor is 1.
"""

_REPETITIONS = 5
_LIMITS = Limits(time=10, memory=256 * MEBIBYTE)


@dataclass(frozen=True)
class MachineSpeed:
    """A measurement of a machine's speed.

    `factor` is the CPU time of the reference programs, divided by that on the reference machine (geometric mean): a
    machine with 2 is half as fast. `spread` is the largest relative difference between the repetitions of a program.
    `times` are CPU seconds by language, the least of the repetitions.
    """

    host: str
    factor: float
    spread: float
    times: dict[str, float]


def measure_speed() -> MachineSpeed:
    """Return the speed of this machine. Takes about 0.5 s, and 1 s more for the first compilation.

    Of several runs the least time counts, because other work on the machine only slows a program down. A language
    without its compiler or interpreter is left out. Raises SandboxUnavailableError, SandboxFaultError, and
    ToolMissingError without any of the two languages.
    """
    repeated = {}
    for language, (file, _) in _REFERENCES.items():
        with contextlib.suppress(ToolMissingError):
            repeated[language] = _times((_DRIVERS / file).read_text(encoding="utf-8"), language)
    if not repeated:
        raise ToolMissingError("the speed of this machine cannot be measured without g++ and Python")
    times = {language: min(measured) for language, measured in repeated.items()}
    return MachineSpeed(
        host=host_name(),
        factor=geometric_mean(time / _REFERENCES[language][1] for language, time in times.items()),
        spread=max(max(measured) / min(measured) - 1 for measured in repeated.values()),
        times=times,
    )


@functools.cache
def host_name() -> str:
    """Return the name of this machine with its processor's model, because a name may pass to another machine."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                return f"{platform.node()} ({value.strip()})"
    return platform.node()


def _times(source: str, language: str) -> list[float]:
    """Return the CPU seconds of the repetitions."""
    try:
        with open_program(source, language, _LIMITS, fork_server=False) as program:
            runs = [program.run() for _ in range(_REPETITIONS)]
    except CompilationError as error:
        raise SandboxFaultError(f"the reference program in {language} does not compile: {error}") from error
    if failed := next((run for run in runs if run.fault), None):
        raise SandboxFaultError(f"the reference program in {language} failed: {failed.message}")
    return [run.time for run in runs]
