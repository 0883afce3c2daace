"""Functional problems: the program is a class with a method that a driver calls (docs/spec.md 10.3, 10.8).

An input contains one JSON value per line, one for each parameter; the answer is the result as one JSON value. So the
tests of a functional problem are texts, and its programs are judged as programs of several files.
"""

import ast
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent


class NotFunctionalError(ValueError):
    """An error for a definition that is not a class with one method, or for a language without a driver."""


@dataclass(frozen=True)
class Signature:
    """The required method of a program: its name and the Python types of its parameters and its result.

    If the result is `None`, the method changes its first argument.
    """

    method: str
    parameters: tuple[str, ...]
    result: str

    @classmethod
    def of(cls, definition: str) -> "Signature":
        """Return the signature in a problem's definition, which has no body. Raises NotFunctionalError."""
        try:
            body = ast.parse(f"{definition.rstrip()}\n        pass\n").body
        except SyntaxError as error:
            raise NotFunctionalError(f"the definition cannot be read: {error}") from None
        classes = [node for node in body if isinstance(node, ast.ClassDef)]
        methods = [node for one in classes for node in one.body if isinstance(node, ast.FunctionDef)]
        if len(methods) != 1:
            raise NotFunctionalError(f"the definition has {len(methods)} methods instead of one")
        [method] = methods
        return cls(
            method.name,
            tuple(
                ast.unparse(one.annotation) if one.annotation else ""
                for one in method.args.args
                if one.arg != "self"
            ),
            ast.unparse(method.returns) if method.returns else "",
        )

    @property
    def request(self) -> str:
        """Return the instructions that prompts contain in addition to the statement."""
        return (
            "This problem does not use standard input or output, whatever is said elsewhere: the program defines the "
            f"class Solution with the method {self.method} as it is given, and the judge calls it."
        )

    def to_json(self) -> dict[str, Any]:
        """Return all fields by name, for `from_json`."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Signature":
        """Return the signature that `to_json` returned."""
        return cls(data["method"], tuple(data["parameters"]), data["result"])


def driven(source: str, signature: Signature, language: str) -> dict[str, str]:
    """Return the files of a program that reads the arguments and prints the result. Raises NotFunctionalError."""
    if language != "python":
        raise NotFunctionalError(f"programs for functional problems are written in python, not in {language}")
    return {"main.py": _text("driver.py"), **called(source, signature)}


def called(source: str, signature: Signature | None) -> dict[str, str]:
    """Return the files for a driver that calls the program's method (calls.py).

    Without a signature, the driver calls the function `solution`.
    """
    return {
        "solution.py": source,
        "signature.json": json.dumps(signature and signature.to_json()),
        "hintbench_calls.py": _text("calls.py"),
        **library(),
    }


def library() -> dict[str, str]:
    """Return the files with the values and the names of functional problems, for drivers in the sandbox."""
    return {"hintbench_values.py": _text("values.py"), "hintbench_names.py": _text("names.py")}


def normal_answer(text: str, signature: Signature) -> str:
    """Return an answer of a statement in the form that the driver prints. Raises ValueError if it is not JSON."""
    from benchmark.functional.values import write

    return write(json.loads(text), signature.result)


def _text(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")
