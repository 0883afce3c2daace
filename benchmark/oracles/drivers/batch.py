"""Calls one program on many inputs, each in a separate process, so that calls cannot affect each other.

Runs in the sandbox as main.py next to the program. Standard input contains a JSON object: the inputs, and CPU seconds
for each and for all inputs. Prints one line of JSON for each input immediately: the output or the fault, and the CPU
seconds. Inputs after the total time have no line. Python 3.8 or newer.
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
"""Maximum size of an output in bytes; a longer one is a fault."""


def run_in_child(call: Callable[[str], str], given: str, seconds: float) -> dict[str, Any]:
    """Return the call's output or fault for the input, and its CPU seconds."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        os.dup2(2, 1)  # the program must not write result lines
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, seconds)
        maximum = math.ceil(seconds) + 1  # for a program that catches the signal
        resource.setrlimit(resource.RLIMIT_CPU, (maximum, maximum))

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
    """Return the data until the other end closes, and whether a wait exceeded `seconds`."""
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
    gc.freeze()  # child processes need not copy shared objects
    call = load(os.path.dirname(os.path.abspath(__file__)))
    left = request["total"]
    for given in request["inputs"]:
        if left <= 0:
            break
        line = run_in_child(call, given, min(request["each"], left))
        left -= line["seconds"]
        printed.write(json.dumps(line) + "\n")
        printed.flush()


main()
