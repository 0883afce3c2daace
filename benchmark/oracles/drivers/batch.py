"""Calls one program on many inputs, each in a process of its own, so that none sees what another left.

Runs in the sandbox as main.py, beside the program. Standard input holds a JSON object: the inputs, and seconds of CPU
for each and for all of them. For each input one line of JSON is printed at once: the output, or why there is none, and
the seconds it took. When the time for all is used up, the inputs that are left have no line. Python 3.8 or newer.
"""

from __future__ import annotations

import gc
import json
import math
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


def in_a_child(call: Callable[[str], str], given: str, seconds: float) -> dict[str, Any]:
    """What the call makes of the input, and the seconds of CPU it took."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        os.dup2(2, 1)  # our own lines are not for the program to write
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, seconds)
        most = math.ceil(seconds) + 1  # for a program that takes the signal
        resource.setrlimit(resource.RLIMIT_CPU, (most, most))

        def work() -> None:
            with os.fdopen(writing, "wb") as end:
                end.write(call(given).encode("utf-8", "replace"))

        os._exit(0 if with_deep_stack(work) else 1)
    os.close(writing)
    output, overdue = received(reading, 3.0 * seconds + 2)
    if overdue or len(output) > LONGEST:
        os.kill(child, signal.SIGKILL)
    _, status, used = os.wait4(child, 0)
    spent = used.ru_utime + used.ru_stime
    if overdue or spent >= seconds or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGPROF):
        return {"fault": "TLE", "seconds": max(spent, seconds)}
    if len(output) > LONGEST:
        return {"fault": "OLE", "seconds": spent}
    if status:
        return {"fault": "RTE", "seconds": spent}
    return {"output": output.decode("utf-8", "replace"), "seconds": spent}


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
    left = request["total"]
    for given in request["inputs"]:
        if left <= 0:
            break
        line = in_a_child(call, given, min(request["each"], left))
        left -= line["seconds"]
        printed.write(json.dumps(line) + "\n")
        printed.flush()


main()
