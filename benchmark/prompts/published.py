"""Import of the published USACO prompts from the user's clone into a folder of templates.

The file is parsed and never executed: three functions that each return one f-string are interpreted branch by branch.
None of their texts is part of this program.
"""

import ast
import hashlib
import json
import os
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmark.prompts.templates import WHOLE, TemplateError, templates_with

FILE = "USACOBench/prompts.py"
RECORD = "source.json"
"""The file beside the templates with their source."""

_QUERY = {"problem_description": "problem", "retrieval_text": "retrieved", "reflection_buffer": "attempts"}
"""The query keys of the functions, and the placeholders for them in templates."""
_PROMPTS: Mapping[str, tuple[str, str | bool]] = {
    "whole/solve": ("solve_prompt_fn", ""),
    "whole/episodic": ("retrieval_prompt_fn", "EPISODIC"),
    "whole/semantic": ("retrieval_prompt_fn", "SEMANTIC"),
    "whole/episodic_semantic": ("retrieval_prompt_fn", "EPISODIC_SEMANTIC"),
    "whole/reflexion": ("reflexion_prompt_fn", False),
    "whole/reflexion_retrieval": ("reflexion_prompt_fn", True),
}
"""For each template its function, and the branch: a kind of retrieval, or with or without retrieval."""
_FRAMES = {
    "similar_problems": "[BEGIN SIMILAR PROBLEMS]\n\n\n{{similar_problems}}\n[END SIMILAR PROBLEMS]\n",
    "similar_problem": " {{ordinal}} problem and solution \n\n{{text}}",
    "textbook_excerpt": "[BEGIN TEXTBOOK EXCERPT]\n{{excerpt}}\n[END TEXTBOOK EXCERPT]\n",
}
"""The markers of retrieved texts in the published code (docs/spec.md 6), whose prompts contain these texts as one."""


class UnexpectedShapeError(Exception):
    """The folder is not a clone of the published repository; the message says what is missing and where."""


@dataclass(frozen=True)
class ImportedPrompts:
    """The templates of a commit by name."""

    commit: str
    templates: Mapping[str, str]


def import_prompts(clone: Path, output: Path) -> ImportedPrompts:
    """Write the prompts of the clone's commit to a new folder for the setting `prompts`.

    Raises UnexpectedShapeError, and OSError when the folder cannot be written. The folder is created as a whole or not
    at all.
    """
    commit, source = _read_clone(clone)
    try:
        templates = read_prompts(source)
        output.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=output.parent, prefix=f".{output.name}-") as scratch:
            folder = Path(scratch) / "prompts"
            _write(folder, commit, templates)
            folder.rename(output)
    except UnexpectedShapeError as error:
        raise UnexpectedShapeError(f"{clone} at commit {commit[:12]}: {error}") from None
    return ImportedPrompts(commit, templates)


def read_prompts(source: str) -> dict[str, str]:
    """Return the templates by name, with the markers of retrieved texts. Raises UnexpectedShapeError."""
    try:
        module = ast.parse(source)
    except (SyntaxError, ValueError) as error:
        raise UnexpectedShapeError(f"{FILE} is not valid Python: {error}") from None
    functions = {node.name: node for node in module.body if isinstance(node, ast.FunctionDef)}
    wanted = dict.fromkeys(function for function, _ in _PROMPTS.values())
    if missing := [name for name in wanted if name not in functions]:
        raise UnexpectedShapeError(
            f"looked for the functions {', '.join(wanted)} in {FILE}, and there is no {', '.join(missing)}"
        )
    templates = {}
    for name, (function, branch) in _PROMPTS.items():
        text = _Reader(functions[function], branch).read()
        if missing := sorted(
            key for key, part in _QUERY.items() if part in WHOLE[name] and part not in _parts(text)
        ):
            raise UnexpectedShapeError(
                f"looked for query[{missing[0]!r}] in the text that {function} returns"
                f"{f' for {branch}' if branch else ''} ({FILE}), and it is not there"
            )
        templates[name] = text
    return templates | _FRAMES


def source_of(folder: str) -> dict[str, Any] | None:
    """Return the source of the folder's templates, or None for a folder that was not imported.

    `edited` says whether a template has been changed, added or removed since. Raises TemplateError.
    """
    record = Path(folder) / RECORD
    if not record.is_file():
        return None
    try:
        source = json.loads(record.read_text(encoding="utf-8"))
        written = source.pop("templates")
    except (OSError, ValueError, KeyError, AttributeError) as error:
        raise TemplateError(f"{record} cannot be read ({error}). Import the prompts again.") from None
    return {**source, "edited": _hashes(Path(folder)) != written}


