"""An interpreter that has started, and whose forks run programs in containers.

usage: fork_server.py SOCKET FILTER GROUP [MODULE]…

The interpreter starts and imports the modules once, as the process of a template (launcher.c). It loads the launcher as
a library, which starts containers. Process 1 of a container shares the interpreter's memory but runs only the
launcher's code; it forks the fork server, with the rights and limits of a program. The interpreter itself never reads
anything of a submission, so a fork server is like a new start of the interpreter, which takes 11 ms of CPU.

The server gets the compiled program as its standard input, loads it, and lets the library fork for each test. The fork
is a child of process 1, like every program, and runs the program as its main module. A normal start takes five times as
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
import marshal
import os
import sys

# The modules below `importlib.machinery` and `signal`, which import many modules that each fork would copy.
from _frozen_importlib_external import SourceFileLoader
from _signal import SIG_DFL, SIGINT
from _signal import signal as set_signal

# Bound to names of this module, because a program may change the attributes of modules.
from atexit import _run_exitfuncs as run_exit_functions
from gc import collect
from os import _exit as end_now
from os import getpid, kill

TYPE_CHECKING = False  # `typing` is large
if TYPE_CHECKING:
    from types import CodeType, ModuleType

# A PyDLL keeps the interpreter's lock, as a fork must.
LIBRARY = ctypes.PyDLL("/fork_server.so")
SERVE_TEMPLATE, SERVE_FORKS = LIBRARY.serve_template, LIBRARY.serve_forks
MODULE = type(sys)
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
FLUSH_FAILED = 120  # the exit status of the interpreter for a failed flush
# Stack frames below the program that a normal start does not have.
EXTRA_FRAMES = 2 if sys.version_info < (3, 12) else 1


def serve_template(template: int, system_call_filter: int, group: str) -> None:
    """Start containers, and forks of this process in them. Return in each of these fork servers."""
    rehearse()
    gc.collect()
    gc.freeze()
    if not SERVE_TEMPLATE(template, system_call_filter, group.encode()):
        os._exit(1)


def rehearse() -> None:
    """Do once what fork servers and their forks do first. First uses write to memory that each fork would copy."""
    file = os.open(__file__, os.O_RDONLY)
    content_of(file)
    os.close(file)
    marshal.loads(marshal.dumps(compile(ANY_PROGRAM, "", "exec", dont_inherit=True)))  # noqa: S302
    main_module("")
    flush()


def main_module(path: str) -> ModuleType:
    """Return a main module like that of a normal start."""
    module = MODULE("__main__")
    module.__dict__.update(
        __annotations__={},
        __builtins__=sys.modules["builtins"],
        __cached__=None,
        __file__=path,
        __loader__=SourceFileLoader("__main__", path),
    )
    return module


def status_of(end: SystemExit) -> int:
    """Return the interpreter's exit status: a C long cut to a byte, and -1 for a number that is not a C long."""
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


def content_of(file: int) -> bytes:
    """Return what is in a file."""
    return os.pread(file, os.fstat(file).st_size, 0)


for name in sys.argv[4:]:
    __import__(name)
sys.setrecursionlimit(sys.getrecursionlimit() + EXTRA_FRAMES)
serve_template(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
code: CodeType = marshal.loads(content_of(0))  # noqa: S302  (in the sandbox)
path = code.co_filename
sys.argv = [path]
sys.path[0] = path.rpartition("/")[0]
gc.freeze()
SERVE_FORKS()
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
