"""The sandbox made of bubblewrap: a container of fresh namespaces a submission, with the launcher as process 1."""

import contextlib
import functools
import os
import secrets
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

from judge.sandbox.cgroups import ControlGroups, control_group
from judge.sandbox.container import PROCESSES, WARM_PYTHON, Container
from judge.sandbox.interface import (
    PROGRAM_FOLDER,
    SCRATCH_FOLDER,
    Outcome,
    Run,
    SandboxFault,
    Surroundings,
)
from judge.sandbox.memory_file import sealed_file
from judge.sandbox.seccomp import filter_program

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
LAUNCHER = "/launcher"  # where a container has it
_WARM_PYTHON = Path(__file__).with_name("warm_python.py")
_OWN_PROCESSES = 4  # the launcher, the warm interpreter, and room


class Bubblewrap:
    """A sandbox (see `judge.sandbox.interface.Sandbox`).

    As root, bubblewrap makes the namespaces with root's rights and the launcher becomes a short-lived user
    before it starts a program. As anybody else a user namespace stands for those rights, and programs run as our
    own user, who is nobody outside of it. Root never takes that way: in it a program would be root outside.
    `groups` are the control groups to account with, if there are any.
    """

    def __init__(self, bwrap: Path, version: str, launcher: Path, groups: ControlGroups | None) -> None:
        self._groups = groups
        self._user_namespace = user_namespace = os.geteuid() != 0
        self._filter = filter_program()
        said = subprocess.run([bwrap, "--help"], check=False, capture_output=True, text=True).stdout
        self._bounded_scratch = "--size" in said
        namespaces = ["ipc", "pid", "net", "uts", *(["user"] if user_namespace else [])]
        self._beginning = [str(bwrap), *(f"--unshare-{name}" for name in namespaces), "--unshare-cgroup-try"]
        if user_namespace:
            self._beginning += ["--uid", "1000", "--gid", "1000"]
        else:  # for the launcher alone; they go when it changes the user
            self._beginning += ["--cap-drop", "ALL"]
            for capability in ("CAP_SETUID", "CAP_SETGID", "CAP_KILL"):
                self._beginning += ["--cap-add", capability]
        self._beginning += ["--hostname", "sandbox", "--new-session", "--as-pid-1"]
        self._beginning += ["--proc", "/proc", "--dir", "/dev"]
        for device in _DEVICES:
            self._beginning += ["--dev-bind", device, device]
        for name, descriptor in (("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")):
            self._beginning += ["--symlink", f"/proc/self/fd{descriptor}", f"/dev/{name}"]
        self._beginning += ["--symlink", SCRATCH_FOLDER, "/tmp", "--symlink", SCRATCH_FOLDER, "/dev/shm"]  # noqa: S108
        self._beginning += ["--ro-bind", str(launcher), LAUNCHER]
        self._beginning += ["--ro-bind", str(_WARM_PYTHON), WARM_PYTHON]

        tier, accounting = ("A", groups.title) if groups else ("B", "accounting by the launcher")
        users = "user namespace" if user_namespace else "own user"
        filtered = "system call filter" if self._filter else "no system call filter on this machine"
        self.isolation = f"tier {tier}: {version}, {users}, {filtered}, {accounting}"

    @property
    def has_groups(self) -> bool:
        """Whether control groups account for what programs use."""
        return self._groups is not None

    @contextlib.contextmanager
    def open(self, surroundings: Surroundings) -> Iterator["BubblewrapContainer"]:
        """A new container, which ends with the block and all its processes with it."""
        container = BubblewrapContainer(self, surroundings)
        try:
            yield container
        finally:
            container.close()

    @contextlib.contextmanager
    def started(self, surroundings: Surroundings) -> Iterator[Container]:
        """A running container. Raises SandboxFault."""
        with contextlib.ExitStack() as stack:
            group = None
            if self._groups:
                try:
                    group = stack.enter_context(control_group(self._groups, PROCESSES + _OWN_PROCESSES))
                except OSError as error:
                    raise SandboxFault(f"no control group could be made: {error}") from error
            ours, launchers = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            process = None
            with launchers:
                inherited = [launchers.fileno(), *(group.descriptors if group else ())]
                command = [*self._beginning, *self._mounts(surroundings)]
                if self._filter:
                    inherited.append(stack.enter_context(sealed_file(self._filter)))
                    command += ["--seccomp", str(inherited[-1])]
                user = 0 if self._user_namespace else _USERS.start + secrets.randbelow(len(_USERS))
                command += [
                    "--",
                    LAUNCHER,
                    str(launchers.fileno()),
                    str(user),
                    group.argument if group else "-",
                ]
                process = stack.enter_context(_started(command, inherited))
            with ours:  # closed before the process is waited for: that is what ends it
                yield Container(process, ours, surroundings, group)

    def _mounts(self, surroundings: Surroundings) -> Iterator[str]:
        yield from _system_mounts((*surroundings.readable, *_SYSTEM_FILES))
        for source, seen_as in ((surroundings.folder, PROGRAM_FOLDER), *surroundings.mounted):
            yield from ("--ro-bind", str(source), seen_as)
        yield from ("--perms", "1777")
        if self._bounded_scratch:
            yield from ("--size", str(surroundings.scratch))
        yield from ("--tmpfs", SCRATCH_FOLDER, "--remount-ro", "/", "--chdir", SCRATCH_FOLDER)


class BubblewrapContainer:
    """A container (see `judge.sandbox.interface.Container`), made when first used and anew when it cannot be wiped."""

    def __init__(self, sandbox: Bubblewrap, surroundings: Surroundings) -> None:
        self._sandbox = sandbox
        self._surroundings = surroundings
        self._stack = contextlib.ExitStack()
        self._container: Container | None = None

    def run(self, run: Run) -> Outcome:
        """Run the program to its end. Raises SandboxFault, after which the container may be used again."""
        if self._container is None:
            self._container = self._stack.enter_context(self._sandbox.started(self._surroundings))
        try:
            outcome, clean = self._container.run(run)
        except BaseException:
            self._container.process.kill()
            self.close()
            raise
        if not clean:
            self.close()
        return outcome

    def close(self) -> None:
        """End the container and every process in it."""
        self._container = None
        self._stack.close()


@functools.lru_cache(maxsize=32)
def _system_mounts(paths: tuple[Path, ...]) -> tuple[str, ...]:
    """What bubblewrap is told to show of the system; looked up once, because it takes as long as starting it."""
    paths = tuple(dict.fromkeys(paths))
    mounts: list[str] = []
    # Made here, because those bubblewrap makes by itself are closed to users other than its own.
    for parent in sorted({parent for path in paths for parent in path.parents} - {Path("/")}):
        mounts += ["--dir", str(parent)]
    for path in paths:
        if path.is_symlink():
            mounts += ["--symlink", os.readlink(path), str(path)]
        elif path.exists():
            mounts += ["--ro-bind", str(path), str(path)]
    return tuple(mounts)


@contextlib.contextmanager
def _started(command: list[str], inherited: list[int]) -> Iterator[subprocess.Popen[bytes]]:
    """The running command, which has ended when the block has: by itself after a good end, killed after a bad one."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=_ENVIRONMENT,
        pass_fds=inherited,
        cwd="/",
    )
    with process:
        try:
            yield process
        except BaseException:
            process.kill()
            raise