def _read_clone(clone: Path) -> tuple[str, str]:
    """Return the commit that is checked out and its file of prompts. Raises UnexpectedShapeError."""
    if not clone.is_dir():
        raise UnexpectedShapeError(f"{clone} is not a folder; looked for a git clone with {FILE}")
    commit = _git(clone, "rev-parse", "--verify", "HEAD^{commit}", wanted="a git clone with a commit").strip()
    return commit, _git(
        clone, "cat-file", "blob", f"{commit}:{FILE}", wanted=f"{FILE} in commit {commit[:12]}"
    )


def _git(clone: Path, *arguments: str, wanted: str) -> str:
    """Return the output of git. Raises UnexpectedShapeError."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", "-C", str(clone), *arguments],
            capture_output=True,
            check=True,
            env=environment | {"GIT_NO_LAZY_FETCH": "1"},
        )
        return done.stdout.decode("utf-8")
    except (OSError, subprocess.CalledProcessError, UnicodeDecodeError) as error:
        said = (
            error.stderr.decode("utf-8", "replace").strip()
            if isinstance(error, subprocess.CalledProcessError)
            else error
        )
        raise UnexpectedShapeError(f"looked for {wanted} in {clone}: {said}") from None


class _Reader:
    """An interpreter of one function, which returns its text with `{{name}}` for each query key."""

    def __init__(self, function: ast.FunctionDef, branch: str | bool) -> None:
        self._function = function
        self._branch = branch
        self._parameters = [argument.arg for argument in function.args.args]
        self._texts: dict[str, str] = {}
        self._assigned = {
            node.id
            for node in ast.walk(function)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }

    def read(self) -> str:
        """Return the text. Raises UnexpectedShapeError."""
        text = self._run(self._function.body)
        if text is None:
            raise self._unlike(self._function, "a return of one text")
        return text

    def _run(self, statements: list[ast.stmt]) -> str | None:
        """Return the text of the first return statement that is reached, or None."""
        for statement in statements:
            match statement:
                case ast.Return(value=ast.expr() as value):
                    return self._text(value)
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    if name not in self._parameters:  # one function overwrites its own parameter by mistake
                        self._texts[name] = self._text(value)
                case ast.If(test=test, body=body, orelse=orelse):
                    returned = self._run(body if self._holds(test) else orelse)
                    if returned is not None:
                        return returned
                case ast.Expr(value=ast.Constant()) | ast.Pass():
                    pass
                case _:
                    raise self._unlike(statement, "assignments, ifs and a return")
        return None

    def _holds(self, test: ast.expr) -> bool:
        match test:
            case ast.Compare(
                left=ast.Name(), ops=[ast.Eq() | ast.Is()], comparators=[ast.Attribute(attr=kind)]
            ):
                return kind == self._branch
            case ast.Name(id=name) if name in self._parameters:
                return self._branch is True
        raise self._unlike(test, "a test of the kind of retrieval or of a parameter")

    def _text(self, value: ast.expr) -> str:
        match value:
            case ast.Constant(value=str(text)):
                if "{{" in text:
                    raise self._unlike(
                        value, "a text without double braces, which mark what is filled in here"
                    )
                return text
            case ast.JoinedStr(values=parts):
                return "".join(self._text(part) for part in parts)
            case ast.FormattedValue(value=inner, conversion=-1, format_spec=None):
                return self._text(inner)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._text(left) + self._text(right)
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(key))) if (
                name == self._parameters[0] and key in _QUERY
            ):
                return f"{{{{{_QUERY[key]}}}}}"
            case ast.Name(id=name) if name in self._assigned - {*self._parameters}:
                return self._texts.get(name, "")  # assigned in a branch that is not taken
        raise self._unlike(
            value, f"literals, names of them, and {', '.join(f'query[{key!r}]' for key in _QUERY)}"
        )

    def _unlike(self, node: ast.stmt | ast.expr, wanted: str) -> UnexpectedShapeError:
        return UnexpectedShapeError(
            f"looked for {wanted} in {self._function.name} ({FILE}, line {node.lineno}), and found: "
            f"{ast.unparse(node).splitlines()[0][:100]}"
        )


def _parts(text: str) -> set[str]:
    return {part for part in _QUERY.values() if f"{{{{{part}}}}}" in text}


def _write(folder: Path, commit: str, templates: Mapping[str, str]) -> None:
    """Write the templates and their record. Raises UnexpectedShapeError for a text that a template cannot hold."""
    for name, text in templates.items():
        path = folder / f"{name}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(f"{text}\n\n".encode())  # two line ends at the end of a file belong to no template
    record = {"source": "usaco", "commit": commit, "file": FILE, "templates": _hashes(folder)}
    (folder / RECORD).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    read = templates_with(str(folder)).texts
    if unlike := [name for name, text in templates.items() if read[name] != text]:
        raise UnexpectedShapeError(
            f"the text of {unlike[0]} has characters that a template cannot hold ({FILE})"
        )


def _hashes(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).with_suffix("").as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*.txt"))
    }
