"""Finds the executable lines of a Python program as coverage.py counts them.

Runs in the sandbox as hintbench_statements.py with the program's interpreter, because the lines with bytecode depend on
its version. Needs only the standard library. Python 3.8 or newer.
"""

from __future__ import annotations

import ast
import dis
import io
import re
import token
import tokenize
from collections.abc import Iterable, Iterator
from types import CodeType
from typing import Any

EXCLUDED = (
    r"#\s*(pragma|PRAGMA)[:\s]?\s*(no|NO)\s*(cover|COVER)"
    r"|^\s*(((async )?def .*?)?[\])]+(\s*->.*?)?:\s*)?\.\.\.\s*(#|$)"
    r"|^\s*if (typing\.)?TYPE_CHECKING:"
)
"""The default exclusions of coverage.py 7: marked lines, bodies that are only `...`, imports for type checkers."""

_DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


class Statements:
    """The lines that start an executable statement. Raises SyntaxError and tokenize.TokenError."""

    def __init__(self, text: str) -> None:
        tree = ast.parse(text)
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
        self._first = first_lines(tokens)
        executable = set(lines_of(compile(text, "solution.py", "exec", dont_inherit=True)))
        omitted = self._excluded(text, tokens, tree, executable) | set(docstrings(tree))
        self.lines = {self.first(line) for line in executable - omitted} - omitted

    def first(self, line: int) -> int:
        """Return the first line of the statement that spans this line."""
        return self._first.get(line, line)

    def reached(self, lines: Iterable[int]) -> set[int]:
        """Return the statements that contain these traced lines."""
        return {self.first(line) for line in lines} & self.lines

    def _excluded(
        self, text: str, tokens: list[tokenize.TokenInfo], tree: ast.AST, executable: set[int]
    ) -> set[int]:
        excluded: set[int] = set()
        for match in re.finditer(EXCLUDED, text, re.MULTILINE):
            begin, end = (text.count("\n", 0, index) + 1 for index in match.span())
            excluded.update(self.first(line) for line in range(begin, end + 1))
        if not excluded:
            return excluded
        excluded = {self.first(line) for line in with_suites(tokens, excluded)}
        node: Any
        for node in ast.walk(tree):
            if isinstance(node, _DEFINITIONS):
                begin = min((one.lineno for one in node.decorator_list), default=node.lineno)
                if excluded.intersection(range(begin, node.lineno + 1)):
                    excluded.update(range(begin, (node.end_lineno or begin) + 1))
            elif is_irrefutable_case(node):
                body = executable.intersection(range(node.body[0].lineno, node.body[-1].end_lineno + 1))
                if body and body <= excluded:
                    excluded.update(range(node.pattern.lineno, node.pattern.end_lineno + 1))
        return excluded


def lines_of(code: CodeType) -> Iterator[int]:
    """Yield the lines that have bytecode, including nested functions and classes."""
    if hasattr(code, "co_lines"):
        yield from (line for _, _, line in code.co_lines() if line)
    else:  # before Python 3.10
        yield from (line for _, line in dis.findlinestarts(code) if line)
    for constant in code.co_consts:
        if isinstance(constant, CodeType) and constant.co_name != "__annotate__":
            yield from lines_of(constant)


def first_lines(tokens: Iterable[tokenize.TokenInfo]) -> dict[int, int]:
    """Return the first line of each logical line that spans several, by each of its lines."""
    found = {}
    first = 0
    for one in tokens:
        if one.type == token.NEWLINE:
            if first and one.end[0] != first:
                found.update(dict.fromkeys(range(first, one.end[0] + 1), first))
            first = 0
        if one.string.strip() and one.type != tokenize.COMMENT and not first:
            first = one.start[0]
    return found


def docstrings(tree: ast.AST) -> Iterator[int]:
    """Yield the lines of the docstrings of module, classes and functions."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, *_DEFINITIONS)) and node.body:
            first = node.body[0]
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                yield from range(first.lineno, (first.end_lineno or first.lineno) + 1)


def with_suites(tokens: Iterable[tokenize.TokenInfo], excluded: set[int]) -> set[int]:
    """Return the excluded lines with the blocks that they open."""
    found = set(excluded)
    indent = nesting = first = 0
    opened: int | None = None  # the indent at which an excluded suite was opened
    for one in tokens:
        indent += (one.type == token.INDENT) - (one.type == token.DEDENT)
        if one.type == token.OP:
            nesting += (one.string in "([{") - (one.string in ")]}")
            opens = one.string == ":" and nesting == 0 and opened is None
            if opens and found.intersection(range(first, one.end[0] + 1)):
                found.add(one.end[0])
                opened = indent
        elif one.type == token.NEWLINE:
            first = 0
        if one.string.strip() and one.type != tokenize.COMMENT and not first:
            first = one.start[0]
            if opened is not None and indent <= opened:
                opened = None
            if opened is not None:
                found.add(one.end[0])
    return found


def is_irrefutable_case(node: Any) -> bool:
    """Return whether the node is a `case` that matches everything, such as `case _` (Python 3.10)."""
    if type(node).__name__ != "match_case" or node.guard is not None:
        return False
    pattern = node.pattern
    while type(pattern).__name__ == "MatchOr":
        pattern = pattern.patterns[-1]
    while type(pattern).__name__ == "MatchAs" and pattern.pattern is not None:
        pattern = pattern.pattern
    return type(pattern).__name__ == "MatchAs"
