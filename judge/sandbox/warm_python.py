"""An interpreter of the sandbox that has started, and read the program, once for all tests: each is a fork of it.

usage: warm_python.py PROGRAM MODULE…

It imports the modules, compiles the program, and waits for the launcher (descriptor 3). For each message it forks.
The fork is a child of the launcher, as every program is; it takes the descriptors of the message and runs the
program as its main module. A start of one's own takes five times as long, most of it for pages of memory
that both need; so a fork also ends without taking the interpreter apart, but does before it all that a
program can notice of that: it waits for threads, calls what was registered, finalises the program's objects,
and flushes what was printed. What remains to be seen are a frame of ours and the recursion limit, so programs
that look at these are not started this way (`judge.warm_start`).

The interpreter is confined as programs are, and its forks inherit that. It is not dumpable, so that no fork can
write into its memory. Needs CPython 3.8 or newer on Linux and knows nothing of the project.
"""

from __future__ import annotations  # Python 3.8

import ctypes
import gc
import importlib
import os
import sys

# The modules in C below `signal` and `socket`, which would bring much with them that forks then copy.
from _signal import SIG_DFL, SIGINT
from _signal import signal as set_signal
from _socket import CMSG_SPACE, socket

# Kept under names of our own, because a program may change what modules hold.
from atexit import _run_exitfuncs as run_exit_functions
from gc import collect
from importlib.machinery import SourceFileLoader
from os import _exit as end_now
from os import getpid, kill
from types import CodeType, ModuleType

LAUNCHER = 3
CLONE_PARENT, SIGCHLD = 0x8000, 17
SYS_CLONE = {"x86_64": 56, "aarch64": 220}
PR_SET_DUMPABLE = 4
FLUSH_FAILED = 120  # the interpreter's own exit status for it
# Calls on the stack below the program that a fresh start does not have.
DEEPER = 2 if sys.version_info < (3, 12) else 1


def wait_for_a_test(libc: ctypes.PyDLL) -> None:
    """Return in each fork; in the interpreter itself, never."""
    clone = SYS_CLONE[os.uname().machine]
    launcher = socket(fileno=LAUNCHER)
    if libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0):
        os._exit(1)
    gc.collect()
    gc.freeze()
    launcher.send(b"ready")
    while True:
        message, ancillary, _, _ = launcher.recvmsg(16, CMSG_SPACE(3 * 4))
        if not message:
            os._exit(0)
        descriptors = memoryview(ancillary[0][2]).cast("i").tolist()
        ctypes.pythonapi.PyOS_BeforeFork()
        process = libc.syscall(clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0)
        if process == 0:
            ctypes.pythonapi.PyOS_AfterFork_Child()
            launcher.close()
            for place, descriptor in enumerate(descriptors):
                os.dup2(descriptor, place)
                os.close(descriptor)
            libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
            return
        ctypes.pythonapi.PyOS_AfterFork_Parent()
        for descriptor in descriptors:
            os.close(descriptor)
        if process < 0:
            os._exit(1)
        launcher.send(str(process).encode())


def main_module(path: str) -> ModuleType:
    module = ModuleType("__main__")
    module.__dict__.update(
        __annotations__={},
        __builtins__=sys.modules["builtins"],
        __cached__=None,
        __file__=path,
        __loader__=SourceFileLoader("__main__", path),
    )
    return module


def status_of(end: SystemExit) -> int:
    """The exit status the interpreter makes of it: a C long cut to a byte, and -1 for what is no C long."""
    if end.code is None:
        return 0
    if isinstance(end.code, int):
        return (end.code if -(2**63) <= end.code < 2**63 else -1) & 0xFF
    sys.stderr.write(f"{end.code}\n")
    return 1


def is_closed(stream: object) -> bool:
    try:
        return bool(getattr(stream, "closed", False))
    except BaseException:  # noqa: BLE001  (whatever a program's own stream raises)
        return False


def flush() -> bool:
    """Flush both streams that are open; whether that went well."""
    went_well = True
    for stream in (getattr(sys, "stdout", None), getattr(sys, "stderr", None)):
        try:
            if stream is not None and not is_closed(stream):
                stream.flush()
        except BaseException:  # noqa: BLE001
            went_well = False
    return went_well


def finish(status: int, interrupted: bool) -> None:
    """End as the interpreter does, but for freeing what it shares with all forks."""
    flush()
    if "threading" in sys.modules:
        sys.modules["threading"]._shutdown()
    run_exit_functions()
    went_well = flush()
    sys.stdin, sys.stdout, sys.stderr = sys.__stdin__, sys.__stdout__, sys.__stderr__
    sys.modules.pop("__main__", None)
    collect()
    flush()
    if interrupted:
        set_signal(SIGINT, SIG_DFL)
        kill(getpid(), SIGINT)
    end_now(status if went_well else FLUSH_FAILED)


def code_of(path: str) -> CodeType:
    with open(path, "rb") as file:
        return compile(file.read(), path, "exec", dont_inherit=True)


path = sys.argv[1]
for name in sys.argv[2:]:
    importlib.import_module(name)
code = code_of(path)
sys.argv = [path]
sys.path[0] = os.path.dirname(path)
sys.setrecursionlimit(sys.getrecursionlimit() + DEEPER)
wait_for_a_test(ctypes.PyDLL(None))  # which keeps the interpreter's lock, as a fork must
sys.modules["__main__"] = main_module(path)  # made in the fork, so that its end finalises it
status, interrupted = 0, False
try:
    exec(code, sys.modules["__main__"].__dict__)  # noqa: S102  (in the sandbox)
except SystemExit as end:
    status = status_of(end)
except BaseException as error:  # noqa: BLE001
    status, interrupted = 1, type(error) is KeyboardInterrupt
    sys.excepthook(type(error), error, error.__traceback__ and error.__traceback__.tb_next)
finish(status, interrupted)
