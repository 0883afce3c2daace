"""The sandbox with bubblewrap: each submission gets a container of new namespaces with the launcher as process 1."""

import contextlib
import functools
import os
import secrets
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

from judge.sandbox.cgroups import ControlGroups, control_group
from judge.sandbox.container import FORK_SERVER, PROCESSES, ContainerProcess
from judge.sandbox.interface import (
    PROGRAM_FOLDER,
    SCRATCH_FOLDER,
    Mounts,
    RunOutcome,
    SandboxFaultError,
    SandboxRun,
)
from judge.sandbox.memory_file import sealed_file
from judge.sandbox.seccomp import filter_program

_USERS = range(61184, 65520)  # systemd's range for short-lived services, below 2^16 for nested containers
_ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "HOME": SCRATCH_FOLDER,
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",  # makes the order of sets reproducible
    "OPENBLAS_NUM_THREADS": "1",
}
_RANDOM_DEVICES = ("/dev/random", "/dev/urandom")
_SYSTEM_FILES = (Path("/etc/ld.so.cache"), Path("/etc/alternatives"))
LAUNCHER = "/launcher"
"""The launcher's path in a container."""

_FORK_SERVER_SOURCE = Path(__file__).with_name("fork_server.py")
_OWN_PROCESSES = 4  # the launcher, the fork server, and a reserve


class Bubblewrap:
    """A sandbox (see `judge.sandbox.interface.Sandbox`).

    As root, bubblewrap creates the namespaces with root's rights, and the launcher switches to a short-lived user
    before it starts a program. Any other user gets these rights in a user namespace, in which programs run as that
    user without rights outside. Root never uses a user namespace: a program in it would be root outside.
    `groups` are the control groups that measure programs, or None.
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
        else:  # for the launcher alone: it loses them when it changes the user
            self._beginning += ["--cap-drop", "ALL"]
            for capability in ("CAP_SETUID", "CAP_SETGID", "CAP_KILL"):
                self._beginning += ["--cap-add", capability]
        self._beginning += ["--hostname", "sandbox", "--new-session", "--as-pid-1"]
        self._beginning += ["--proc", "/proc", "--dir", "/dev"]
        self._beginning += ["--dev-bind", "/dev/null", "/dev/null"]
        for name, descriptor in (("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")):
            self._beginning += ["--symlink", f"/proc/self/fd{descriptor}", f"/dev/{name}"]
        self._beginning += ["--symlink", SCRATCH_FOLDER, "/tmp", "--symlink", SCRATCH_FOLDER, "/dev/shm"]  # noqa: S108
        self._beginning += ["--ro-bind", str(launcher), LAUNCHER]
        self._beginning += ["--ro-bind", str(_FORK_SERVER_SOURCE), FORK_SERVER]

        tier, accounting = ("A", groups.title) if groups else ("B", "accounting by the launcher")
        users = "user namespace" if user_namespace else "own user"
        filtered = "system call filter" if self._filter else "no system call filter on this machine"
        self.isolation = f"tier {tier}: {version}, {users}, {filtered}, {accounting}"

    @property
    def has_groups(self) -> bool:
        """Whether control groups measure the programs."""
        return self._groups is not None

    @contextlib.contextmanager
    def open(self, mounts: Mounts) -> Iterator["BubblewrapContainer"]:
        """Open a new container. It ends with the block, and so do all its processes."""
        container = BubblewrapContainer(self, mounts)
        try:
            yield container
        finally:
            container.close()

    @contextlib.contextmanager
    def started(self, mounts: Mounts) -> Iterator[ContainerProcess]:
        """Start a container. Raises SandboxFaultError."""
        with contextlib.ExitStack() as stack:
            group = None
            if self._groups:
                try:
                    group = stack.enter_context(control_group(self._groups, PROCESSES + _OWN_PROCESSES))
                except OSError as error:
                    raise SandboxFaultError(
                        f"the sandbox could not create a control group: {error}"
                    ) from error
            ours, launchers = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            process = None
            with launchers:
                inherited = [launchers.fileno(), *(group.descriptors if group else ())]
                command = [*self._beginning, *self._options(mounts)]
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
            with ours:  # closing the socket ends the process, so it precedes the wait for the process
                yield ContainerProcess(process, ours, mounts, group)

    def _options(self, mounts: Mounts) -> Iterator[str]:
        for name, value in mounts.environment.items():
            yield from ("--setenv", name, value)
        if mounts.random_devices:
            for device in _RANDOM_DEVICES:
                yield from ("--dev-bind", device, device)
        yield from _system_mounts((*mounts.readable, *_SYSTEM_FILES))
        for source, target in ((mounts.folder, PROGRAM_FOLDER), *mounts.mounted):
            yield from ("--ro-bind", str(source), target)
        yield from ("--perms", "1777")
        if self._bounded_scratch:
            yield from ("--size", str(mounts.scratch))
        yield from ("--tmpfs", SCRATCH_FOLDER, "--remount-ro", "/", "--chdir", SCRATCH_FOLDER)


class BubblewrapContainer:
    """A container (see `judge.sandbox.interface.Container`).

    It starts at the first run, and again after a run whose traces could not be removed.
    """

    def __init__(self, sandbox: Bubblewrap, mounts: Mounts) -> None:
        self._sandbox = sandbox
        self._mounts = mounts
        self._stack = contextlib.ExitStack()
        self._container: ContainerProcess | None = None

    def run(self, run: SandboxRun) -> RunOutcome:
        """Run the program to its end. Raises SandboxFaultError, after which the container can be used again."""
        if self._container is None:
            self._container = self._stack.enter_context(self._sandbox.started(self._mounts))
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
    """Return bubblewrap's options that mount these paths. Cached: the lookup takes as long as a container's start."""
    paths = tuple(dict.fromkeys(paths))
    mounts: list[str] = []
    # Parents are created explicitly: those that bubblewrap creates by itself are closed to other users.
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
    """Start the command. The block's end waits for the command, and kills it after an exception."""
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
