"""Calls of the function in a program (solution.py) with the text of an input. They return the text of the result.

signature.json contains the signature of a functional problem, or null for a program whose function `solution` takes
and returns texts. This module runs in the sandbox with Python 3.8 or newer.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

from hintbench_names import find_function, usual_names
from hintbench_values import read_arguments, write

STACK = 128 * 2**20
FRAMES = 10**6


def load(folder: str) -> Callable[[str], str]:
    """Return the program's function, from text to text. Output of the program itself goes to standard error."""
    sys.stdout = sys.stderr
    with open(os.path.join(folder, "signature.json"), encoding="utf-8") as file:
        signature = json.load(file)
    path = os.path.join(folder, "solution.py")
    with open(path, "rb") as source:
        program = compile(source.read(), path, "exec", dont_inherit=True)
    names = usual_names()
    exec(program, names)  # noqa: S102  (in the sandbox)
    if signature is None:
        return lambda given: str(find_function(names, "solution")(given))
    method, types = signature["method"], signature["parameters"]

    def call(given: str) -> str:
        function = find_function(names, method, ("Solution", "BruteforceSolution"))
        arguments = read_arguments(given, types, names)
        value = function(*arguments)
        if signature["result"] == "None":  # the method changes its first argument
            value, kind = arguments[0], types[0]
        else:
            kind = signature["result"]
        text: str = write(value, kind)
        return text

    return call


def with_deep_stack(work: Callable[[], None]) -> bool:
    """Do the work in a thread with a deep stack. Print an exception, and return whether there was none."""
    ended: list[Any] = []

    def run() -> None:
        try:
            work()
            ended.append(True)
        except BaseException:  # noqa: BLE001  (printed like an uncaught exception of the program)
            sys.excepthook(*sys.exc_info())

    sys.setrecursionlimit(FRAMES)
    threading.stack_size(STACK)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return bool(ended)
