"""Stops an interpreter of the sandbox just before it opens the program; each test is a fork that goes on from there.

The interpreter imports this module by itself while it starts, with all that a start costs behind it. It then
waits for the launcher (descriptor 3) and forks for each message. The fork is a child of the launcher, as every
program is; it takes the descriptors and limits of the message, returns from this module, and so runs the program
exactly as a fresh start would: no frame, no exception handler and no changed path of ours is left in it.

The interpreter is confined as programs are. It is not dumpable, so that no fork can write into its memory. Needs
CPython 3.8 or newer on Linux and knows nothing of the project.
"""

from __future__ import annotations  # Python 3.8

import ctypes
import gc
import importlib
import os
import resource
import socket
import sys

LAUNCHER = 3
CLONE_PARENT, SIGCHLD = 0x8000, 17
SYS_CLONE = {"x86_64": 56, "aarch64": 220}
PR_SET_DUMPABLE = 4


def wait_for_the_program() -> None:
    """Return in each fork; in the interpreter itself, never."""
    libc = ctypes.PyDLL(None, use_errno=True)  # holds the interpreter's lock, as a fork must
    clone = SYS_CLONE[os.uname().machine]
    launcher = socket.socket(fileno=LAUNCHER)
    for name in os.environ.pop("JUDGE_MODULES").split():
        importlib.import_module(name)
    # As it would be without us.
    sys.path.remove(os.environ.pop("PYTHONPATH"))
    sys.path_importer_cache.clear()
    if libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0):
        os._exit(1)
    gc.collect()
    gc.freeze()  # less memory is copied when a fork ends
    launcher.send(b"ready")
    while True:
        message, ancillary, _, _ = launcher.recvmsg(256, socket.CMSG_SPACE(3 * 4))
        if not message:
            os._exit(0)
        descriptors = memoryview(ancillary[0][2]).cast("i").tolist()
        ctypes.pythonapi.PyOS_BeforeFork()
        process = libc.syscall(clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0)
        if process == 0:
            ctypes.pythonapi.PyOS_AfterFork_Child()
            launcher.close()
            become_the_program(libc, message, descriptors)
            return
        ctypes.pythonapi.PyOS_AfterFork_Parent()
        for descriptor in descriptors:
            os.close(descriptor)
        if process < 0:
            os._exit(1)
        launcher.send(str(process).encode())


def become_the_program(libc: ctypes.PyDLL, limits: bytes, descriptors: list[int]) -> None:
    for place, descriptor in enumerate(descriptors):
        os.dup2(descriptor, place)
        os.close(descriptor)
    cpu, stack, address_space, expendable = map(int, limits.split())
    for which, value in (
        (resource.RLIMIT_CPU, cpu),
        (resource.RLIMIT_STACK, stack),
        (resource.RLIMIT_AS, address_space),
    ):
        hard = resource.getrlimit(which)[1]
        lower = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(which, (lower, lower))
    libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
    if expendable:
        try:
            with open("/proc/self/oom_score_adj", "w") as file:
                file.write("1000")
        except OSError:
            pass  # then the kernel chooses for itself


wait_for_the_program()
