"""The fork server: an interpreter in the sandbox that starts and compiles the program once, and forks for each test.

usage: fork_server.py SOCKET FILTER GROUP

The interpreter starts once, as the process of a template (launcher.c). It loads the launcher as a library, which
starts containers as forks of the interpreter. Process 1 of a container runs only the launcher's code; it forks the
fork server, with the rights and limits of a program, before the first program runs. The interpreter itself never
reads anything of a submission, so a fork server is like a new start of the interpreter, which takes 11 ms of CPU.

The server gets the names of the program and its modules from the launcher (descriptor 3). It imports the modules,
compiles the program, and waits. For each message it forks. The fork is a child of the launcher, like every program;
it takes the descriptors of the message and runs the program as its main module. A normal start takes five times as
long, most of it for memory pages that both need.
For the same reason a fork ends without the interpreter's finalization, but first does everything of it that a
program can observe: it waits for threads, calls registered functions, finalizes the program's objects, and flushes
the output. Two differences remain observable, one more stack frame and the recursion limit, so programs that read
these are started normally (`judge.compilation.preloading`).

The server is confined like programs, and its forks inherit that. It is not dumpable, so no fork can write to its
memory. It needs CPython 3.8 or newer on Linux and imports nothing of the project.
"""

from __future__ import annotations  # Python 3.8

import ctypes
import gc
import importlib
import os
import sys

# The C modules below `signal` and `socket`, which import many modules that each fork would copy.
from _signal import SIG_DFL, SIGINT
from _signal import signal as set_signal
from _socket import AF_UNIX, CMSG_SPACE, SCM_RIGHTS, SOCK_SEQPACKET, SOL_SOCKET, socket, socketpair

# Bound to names of this module, because a program may change the attributes of modules.
from atexit import _run_exitfuncs as run_exit_functions
from gc import collect
from importlib.machinery import SourceFileLoader
from os import _exit as end_now
from os import getpid, kill
from types import CodeType, ModuleType

LAUNCHER = 3
LAUNCHER_LIBRARY = "/fork_server.so"
LONGEST_REQUEST = 2**16
REQUEST = bytearray(LONGEST_REQUEST)  # here and not in the fork server, because new memory costs page faults
LIBRARY = ctypes.PyDLL(None)  # a PyDLL keeps the interpreter's lock, as a fork must
# Looked up here, because the first look-up of a function writes to 50 pages.
PRCTL, SYSTEM_CALL = LIBRARY.prctl, LIBRARY.syscall
BEFORE_FORK = ctypes.pythonapi.PyOS_BeforeFork
AFTER_FORK_PARENT, AFTER_FORK_CHILD = (
    ctypes.pythonapi.PyOS_AfterFork_Parent,
    ctypes.pythonapi.PyOS_AfterFork_Child,
)
ANY_PROGRAM = """
import sys
class A:
    def f(self, *a, b=1):
        for i, j in enumerate(a):
            if i < len(a) and not b: self[i] += [x for x in a if x]
            elif j == -2 * b: return f"{j} "
        while True:
            try: lambda x: {x: 1}
            except ValueError as e: raise
print(*map(int, input().split()), sep="\\n")
"""
CLONE_PARENT, SIGCHLD = 0x8000, 17
CLONE = {"x86_64": 56, "aarch64": 220}[os.uname().machine]
PR_SET_DUMPABLE = 4
FLUSH_FAILED = 120  # the exit status of the interpreter for a failed flush
# Stack frames below the program that a normal start does not have.
EXTRA_FRAMES = 2 if sys.version_info < (3, 12) else 1


def prctl(option: int, value: int) -> None:
    """Call the C library's function. End the process where it fails."""
    if PRCTL(option, value, 0, 0, 0):
        os._exit(1)


def serve_template(template: int, system_call_filter: int, group: str) -> None:
    """Start containers as forks of this process. Return in each fork server, and never in another process."""
    rehearse()
    gc.collect()
    gc.freeze()
    BEFORE_FORK()
    if ctypes.PyDLL(LAUNCHER_LIBRARY).serve_template(template, system_call_filter, group.encode()):
        os._exit(1)
    AFTER_FORK_CHILD()


def rehearse() -> None:
    """Do once what fork servers and their forks do first. First uses write to memory that each fork would copy."""
    compile(ANY_PROGRAM, "", "exec", dont_inherit=True)
    ours, its = socketpair(AF_UNIX, SOCK_SEQPACKET)
    ours.send(b"x\0")
    request(its)
    own = os.dup(its.fileno())
    ours.sendmsg([b"run"], [(SOL_SOCKET, SCM_RIGHTS, own.to_bytes(4, sys.byteorder))])
    take_descriptors(received(its), first=own)
    os.close(own)
    prctl(PR_SET_DUMPABLE, 0)
    main_module("")
    flush()
    ours.close()
    its.close()


