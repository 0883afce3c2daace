"""How good tests are: Agreement with an official judge and Coverage of the candidates (METHODS.md 0.1, T15)."""

import ast
import json
from collections.abc import Iterable, Sequence
from typing import Any

import judge
from benchmark.functional import called
from benchmark.oracles.running import Function, Program, driver, json_lines

_SECONDS = 2
"""CPU seconds for one traced input: tracing makes a program some ten times slower."""

_TOTAL = 10
"""CPU seconds for all traced inputs of a program: one that loops reaches nothing new by looping on every input."""


def agreement(pairs: Iterable[tuple[bool, bool]]) -> tuple[int, int]:
    """Of pairs (passes all tests, accepted by the official judge), how many agree, and how many there are."""
    agreeing = [passes == accepted for passes, accepted in pairs]
    return sum(agreeing), len(agreeing)


def reached_lines(program: Program, inputs: Sequence[str]) -> list[set[int]]:
    """The numbers of the program's lines that each input reaches; empty from one that ended the whole run on.

    Inputs are tried in this order until the program has had 10 s of CPU. Raises ValueError for a program that is not in
    Python, SandboxFault and SandboxUnavailable.
    """
    if not isinstance(program, Function) and program.language != "python":
        raise ValueError(f"coverage is measured for Python only, not for {program.language}")
    signature = program.signature if isinstance(program, Function) else None
    files = {"main.py": driver("lines"), **called(program.source, signature)}
    complete = not isinstance(program, Function)
    request = {"inputs": list(inputs), "seconds": _SECONDS, "total": _TOTAL, "complete": complete}
    limits = judge.Limits(time=_TOTAL + _SECONDS + 5, memory=512 * 2**20)
    try:
        with judge.open_program(files, "python", limits, warm_start=False) as opened:
            lines = json_lines(opened.run(json.dumps(request).encode()).output)
    except judge.CannotCompile:
        lines = []
    reached = [_numbers(line.get("lines")) for line in lines]
    return reached + [set() for _ in range(len(inputs) - len(reached))]


def coverage(source: str, reached: Iterable[int]) -> float:
    """The share of a Python program's statements that these lines belong to.

    As coverage.py counts, docstrings and declarations that execute nothing are no statements. Raises SyntaxError, and
    ValueError for a program without a statement.
    """
    statements: list[Any] = [node for node in ast.walk(ast.parse(source)) if _counts(node)]
    if not statements:
        raise ValueError("a program without a statement has no coverage")
    innermost = {}
    for node in sorted(statements, key=lambda node: _length(node), reverse=True):
        first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])
        for line in range(first, (node.end_lineno or node.lineno) + 1):
            innermost[line] = id(node)
    executed = {innermost[line] for line in reached if line in innermost}
    return len(executed) / len(statements)


def _counts(node: Any) -> bool:
    if not isinstance(node, ast.stmt) or isinstance(node, ast.Global | ast.Nonlocal):
        return False
    return not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


def _length(node: Any) -> int:
    return int(node.end_lineno or node.lineno) - int(node.lineno)


def _numbers(value: object) -> set[int]:
    return {one for one in value if isinstance(one, int)} if isinstance(value, list) else set()
