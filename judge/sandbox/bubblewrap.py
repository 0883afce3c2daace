"""The sandbox made of bubblewrap: fresh namespaces for each run, with the launcher as process 1 in them."""

import contextlib
import math
import os
import secrets
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

from judge.sandbox.interface import PROGRAM_FOLDER, SCRATCH_FOLDER, Ending, Job, Outcome, SandboxFault
from judge.sandbox.launcher import INSIDE, Launcher
from judge.sandbox.memory_file import sealed_file
from judge.sandbox.seccomp import filter_program
from judge.sandbox.streams import Collected, collect
from judge.sandbox.system import interpreter_files

_PROCESSES = 64
_GRACE = 10.0  # seconds beyond its wall guard before a run that says nothing is given up
_USERS = range(61184, 65520)  # systemd's range for short-lived services, below 2^16 for nested containers
_ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "HOME": SCRATCH_FOLDER,
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",  # the same program gets the same verdict each time
    "OPENBLAS_NUM_THREADS": "1",
}
_DEVICES = ("/dev/null", "/dev/random", "/dev/urandom")  # not zero or full: endless input for a compiler
_SYSTEM_FILES = (Path("/etc/ld.so.cache"), Path("/etc/alternatives"))


class Bubblewrap:
    """A sandbox (see `judge.sandbox.interface.Sandbox`).

    As root, bubblewrap makes the namespaces with root's rights and the launcher becomes a short-lived user
    before it starts the program. As anybody else, or where root may not do that (`user_namespace`), a user
    namespace stands for those rights and the program runs as an unprivileged user of it.
    """

    def __init__(self, bwrap: Path, version: str, launcher: Launcher, *, user_namespace: bool) -> None:
        self._launcher = launcher
        self._user_namespace = user_namespace
        self._filter = filter_program()
        bounded = (
            "--size" in subprocess.run([bwrap, "--help"], check=False, capture_output=True, text=True).stdout
        )
        self._bounded_scratch = bounded
        namespaces = ["ipc", "pid", "net", "uts", *(["user"] if user_namespace else [])]
        self._beginning = [str(bwrap), *(f"--unshare-{name}" for name in namespaces), "--unshare-cgroup-try"]
        if user_namespace:
            self._beginning += ["--uid", "1000", "--gid", "1000"]
        else:  # for the launcher alone; they go when it changes the user
            self._beginning += ["--cap-drop", "ALL"]
            for capability in ("CAP_SETUID", "CAP_SETGID", "CAP_KILL"):
                self._beginning += ["--cap-add", capability]
        self._beginning += ["--hostname", "sandbox", "--new-session", "--die-with-parent", "--as-pid-1"]
        self._beginning += ["--proc", "/proc", "--dir", "/dev"]
        for device in _DEVICES:
            self._beginning += ["--dev-bind", device, device]
        for name, descriptor in (("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")):
            self._beginning += ["--symlink", f"/proc/self/fd{descriptor}", f"/dev/{name}"]
        self._beginning += ["--symlink", SCRATCH_FOLDER, "/tmp", "--symlink", SCRATCH_FOLDER, "/dev/shm"]  # noqa: S108
        self._beginning += ["--ro-bind", str(launcher.file), INSIDE]

        users = "user namespace" if user_namespace else "own user"
        filtered = "system call filter" if self._filter else "no system call filter on this machine"
        self.isolation = f"{version}, {users}, {filtered}, {launcher.title}, limits by rlimits and polling"

    def run(self, job: Job) -> Outcome:
        """Run the job to its end. Raises SandboxFault."""
        with contextlib.ExitStack() as stack:
            report, launcher_report = socket.socketpair()
            stack.enter_context(report)
            stack.enter_context(launcher_report)
            stdin = stack.enter_context(sealed_file(job.input.read_bytes() if job.input else b""))
            inherited = [launcher_report.fileno()]
            seccomp: list[str] = []
            if self._filter:
                inherited.append(stack.enter_context(sealed_file(self._filter)))
                seccomp = ["--seccomp", str(inherited[-1])]
            command = [
                *self._beginning,
                *self._mounts(job),
                *seccomp,
                "--",
                *self._launch(job, launcher_report.fileno()),
            ]
            process = stack.enter_context(_started(command, stdin, inherited))
            launcher_report.close()  # else the report would never end
            collected = collect(process, report, job.limits.output, job.wall + _GRACE)
        return _outcome(collected)

    def _mounts(self, job: Job) -> Iterator[str]:
        interpreter = self._launcher.interpreter
        for_launcher = interpreter_files(interpreter) if interpreter else ()
        paths = dict.fromkeys((*job.readable, *for_launcher, *_SYSTEM_FILES))
        # Made here, because those bubblewrap makes by itself are closed to users other than its own.
        for parent in sorted({parent for path in paths for parent in path.parents} - {Path("/")}):
            yield from ("--dir", str(parent))
        for path in paths:
            if path.is_symlink():
                yield from ("--symlink", os.readlink(path), str(path))
            elif path.exists():
                yield from ("--ro-bind", str(path), str(path))
        for source, seen_as in ((job.folder, PROGRAM_FOLDER), *job.mounted):
            yield from ("--ro-bind", str(source), seen_as)
        yield from ("--perms", "1777")
        if self._bounded_scratch:
            yield from ("--size", str(job.scratch))
        yield from ("--tmpfs", SCRATCH_FOLDER, "--remount-ro", "/", "--chdir", SCRATCH_FOLDER)

    def _launch(self, job: Job, report: int) -> Iterator[str]:
        yield from self._launcher.command
        user = 0 if self._user_namespace else _USERS.start + secrets.randbelow(len(_USERS))
        cpu, wall = math.ceil(job.limits.time * 1e6), math.ceil(job.wall * 1e6)
        # Polling sees what is really used; address space is only bounded far above, because programs and
        # threads reserve much more than they touch.
        address_space = 4 * job.limits.memory + 16 * 2**30
        numbers = (report, user, cpu, wall, job.limits.memory, address_space, job.file_size, _PROCESSES)
        yield from map(str, numbers)
        yield from job.command


@contextlib.contextmanager
def _started(command: list[str], stdin: int, inherited: list[int]) -> Iterator[subprocess.Popen[bytes]]:
    """The running command, which is dead when the block ends."""
    process = subprocess.Popen(
        command,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=_ENVIRONMENT,
        pass_fds=inherited,
        cwd="/",
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def _outcome(collected: Collected) -> Outcome:
    words = collected.report.split()
    if len(words) != 6 or words[0] != "ended":
        why = collected.report.strip() or collected.stderr.decode("utf-8", "replace").strip()
        raise SandboxFault(why or "the sandbox ended without a word")
    cause, numbers = words[1], [int(word) for word in words[2:]]
    status, cpu, wall, memory = numbers
    ending = Ending.OUTPUT if collected.too_much else Ending(cause)
    exited = ending is Ending.EXIT
    return Outcome(
        ending=ending,
        exit_status=os.WEXITSTATUS(status) if exited and os.WIFEXITED(status) else None,
        signal=os.WTERMSIG(status) if exited and os.WIFSIGNALED(status) else None,
        time=cpu / 1e6,
        wall=wall / 1e6,
        memory=memory,
        stdout=collected.stdout,
        stderr=collected.stderr,
    )
