"""How good tests are: Agreement with an official judge and Coverage of the candidates (docs/spec.md 0.1, T15)."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import judge
from benchmark.functional import called
from benchmark.oracles.running import Function, RunnableProgram, driver, json_lines

_SECONDS = 2
"""CPU seconds for one traced input: tracing makes a program some ten times slower."""

_TOTAL = 10
"""CPU seconds for all traced inputs of a program: one that loops reaches nothing new by looping on every input."""


def agreement(pairs: Iterable[tuple[bool, bool]]) -> tuple[int, int]:
    """Of pairs (passes all tests, accepted by the official judge), how many agree, and how many there are."""
    agreeing = [passes == accepted for passes, accepted in pairs]
    return sum(agreeing), len(agreeing)


@dataclass(frozen=True)
class ReachedStatements:
    """The statements of a program by their first lines, and those that each input reaches, in the inputs' order."""

    statements: frozenset[int]
    by_input: tuple[frozenset[int], ...]

    def coverage(self, inputs: int | None = None) -> float:
        """Return the share of the statements that the first `inputs` inputs reach together; None: all inputs.

        As in coverage.py, all of a program without a statement is covered.
        """
        if not self.statements:
            return 1.0
        return len(frozenset[int]().union(*self.by_input[:inputs])) / len(self.statements)


def reached_statements(program: RunnableProgram, inputs: Sequence[str]) -> ReachedStatements:
    """Return the program's statements as coverage.py counts them, and those that each input reaches.

    Two statements on a line are one, and so are the lines of one statement; docstrings are none. Inputs are tried in
    this order until the program has had 10 s of CPU, and reach nothing afterwards. Raises ValueError for a program
    that is not in Python or does not compile, SandboxFault and SandboxUnavailable.
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
    except judge.CannotCompile as error:
        raise ValueError(f"the program does not compile: {error}") from None
    if not lines:
        raise ValueError("the statements of the program cannot be read")
    statements, *reached = lines
    by_input = [_numbers(line.get("reached")) for line in reached]
    by_input += [frozenset()] * (len(inputs) - len(by_input))
    return ReachedStatements(_numbers(statements.get("statements")), tuple(by_input))


def _numbers(value: object) -> frozenset[int]:
    return frozenset(one for one in value if isinstance(one, int)) if isinstance(value, list) else frozenset()
