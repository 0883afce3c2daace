"""launcher.c in Python, for machines without a C compiler; run by the sandboxed interpreter as process 1.

Same usage and same report. Its measured memory starts at the size of an interpreter (about 10 MB). Needs
nothing but Python 3.8 and knows nothing of the project.
"""

from __future__ import annotations  # Python 3.8

import contextlib
import ctypes
import os
import resource
import select
import signal
import sys
import time

PERIOD = 0.01
OPEN_FILES = 256
USAGE = 64
PR_SET_DUMPABLE = 4


def look() -> tuple[int, int]:
    """Microseconds of CPU of all living processes with the children they waited for, and their resident bytes."""
    cpu = memory = 0
    for name in os.listdir("/proc"):
        if not name.isdigit() or name == "1":
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:  # it has ended since
            continue
        cpu += sum(map(int, fields[11:15])) * 1_000_000 // os.sysconf("SC_CLK_TCK")
        memory += int(fields[21]) * os.sysconf("SC_PAGESIZE")
    return cpu, memory


def used_by_reaped() -> int:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return int((usage.ru_utime + usage.ru_stime) * 1_000_000)


def start(
    user: int, cpu: int, memory: int, address_space: int, file_size: int, processes: int, command: list[str]
) -> None:
    for which, value in (
        (resource.RLIMIT_CPU, cpu // 1_000_000 + 2),
        (resource.RLIMIT_AS, address_space),
        (resource.RLIMIT_STACK, memory),
        (resource.RLIMIT_FSIZE, file_size),
        (resource.RLIMIT_NPROC, processes),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(which)[1]  # nobody but root may raise it again
        lower = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(which, (lower, lower))
    if user:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    for ignored_by_python in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(ignored_by_python, signal.SIG_DFL)
    try:
        os.execv(command[0], command)  # noqa: S606
    except OSError as error:
        if not command[0].startswith("/program/"):
            raise
        os.write(
            2, f"{command[0]}: {error}\n".encode()
        )  # compiled from a source that made it so: not our fault
        os._exit(126)


def main(arguments: list[str]) -> int:
    if len(arguments) < 9:
        return USAGE
    report, user, cpu_limit, wall_limit, memory_limit, address_space, file_size, processes = map(
        int, arguments[:8]
    )
    os.set_inheritable(report, False)
    try:
        if ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0):
            raise OSError("prctl")
        if user:
            os.fchmod(1, 0o666)
            os.fchmod(2, 0o666)
        woken, waking = os.pipe()
        os.set_blocking(waking, False)
        signal.set_wakeup_fd(waking)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        began = time.monotonic()
        program = os.fork()
        if program == 0:
            start(user, cpu_limit, memory_limit, address_space, file_size, processes, arguments[8:])
    except BaseException as error:  # noqa: BLE001  (whatever it is, the child must end here)
        os.write(report, f"fault {error!r}\n".encode())
        os._exit(1)

    cause, status, peak = "", 0, 0
    while not cause:
        ready, _, _ = select.select([report, woken], [], [], PERIOD)
        if woken in ready:
            os.read(woken, 4096)
        while True:
            try:
                one, one_status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if one == 0:
                break
            if one == program:
                cause, status = "exit", one_status
        if cause:
            break
        cpu, memory = look()
        peak = max(peak, memory)
        if cpu + used_by_reaped() > cpu_limit:
            cause = "cpu"
        elif memory > memory_limit:
            cause = "memory"
        elif (time.monotonic() - began) * 1_000_000 > wall_limit:
            cause = "wall"
        elif report in ready:
            cause = "stopped"
    wall = int((time.monotonic() - began) * 1_000_000)
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)
    while True:
        try:
            os.wait()
        except ChildProcessError:
            break
    # The largest child's peak; a forked copy of this interpreter is counted where the program is smaller.
    peak = max(peak, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
    os.write(report, f"ended {cause} {status} {used_by_reaped()} {wall} {peak}\n".encode())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
