"""Programs that make answers, run on many inputs in the sandbox: oracles, and candidates beside them."""

import contextlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import judge
from benchmark.functional import Signature, called

_DRIVERS = Path(__file__).parent / "drivers"
_MEMORY = 512 * 2**20
"""Bytes for an oracle or a candidate (METHODS.md 15)."""


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


Program = Function | Standalone


@dataclass(frozen=True)
class Answer:
    """What a program made of one input: its output, or None and the fault (a verdict such as TLE)."""

    output: str | None
    fault: str = ""


def driver(name: str) -> str:
    """The text of one of our programs that run in the sandbox beside a model's."""
    return (_DRIVERS / f"{name}.py").read_text(encoding="utf-8")


def run_on(program: Program, inputs: Sequence[str], seconds: int) -> list[Answer]:
    """The answer to each input, within so many seconds of CPU each. A program that does not compile answers none.

    A function is called on all inputs in one run, each in a process of its own; a complete program is started for
    each. Raises SandboxFault and SandboxUnavailable.
    """
    if not inputs:
        return []
    try:
        if isinstance(program, Function):
            return _called(program, inputs, seconds)
        return _started(program, inputs, seconds)
    except judge.CannotCompile:
        return [Answer(None, "CE")] * len(inputs)


def _called(program: Function, inputs: Sequence[str], seconds: int) -> list[Answer]:
    files = {"main.py": driver("batch"), **called(program.source, program.signature)}
    limits = judge.Limits(time=(seconds + 1) * len(inputs) + 5, memory=_MEMORY)
    answers: list[Answer] = []
    with judge.open_program(files, "python", limits, warm_start=False) as opened:
        while len(answers) < len(inputs):
            request = {"inputs": inputs[len(answers) :], "seconds": seconds}
            execution = opened.run(json.dumps(request).encode())
            answers += [
                Answer(line.get("output"), line.get("fault", "")) for line in json_lines(execution.output)
            ]
            if len(answers) < len(inputs):  # this input ended the whole run, as memory does
                answers.append(Answer(None, execution.fault or "RTE"))
    return answers


def _started(program: Standalone, inputs: Sequence[str], seconds: int) -> list[Answer]:
    limits = judge.Limits(time=seconds, memory=_MEMORY)
    answers = []
    with judge.open_program(program.source, program.language, limits) as opened:
        for given in inputs:
            execution = opened.run(given.encode())
            output = None if execution.fault else execution.output.decode("utf-8", "replace")
            answers.append(Answer(output, execution.fault or ""))
    return answers


def json_lines(output: bytes) -> list[dict[str, Any]]:
    """The objects on the complete lines of an output; a line that was cut off is not one of them."""
    lines = []
    for line in output.decode("utf-8", "replace").split("\n"):
        with contextlib.suppress(ValueError):
            value = json.loads(line)
            if isinstance(value, dict):
                lines.append(value)
    return lines
