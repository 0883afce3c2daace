"""Programs that make answers, run on many inputs in the sandbox: oracles, and candidates beside them."""

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
_LEAST = 0.001
"""Seconds that are not worth beginning with another input."""

_MEMORY = 512 * 2**20
"""Bytes for an oracle or a candidate (docs/spec.md 15)."""


@dataclass(frozen=True)
class Function:
    """A Python program whose function is called: the method of the signature, or without one `solution(text)`."""

    source: str
    signature: Signature | None


@dataclass(frozen=True)
class Standalone:
    """A complete program, which reads standard input."""

    source: str
    language: str


RunnableProgram = Function | Standalone

NO_TIME_LEFT = "no time left"
"""The fault of an input that was not tried, because the time for all inputs was used up."""


@dataclass(frozen=True)
class CpuBudget:
    """CPU seconds of a program: for one input, and for all of them together (None: no bound but that of each)."""

    each: int
    total: float | None = None


@dataclass(frozen=True)
class ProgramResult:
    """What a program made of one input: its output, or None and the fault (a verdict such as TLE), and CPU seconds."""

    output: str | None
    fault: str = ""
    seconds: float = 0.0


def driver(name: str) -> str:
    """The text of one of our programs that run in the sandbox beside a model's."""
    return (_DRIVERS / f"{name}.py").read_text(encoding="utf-8")


def run_on(
    program: RunnableProgram, inputs: Sequence[str], budget: CpuBudget, again: bool = False
) -> list[ProgramResult]:
    """Return the answer to each input, tried in this order until the time is used up.

    A program that does not compile answers none. A function is called on all inputs in one run, each in a process of
    its own; with `again` the order of its sets and its clock differ from other runs. A complete program is started for
    each input, and the last one may exceed the total. Raises SandboxFault and SandboxUnavailable.
    """
    if not inputs:
        return []
    try:
        if isinstance(program, Function):
            return _called(program, inputs, budget, again)
        return _started(program, inputs, budget)
    except judge.CannotCompile:
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
        while len(answers) < len(inputs) and (left := _left(budget, answers)) > _LEAST:
            request = {
                "inputs": inputs[len(answers) :],
                "each": budget.each,
                "total": min(left, limits.time),
            }
            execution = opened.run(json.dumps(request).encode())
            lines = json_lines(execution.output)
            found = [ProgramResult(one.get("output"), one.get("fault", ""), one["seconds"]) for one in lines]
            answers += found
            if len(answers) < len(inputs) and _left(budget, answers) > _LEAST:
                # The next input ended the whole run, as memory does.
                used = execution.time - sum(one.seconds for one in found)
                answers.append(ProgramResult(None, execution.fault or "RTE", max(0.0, used)))
    return _with_the_untried(answers, inputs)


def _started(program: Standalone, inputs: Sequence[str], budget: CpuBudget) -> list[ProgramResult]:
    limits = judge.Limits(time=budget.each, memory=_MEMORY)
    answers: list[ProgramResult] = []
    with judge.open_program(program.source, program.language, limits) as opened:
        for given in inputs:
            if _left(budget, answers) <= _LEAST:
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
    """The objects on the complete lines of an output; a line that was cut off is not one of them."""
    lines = []
    for line in output.decode("utf-8", "replace").split("\n"):
        with contextlib.suppress(ValueError):
            value = json.loads(line)
            if isinstance(value, dict):
                lines.append(value)
    return lines
