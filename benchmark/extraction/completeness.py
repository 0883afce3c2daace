"""Completeness of a program: from loose values to a program that reads and writes."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import IntEnum

from benchmark.extraction.literals import without_literals
from benchmark.text.program_lines import is_code, reads_as_english
from judge import FAMILIES, ProgramShape

# Python would print warnings about invalid escapes in a reply on standard error.
warnings.filterwarnings("ignore", module="<reply>")


class Completeness(IntEnum):
    """The completeness of a program. Extraction prefers the higher level."""

    NO_CODE = 0
    """Only values or words, like the output of a sample."""
    BROKEN_PART = 1
    """Does not parse, and neither reads nor writes."""
    PART = 2
    """Parses; has no definition, or uses names that only another block of the reply defines."""
    DEFINITIONS = 3
    """Parses, and defines functions or classes."""
    PRINTS = 4
    """Writes and does not read, like the solution of a problem without input."""
    BROKEN = 5
    """Reads and writes, or has a `main`, and does not parse: a program with a mistake, or a truncated one."""
    UNSTARTED = 6
    """Reads and writes in functions that are never called."""
    FUNCTIONAL = 7
    """A class `Solution`, which functional problems require."""
    COMPLETE = 8
    """Reads and writes, or has a `main` that does."""


PROGRAMS = frozenset({Completeness.PRINTS, Completeness.FUNCTIONAL, Completeness.COMPLETE})
"""The levels of complete programs."""

CLASSES = ("Solution", "BruteforceSolution")
"""Names of the class that a functional problem requires."""


@dataclass(frozen=True)
class Assessment:
    """The completeness of `code`, a section of a reply without the prose before and after the program.

    `skipped` counts the lines of prose before it. `defines` are the functions and classes at its top level,
    `uses` the names that it does not define.
    """

    code: str
    level: Completeness
    defines: frozenset[str] = frozenset()
    uses: frozenset[str] = frozenset()
    skipped: int = 0


def assess(code: str, language: str) -> Assessment:
    """Return the completeness of `code` in the language, a family of `judge.FAMILIES`."""
    shape = FAMILIES[language].shape if language in FAMILIES else None
    if language != "python" and shape is None:
        return Assessment(code, Completeness.PART if code.strip() else Completeness.NO_CODE)
    whole = _assess_braces(code, shape) if shape else _assess_python(code)
    skipped = _lines_of_prose(code)
    if not skipped or (language == "python" and whole.level in PROGRAMS):
        return whole
    rest = code.split("\n", skipped)[skipped]
    inner = _assess_braces(rest, shape) if shape else _assess_python(rest)
    return replace(inner, skipped=skipped) if inner.level in PROGRAMS else whole


def _lines_of_prose(code: str) -> int:
    """Return the number of lines of prose at the beginning."""
    number = 0
    for at, line in enumerate(code.split("\n")[:-1][:_MOST_LINES_OF_PROSE]):
        if line.strip() and (is_code(line) or not (reads_as_english(line) or _LABEL.match(line))):
            break
        number = at + 1
    return number if code.split("\n", maxsplit=1)[0].strip() else 0


_MOST_LINES_OF_PROSE = 20
_LABEL = re.compile(r"\s*[A-Z][\w' -]{0,60}[:.!]\s*$")

_MARKDOWN = ("```", "~~~", "'''", "**", "- ", "* ", "## ", "### ", "> ")
"""Beginnings of lines that are prose."""

_ENDS_OF_PROSE = (".", "!", "?", ".)", ".**", ":**")


# Python

_MOST_CUTS = 8
"""Maximum attempts to parse a program, each without more of the possible prose after it."""

_READS = frozenset({"input", "raw_input", "open", "stdin", "fileinput"})
_READING_ATTRIBUTES = frozenset(
    {"stdin", "readline", "readlines", "read", "fileinput", "loadtxt", "read_text"}
)
_WRITES = frozenset({"print"})
_WRITING_ATTRIBUTES = frozenset({"write", "writelines", "stdout", "write_text"})
_SEEMS_TO_READ = re.compile(r"\b(?:raw_)?input\s*\(|\bstdin\b|\bopen\s*\(")
_SEEMS_TO_WRITE = re.compile(r"\bprint\s*[( \"']|\bstdout\b|\.write\s*\(")
_DEFINITION = re.compile(r"^(?:def|class)[ \t]+(\w+)", re.MULTILINE)
_STATEMENT = re.compile(r"^[ \t]*(?:import|from|def|class|for|while|if|return|print|with)\b|=", re.MULTILINE)


def _assess_python(code: str) -> Assessment:
    tree, line = _parse(code)
    if tree is not None:
        return _assess_tree(code, tree)
    lines = code.split("\n")
    for _ in range(_MOST_CUTS):
        if not 1 < line <= len(lines):
            break
        if not _is_prose(lines[line - 1 :]):
            break
        lines = lines[: line - 1]
        tree, line = _parse("\n".join(lines))
        if tree is not None:
            cut = _without_words("\n".join(lines).rstrip() + "\n", tree)
            assessment = _assess_tree(*cut)
            if assessment.level in PROGRAMS | {Completeness.UNSTARTED, Completeness.DEFINITIONS}:
                return assessment
            break
    return _assess_broken(code)


def _is_prose(tail: list[str]) -> bool:
    """Return whether these lines, the first of which is not Python, are prose after a program and not its rest."""
    beginning = [line for line in tail if line.strip()][:2]
    if not beginning or beginning[0].lstrip().startswith(_MARKDOWN):
        return True
    if beginning[0].lstrip().startswith('"""'):
        return False
    if beginning[0].rstrip().endswith(_ENDS_OF_PROSE) and not beginning[0].lstrip().startswith("#"):
        return True
    return any(reads_as_english(line) for line in beginning) or not any(is_code(line) for line in tail)


