"""Calls one program on many inputs, each in a process of its own, so that none sees what another left.

Runs in the sandbox as main.py, beside the program. Standard input holds a JSON object: the inputs, and seconds of CPU
for each. For each input one line of JSON is printed at once: the output, or why there is none. Python 3.8 or newer.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import select
import signal
import sys
from collections.abc import Callable
from typing import Any

from hintbench_calls import load, with_deep_stack

LONGEST = 2**20
"""Bytes of one output; a longer one is a fault."""


def in_a_child(call: Callable[[str], str], given: str, seconds: int) -> dict[str, Any]:
    """What the call makes of the input."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        signal.signal(signal.SIGXCPU, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))

        def work() -> None:
            with os.fdopen(writing, "wb") as end:
                end.write(call(given).encode("utf-8", "replace"))

        os._exit(0 if with_deep_stack(work) else 1)
    os.close(writing)
    output, overdue = received(reading, 3.0 * seconds + 2)
    if overdue or len(output) > LONGEST:
        os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    if overdue or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU):
        return {"fault": "TLE"}
    if len(output) > LONGEST:
        return {"fault": "OLE"}
    if status:
        return {"fault": "RTE"}
    return {"output": output.decode("utf-8", "replace")}


def received(reading: int, seconds: float) -> tuple[bytes, bool]:
    """What comes until the other end is closed, and whether that took more than so many seconds."""
    output = b""
    with os.fdopen(reading, "rb", buffering=0) as end:
        while len(output) <= LONGEST:
            if not select.select([end], [], [], seconds)[0]:
                return output, True
            piece = end.read(65536)
            if not piece:
                break
            output += piece
    return output, False


def main() -> None:
    printed = sys.stdout
    request = json.loads(sys.stdin.read())
    gc.freeze()  # so that a process of its own need not copy what all have
    call = load(os.path.dirname(os.path.abspath(__file__)))
    for given in request["inputs"]:
        printed.write(json.dumps(in_a_child(call, given, request["seconds"])) + "\n")
        printed.flush()


main()
