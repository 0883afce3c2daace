"""The quality of tests: Agreement with an official judge and Coverage of the candidates (docs/spec.md 0.1, T15)."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import judge
from benchmark.functional import called
from benchmark.oracles.running import Function, RunnableProgram, driver, json_lines

_SECONDS = 2
"""CPU seconds for one traced input; tracing slows a program down about ten times."""

_TOTAL = 10
"""CPU seconds for all traced inputs of a program, so that a program with an endless loop stops early."""


def agreement(pairs: Iterable[tuple[bool, bool]]) -> tuple[int, int]:
    """Return the number of pairs (passes all tests, officially accepted) that agree, and the number of pairs."""
    agreeing = [passes == accepted for passes, accepted in pairs]
    return sum(agreeing), len(agreeing)


@dataclass(frozen=True)
class ReachedStatements:
    """A program's statements by first line, and the statements that each input reaches."""

    statements: frozenset[int]
    by_input: tuple[frozenset[int], ...]

    def coverage(self, inputs: int | None = None) -> float:
        """Return the share of statements that the first `inputs` inputs reach together (None: all inputs).

        As in coverage.py, a program without statements has coverage 1.
        """
        if not self.statements:
            return 1.0
        return len(frozenset[int]().union(*self.by_input[:inputs])) / len(self.statements)


def reached_statements(program: RunnableProgram, inputs: Sequence[str]) -> ReachedStatements:
    """Return the program's statements as coverage.py counts them, and those that each input reaches.

    Several statements on a line count once, as do several lines of a statement; docstrings do not count. After 10 s of
    CPU the remaining inputs reach nothing. Raises ValueError for a program that is not in Python or does not compile,
    SandboxFaultError and SandboxUnavailableError.
    """
    if not isinstance(program, Function) and program.language != "python":
        raise ValueError(f"coverage is measured for Python only, not for {program.language}")
    signature = program.signature if isinstance(program, Function) else None
    files = {
        "main.py": driver("lines"),
        "hintbench_statements.py": driver("statements"),
        **called(program.source, signature),
    }
    complete = not isinstance(program, Function)
    request = {"inputs": list(inputs), "seconds": _SECONDS, "total": _TOTAL, "complete": complete}
    limits = judge.Limits(time=_TOTAL + _SECONDS + 5, memory=512 * 2**20)
    try:
        with judge.open_program(files, "python", limits, fork_server=False) as opened:
            lines = json_lines(opened.run(json.dumps(request).encode()).output)
    except judge.CompilationError as error:
        raise ValueError(f"the program does not compile: {error}") from None
    if not lines:
        raise ValueError("the statements of the program cannot be read")
    statements, *reached = lines
    by_input = [_numbers(line.get("reached")) for line in reached]
    by_input += [frozenset()] * (len(inputs) - len(by_input))
    return ReachedStatements(_numbers(statements.get("statements")), tuple(by_input))


def _numbers(value: object) -> frozenset[int]:
    return frozenset(one for one in value if isinstance(one, int)) if isinstance(value, list) else frozenset()