def _parse(code: str) -> tuple[ast.Module | None, int]:
    """Return the tree, or None and the number of the wrong line, 0 if it is unknown."""
    try:
        return ast.parse(code, filename="<reply>"), 0
    except SyntaxError as error:
        return None, error.lineno or 0
    except (ValueError, RecursionError, MemoryError):  # the last two: absurdly deep nesting
        return None, 0


def _without_words(code: str, tree: ast.Module) -> tuple[str, ast.Module]:
    """Return the program without single words at its end, which parse but begin prose."""
    body = list(tree.body)
    while body and isinstance(body[-1], ast.Expr) and isinstance(body[-1].value, ast.Name | ast.Constant):
        body.pop()
    while body and isinstance(body[-1], ast.AnnAssign) and body[-1].value is None:
        body.pop()
    if len(body) == len(tree.body) or not body:
        return code, tree
    end = body[-1].end_lineno or 0
    return "\n".join(code.split("\n")[:end]) + "\n", ast.Module(body, [])


def _assess_broken(code: str) -> Assessment:
    level = Completeness.NO_CODE
    if _SEEMS_TO_READ.search(code) and _SEEMS_TO_WRITE.search(code):
        level = Completeness.BROKEN
    elif _STATEMENT.search(code):
        level = Completeness.BROKEN_PART
    return Assessment(code, level, frozenset(_DEFINITION.findall(code)))


@dataclass
class _Scope:
    """The reads, writes and names of the top-level statements or of a function."""

    names: set[str]
    reads: bool = False
    writes: bool = False


def _assess_tree(code: str, tree: ast.Module) -> Assessment:
    scopes: dict[str, _Scope] = {}
    bound: set[str] = set()
    outermost = _Scope(set())
    waiting: list[tuple[ast.AST, _Scope]] = [(statement, outermost) for statement in reversed(tree.body)]
    while waiting:
        node, scope = waiting.pop()
        _note(node, scope, bound)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            scope.names.update(name.id for name in node.decorator_list if isinstance(name, ast.Name))
            scope = scopes.setdefault(node.name, _Scope(set()))
        waiting += [(child, scope) for child in ast.iter_child_nodes(node)]
    used = set().union(outermost.names, *(scope.names for scope in scopes.values()))
    defines = frozenset(
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    )
    level = _level(tree, outermost, scopes)
    return Assessment(code, level, defines, frozenset(used - bound))


def _level(tree: ast.Module, outermost: _Scope, scopes: dict[str, _Scope]) -> Completeness:
    reached = list(_reached(outermost, scopes))
    everything = [outermost, *scopes.values()]
    writes = any(scope.writes for scope in reached)
    if any(scope.reads for scope in reached) and writes:
        return Completeness.COMPLETE
    if any(isinstance(node, ast.ClassDef) and node.name in CLASSES for node in tree.body):
        return Completeness.FUNCTIONAL
    if any(scope.reads for scope in everything) and any(scope.writes for scope in everything):
        return Completeness.UNSTARTED
    if any(isinstance(node, ast.FunctionDef | ast.ClassDef) for node in tree.body):
        return Completeness.PRINTS if writes else Completeness.DEFINITIONS
    return (
        Completeness.PRINTS
        if writes
        else Completeness.NO_CODE
        if all(map(_is_value, tree.body))
        else Completeness.PART
    )


