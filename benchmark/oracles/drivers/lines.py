"""Prints the statements of a program, and the statements that each of several inputs reaches.

Runs in the sandbox as main.py next to the program (solution.py). Standard input contains a JSON object: the inputs, CPU
seconds for each and for all inputs, and whether the program is complete (reads standard input) or a function. The first
line of JSON contains the line numbers of all statements. One line per input follows immediately: the statements
reached, including those before a fault. No input starts after the total time. Python 3.8 or newer.
"""

from __future__ import annotations

import gc
import io
import json
import os
import resource
import signal
import sys
import threading
import tokenize
from typing import Any

from hintbench_calls import load, with_deep_stack
from hintbench_statements import Statements

FOLDER = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(FOLDER, "solution.py")


def reached(given: str, seconds: int, complete: bool) -> set[int]:
    """Return the lines that a separate process reaches with this input."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        signal.signal(signal.SIGXCPU, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        with_deep_stack(lambda: traced(given, complete, writing))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as end:
        numbers = {int(number) for number in end.read().split(b"\n")[:-1]}
    os.waitpid(child, 0)
    return numbers


def traced(given: str, complete: bool, writing: int) -> None:
    """Run the program and write each line's number when it is first reached, because the process may be killed."""
    seen: set[int] = set()

    def trace(frame: Any, event: str, _argument: object) -> Any:
        if frame.f_code.co_filename != PROGRAM:
            return None
        if event == "line" and frame.f_lineno not in seen:
            seen.add(frame.f_lineno)
            os.write(writing, b"%d\n" % frame.f_lineno)
        return trace

    threading.settrace(trace)
    sys.settrace(trace)
    if not complete:
        load(FOLDER)(given)
        return
    sys.stdin, sys.stdout = io.TextIOWrapper(io.BytesIO(given.encode())), sys.stderr
    with open(PROGRAM, "rb") as source:
        program = compile(source.read(), PROGRAM, "exec", dont_inherit=True)
    exec(program, {"__name__": "__main__", "__file__": PROGRAM})  # noqa: S102  (in the sandbox)


def main() -> None:
    printed = sys.stdout
    request = json.loads(sys.stdin.read())
    with tokenize.open(PROGRAM) as source:
        statements = Statements(source.read())
    printed.write(json.dumps({"statements": sorted(statements.lines)}) + "\n")
    gc.freeze()  # child processes need not copy shared objects
    for given in request["inputs"]:
        if resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime > request["total"]:
            break
        lines = reached(given, request["seconds"], request["complete"])
        printed.write(json.dumps({"reached": sorted(statements.reached(lines))}) + "\n")
        printed.flush()


main()
