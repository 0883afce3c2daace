"""Execution of oracles and candidates on many inputs in the sandbox."""

import contextlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import judge
from benchmark.functional import Signature, called

_DRIVERS = Path(__file__).parent / "drivers"
_MINIMUM_SECONDS = 0.001
"""Minimum remaining CPU seconds to start another input."""

_MEMORY = 512 * 2**20
"""Memory limit of an oracle or a candidate in bytes (docs/spec.md 15)."""


@dataclass(frozen=True)
class Function:
    """A Python program with a function to call: the signature's method, or `solution(text)` without a signature."""

    source: str
    signature: Signature | None


@dataclass(frozen=True)
class Standalone:
    """A complete program, which reads standard input."""

    source: str
    language: str


RunnableProgram = Function | Standalone

NO_TIME_LEFT = "no time left"
"""The fault of an input that was not run because the total time was used up."""


@dataclass(frozen=True)
class CpuBudget:
    """CPU seconds of a program: for each input, and for all inputs together (None: no total bound)."""

    each: int
    total: float | None = None


@dataclass(frozen=True)
class ProgramResult:
    """A program's output for an input, or None and the fault (a verdict such as TLE), and the CPU seconds."""

    output: str | None
    fault: str = ""
    seconds: float = 0.0


def driver(name: str) -> str:
    """Return the source of a driver, which runs in the sandbox together with a model's program."""
    return (_DRIVERS / f"{name}.py").read_text(encoding="utf-8")


def run_on(
    program: RunnableProgram, inputs: Sequence[str], budget: CpuBudget, again: bool = False
) -> list[ProgramResult]:
    """Return the result for each input, run in this order until the time is used up.

    A program that does not compile gets the fault CE on all inputs. A function is called on all inputs in one run, each
    in a separate process; with `again`, the order of sets and the clock differ from other runs. A standalone program is
    started for each input, and the last one may exceed the total. Raises SandboxFaultError and SandboxUnavailableError.
    """
    if not inputs:
        return []
    try:
        if isinstance(program, Function):
            return _called(program, inputs, budget, again)
        return _started(program, inputs, budget)
    except judge.CompilationError:
        return [ProgramResult(None, "CE")] * len(inputs)


def _called(program: Function, inputs: Sequence[str], budget: CpuBudget, again: bool) -> list[ProgramResult]:
    files = called(program.source, program.signature)
    if again:
        files |= {"main.py": driver("again"), "hintbench_batch.py": driver("batch")}
    else:
        files["main.py"] = driver("batch")
    limits = judge.Limits(time=(budget.each + 1) * len(inputs) + 5, memory=_MEMORY)
    answers: list[ProgramResult] = []
    with judge.open_program(files, "python", limits, fork_server=False) as opened:
        while len(answers) < len(inputs) and (left := _left(budget, answers)) > _MINIMUM_SECONDS:
            request = {
                "inputs": inputs[len(answers) :],
                "each": budget.each,
                "total": min(left, limits.time),
            }
            execution = opened.run(json.dumps(request).encode())
            lines = json_lines(execution.output)
            found = [ProgramResult(one.get("output"), one.get("fault", ""), one["seconds"]) for one in lines]
            answers += found
            if len(answers) < len(inputs) and _left(budget, answers) > _MINIMUM_SECONDS:
                # The next input ended the run, for example by exceeding the memory limit.
                used = execution.time - sum(one.seconds for one in found)
                answers.append(ProgramResult(None, execution.fault or "RTE", max(0.0, used)))
    return _with_the_untried(answers, inputs)


def _started(program: Standalone, inputs: Sequence[str], budget: CpuBudget) -> list[ProgramResult]:
    limits = judge.Limits(time=budget.each, memory=_MEMORY)
    answers: list[ProgramResult] = []
    with judge.open_program(program.source, program.language, limits) as opened:
        for given in inputs:
            if _left(budget, answers) <= _MINIMUM_SECONDS:
                break
            execution = opened.run(given.encode())
            output = None if execution.fault else execution.output.decode("utf-8", "replace")
            answers.append(ProgramResult(output, execution.fault or "", execution.time))
    return _with_the_untried(answers, inputs)


def _left(budget: CpuBudget, answers: Sequence[ProgramResult]) -> float:
    return math.inf if budget.total is None else budget.total - sum(one.seconds for one in answers)


def _with_the_untried(answers: list[ProgramResult], inputs: Sequence[str]) -> list[ProgramResult]:
    return answers + [ProgramResult(None, NO_TIME_LEFT)] * (len(inputs) - len(answers))


def json_lines(output: bytes) -> list[dict[str, Any]]:
    """Return the JSON objects on the complete lines of an output; an incomplete last line is ignored."""
    lines = []
    for line in output.decode("utf-8", "replace").split("\n"):
        with contextlib.suppress(ValueError):
            value = json.loads(line)
            if isinstance(value, dict):
                lines.append(value)
    return lines