def request(launcher: socket) -> list[str]:
    """Return the words of the launcher's first message: the path of the program and the modules to import."""
    length = launcher.recv_into(REQUEST)
    return REQUEST[: length - 1].decode().split("\0")


def received(launcher: socket) -> list[int]:
    """Return the descriptors of the launcher's next message. End the process if the launcher has ended."""
    message, ancillary, _, _ = launcher.recvmsg(16, CMSG_SPACE(3 * 4))
    if not message:
        os._exit(0)
    return memoryview(ancillary[0][2]).cast("i").tolist()


def take_descriptors(descriptors: list[int], first: int) -> None:
    """Move the descriptors to the numbers from `first` on."""
    for place, descriptor in enumerate(descriptors, first):
        os.dup2(descriptor, place)
        os.close(descriptor)


def serve_forks(launcher: socket) -> None:
    """Fork for each message of the launcher. Return in each fork, and never in the server."""
    prctl(PR_SET_DUMPABLE, 0)
    gc.freeze()
    launcher.send(b"ready")
    while True:
        descriptors = received(launcher)
        BEFORE_FORK()
        process = SYSTEM_CALL(CLONE, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0)
        if process == 0:
            AFTER_FORK_CHILD()
            launcher.close()
            take_descriptors(descriptors, first=0)
            prctl(PR_SET_DUMPABLE, 1)
            return
        AFTER_FORK_PARENT()
        for descriptor in descriptors:
            os.close(descriptor)
        if process < 0:
            os._exit(1)
        launcher.send(str(process).encode())


def main_module(path: str) -> ModuleType:
    """Return a main module like that of a normal start."""
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
    """Return the interpreter's exit status: a C long cut to a byte, and -1 for a number that is no C long."""
    if end.code is None:
        return 0
    if isinstance(end.code, int):
        return (end.code if -(2**63) <= end.code < 2**63 else -1) & 0xFF
    sys.stderr.write(f"{end.code}\n")
    return 1


def is_closed(stream: object) -> bool:
    """Return whether the stream says that it is closed."""
    try:
        return bool(getattr(stream, "closed", False))
    except BaseException:  # noqa: BLE001  (a program's own stream may raise anything)
        return False


def flush() -> bool:
    """Flush the open output streams. Return whether all succeeded."""
    succeeded = True
    for stream in (getattr(sys, "stdout", None), getattr(sys, "stderr", None)):
        try:
            if stream is not None and not is_closed(stream):
                stream.flush()
        except BaseException:  # noqa: BLE001
            succeeded = False
    return succeeded


def finish(status: int, interrupted: bool) -> None:
    """End like the interpreter, without freeing the memory that it shares with all forks."""
    flush()
    if "threading" in sys.modules:
        sys.modules["threading"]._shutdown()
    run_exit_functions()
    succeeded = flush()
    sys.stdin, sys.stdout, sys.stderr = sys.__stdin__, sys.__stdout__, sys.__stderr__
    sys.modules.pop("__main__", None)
    collect()
    flush()
    if interrupted:
        set_signal(SIGINT, SIG_DFL)
        kill(getpid(), SIGINT)
    end_now(status if succeeded else FLUSH_FAILED)


def code_of(path: str) -> CodeType:
    """Return the compiled program."""
    with open(path, "rb") as file:
        return compile(file.read(), path, "exec", dont_inherit=True)


serve_template(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
launcher = socket(AF_UNIX, SOCK_SEQPACKET, 0, LAUNCHER)
path, *modules = request(launcher)
for name in modules:
    importlib.import_module(name)
if modules:
    gc.collect()
code = code_of(path)
sys.argv = [path]
sys.path[0] = os.path.dirname(path)
sys.setrecursionlimit(sys.getrecursionlimit() + EXTRA_FRAMES)
serve_forks(launcher)
sys.modules["__main__"] = main_module(path)  # created in the fork, whose end finalizes it
status, interrupted = 0, False
try:
    exec(code, sys.modules["__main__"].__dict__)  # noqa: S102  (in the sandbox)
except SystemExit as end:
    status = status_of(end)
except BaseException as error:  # noqa: BLE001
    status, interrupted = 1, type(error) is KeyboardInterrupt
    sys.excepthook(type(error), error, error.__traceback__ and error.__traceback__.tb_next)
finish(status, interrupted)