def _reached(outermost: _Scope, scopes: dict[str, _Scope]) -> Iterator[_Scope]:
    """Yield the top level and every function that it may call, directly or not."""
    seen: set[str] = set()
    waiting = [outermost]
    while waiting:
        scope = waiting.pop()
        yield scope
        called = (scope.names & scopes.keys()) - seen
        seen |= called
        waiting.extend(scopes[name] for name in called)


def _note(node: ast.AST, scope: _Scope, bound: set[str]) -> None:
    """Add the node's reads, writes and uses to the scope, and the names that it defines to `bound`."""
    match node:
        case ast.Name(id=name, ctx=ast.Load()):
            scope.names.add(name)
            scope.reads |= name in _READS
            scope.writes |= name in _WRITES
        case ast.Name(id=name) | ast.arg(arg=name):
            bound.add(name)
        case ast.Attribute(attr=name):
            scope.names.add(name)
            scope.reads |= name in _READING_ATTRIBUTES
            scope.writes |= name in _WRITING_ATTRIBUTES
            bound.add(name)
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            bound.add(name)
            if name.startswith("__"):
                scope.names.add(name)  # Python calls these methods itself
        case ast.ClassDef(name=name):
            bound.add(name)
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            for alias in names:
                bound.add((alias.asname or alias.name).split(".")[0])
                scope.reads |= alias.name == "fileinput"


def _is_value(node: ast.stmt) -> bool:
    """Return whether a statement is only a value, like lines of a sample that happen to parse."""
    return (
        isinstance(node, ast.Expr)
        and not any(
            isinstance(part, ast.Call | ast.Await | ast.Yield | ast.NamedExpr) for part in ast.walk(node)
        )
    ) or (isinstance(node, ast.AnnAssign) and node.value is None)


# Languages with braces

_SIGNATURE = re.compile(
    r"\b(?:class|struct|enum|interface|object|fun|record)\s+\w+|\b[\w:<>*&\]]+[\s*&]+\w+\s*\([^;{}()]*\)[^;{}()]*\{"
)
_SOLUTION = re.compile(rf"\b(?:class|struct|object)\s+(?:{'|'.join(CLASSES)})\b[^;{{]*\{{")


def _assess_braces(code: str, shape: ProgramShape) -> Assessment:
    bare = without_literals(code, shape)
    if shape.foreign.search(bare):
        return Assessment(code, Completeness.NO_CODE)
    if shape.main is None:
        starts = _runs_by_itself(bare, shape)
    elif starts := shape.main.search(bare) is not None:
        code = _without_tail(code, shape)
        bare = without_literals(code, shape)
    balanced = bare.count("{") == bare.count("}") and bare.count("(") == bare.count(")")
    if starts and balanced:
        whole = shape.reading.search(bare) and shape.writing.search(bare)
        return Assessment(code, Completeness.COMPLETE if whole else Completeness.PRINTS)
    if starts:
        return Assessment(code, Completeness.BROKEN)
    return Assessment(code, _level_of_part(bare, balanced, shape))


def _runs_by_itself(bare: str, shape: ProgramShape) -> bool:
    """Return whether code in a language without `main` writes, and is not a text that only mentions how to write."""
    return bool(shape.writing.search(bare)) and not any(map(reads_as_english, bare.split("\n")))


def _level_of_part(bare: str, balanced: bool, shape: ProgramShape) -> Completeness:
    if not re.search(r"[;{}=]", bare):
        return Completeness.NO_CODE
    if not balanced:
        return Completeness.BROKEN_PART
    if _SOLUTION.search(bare):
        return Completeness.FUNCTIONAL
    defines = _SIGNATURE.search(bare) or (shape.definition and shape.definition.search(bare))
    return Completeness.DEFINITIONS if defines else Completeness.PART


def _without_tail(code: str, shape: ProgramShape) -> str:
    """Return the program without the prose after it, which begins after the closing brace of `main`."""
    lines = code.split("\n")
    depth = 0
    end = 0
    named = begun = False
    for number, line in enumerate(without_literals(code, shape).split("\n")):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if begun and depth == 0 and line.strip() and _ends_program(lines[number], following):
            return "\n".join(lines[:end]) + "\n"
        depth += line.count("{") - line.count("}")
        named = named or bool(re.search(r"\bmain\s*\(", line))
        begun = begun or (named and depth > 0)
        if line.strip():
            end = number + 1
    return code


def _ends_program(line: str, following: str) -> bool:
    """Return whether a line outside all braces is not part of the program."""
    stripped = line.strip()
    if (
        stripped.startswith((*_MARKDOWN, "}", ")"))
        or stripped.endswith(_ENDS_OF_PROSE)
        or reads_as_english(line)
    ):
        return True
    return not is_code(line) and not re.search(r"[;{}=()]", line) and not following.lstrip().startswith("{")
