"""The sandbox with bubblewrap: each submission gets a container of new namespaces with the launcher as process 1.

bubblewrap builds a file system of system files once, as a template. The launcher copies the template for each
container, with new namespaces, and adds what belongs to one submission. A template has one container at a time, which
uses the template's control group; containers at the same time have different templates.
A start of bubblewrap for each container would take several times as long, and so would a new control group
(docs/judge.md, "Speed"). The process of a template may be an interpreter that has started (fork_server.py).
"""

import contextlib
import functools
import os
import secrets
import select
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from judge.sandbox.cgroups import ControlGroups, control_group
from judge.sandbox.container import PROCESSES, ContainerProcess, Interpreter
from judge.sandbox.interface import (
    PROGRAM_FOLDER,
    SCRATCH_FOLDER,
    Mounts,
    Preload,
    RunOutcome,
    SandboxFaultError,
    SandboxRun,
)
from judge.sandbox.memory_file import sealed_file
from judge.sandbox.packets import Descriptors, receive, send
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

_LAUNCHER_LIBRARY = "/fork_server.so"
_FORK_SERVER = "/fork_server.py"
_FORK_SERVER_SOURCE = Path(__file__).with_name("fork_server.py")
_OWN_PROCESSES = 5  # the template, the launcher, the fork server, and a reserve
_ANSWER_TIME = 20.0  # seconds for the start and the end of a container
_FAILURE_TIME = 1.0  # seconds until a template that has closed its socket has ended
_TAKE_TURNS = 2  # templates
_MOST_FREE = 24  # templates without a container; beyond it the least recently used one ends


class Bubblewrap:
    """A sandbox (see `judge.sandbox.interface.Sandbox`).

    As root, bubblewrap creates the namespaces with root's rights, and the launcher switches to a short-lived user
    before it starts a program. Any other user gets these rights in a user namespace, in which programs run as that
    user without rights outside. Root never uses a user namespace: a program in it would be root outside.
    `library` is the launcher for templates that are interpreters, or None where interpreters start for each run.
    `groups` are the control groups that measure programs, or None.
    """

    def __init__(
        self, bwrap: Path, version: str, launcher: Path, library: Path | None, groups: ControlGroups | None
    ) -> None:
        self._groups = groups
        self._library = library
        self._user_namespace = user_namespace = os.geteuid() != 0
        self._filter = filter_program()
        self._free: list[_Template] = []  # ordered by last use
        self._unusable: set[Interpreter] = set()
        self._changing_templates = threading.Lock()
        namespaces = ["ipc", "pid", "net", "uts", *(["user"] if user_namespace else [])]
        self._beginning = [str(bwrap), *(f"--unshare-{name}" for name in namespaces), "--unshare-cgroup-try"]
        if user_namespace:
            self._beginning += ["--uid", "1000", "--gid", "1000"]
        # For the launcher alone. The first three start containers, which give them up; a program has none.
        capabilities = ["SYS_ADMIN", "SETPCAP"]
        if not user_namespace:
            capabilities += ["SETUID", "SETGID", "KILL"]
        self._beginning += ["--cap-drop", "ALL"]
        for capability in capabilities:
            self._beginning += ["--cap-add", f"CAP_{capability}"]
        self._beginning += ["--hostname", "sandbox", "--new-session", "--as-pid-1"]
        self._beginning += ["--proc", "/proc", "--dir", "/dev"]
        self._beginning += ["--dev-bind", "/dev/null", "/dev/null"]
        for name, descriptor in (("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")):
            self._beginning += ["--symlink", f"/proc/self/fd{descriptor}", f"/dev/{name}"]
        self._beginning += ["--symlink", SCRATCH_FOLDER, "/tmp", "--symlink", SCRATCH_FOLDER, "/dev/shm"]  # noqa: S108
        self._beginning += ["--dir", SCRATCH_FOLDER, "--dir", PROGRAM_FOLDER]
        self._beginning += ["--ro-bind", str(launcher), LAUNCHER]

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

    def close(self) -> None:
        """End the templates that have no container (see `judge.sandbox.interface.Sandbox`)."""
        with self._changing_templates:
            free, self._free = self._free, []
        for template in free:
            template.close()

    @contextlib.contextmanager
    def started(self, mounts: Mounts, first: SandboxRun) -> Iterator[ContainerProcess]:
        """Start a container for runs like the first one, with a fork server if possible. Raises SandboxFaultError."""
        template, ours, process = self._started(mounts, Interpreter.of(first), first.preload)
        interpreter = template.key.interpreter
        container = ContainerProcess(process, ours, mounts, template.group, interpreter, first.preload)
        try:
            with ours:
                yield container
        finally:
            container.kill()
            template.ending = process
            self._keep(template)

    def _started(
        self, mounts: Mounts, interpreter: Interpreter | None, preload: Preload | None
    ) -> tuple["_Template", socket.socket, int]:
        """Return a template and its new container: the socket to the launcher, and the descriptor of its process."""
        if self._library is None or mounts.environment or interpreter in self._unusable:
            interpreter = None  # an interpreter reads its environment at its start
        template = self._take_template(mounts, interpreter)
        try:
            return template, *self._start(mounts, template, preload)
        except OSError as error:
            has_failed = template.has_failed()
            template.close()
            if interpreter is not None and has_failed:
                self._unusable.add(interpreter)
                return self._started(mounts, None, preload)
            message = template.messages() or str(error) or "the sandbox ended without a message"
            raise SandboxFaultError(message) from error

    def _start(
        self, mounts: Mounts, template: "_Template", preload: Preload | None
    ) -> tuple[socket.socket, int]:
        """Return the socket to a new container's launcher, and the descriptor of its process. Raises OSError."""
        user = 0 if self._user_namespace else _USERS.start + secrets.randbelow(len(_USERS))
        words = [
            str(user),
            str(mounts.scratch),
            *(f"{name}={value}" for name, value in mounts.environment.items()),
        ]
        ours, launchers = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.settimeout(_ANSWER_TIME)
        try:
            with launchers, Descriptors([sealed_file(_archive(mounts.files))]) as files:
                if preload and template.key.interpreter:
                    files.add(sealed_file(preload.code))
                template.send(words, [launchers.fileno(), *files])
            answer, received = receive(ours)
            if answer != b"started":
                raise OSError(answer.decode("utf-8", "replace").removeprefix("fault "))
        except OSError:
            ours.close()
            raise
        ours.settimeout(None)
        return ours, received[0]

    def _keep(self, template: "_Template") -> None:
        """Keep a template for the next container; end the least recently used one if there are too many."""
        with self._changing_templates:
            self._free.append(template)
            surplus = self._free[:-_MOST_FREE]
            del self._free[:-_MOST_FREE]
        for one in surplus:
            one.close()

    def _take_template(self, mounts: Mounts, interpreter: Interpreter | None) -> "_Template":
        """Return a template for these mounts that has no container; start one if there is none.

        Its processes inherit the niceness of the calling thread. Raises SandboxFaultError.
        """
        files = (*mounts.readable, *_SYSTEM_FILES)
        key = _Key(
            files,
            mounts.mounted,
            (
                *_inodes_of_system(files, int(time.monotonic())),
                *(_inode(source) for source, _ in mounts.mounted),
            ),
            mounts.random_devices,
            os.getpriority(os.PRIO_PROCESS, threading.get_native_id()),
            interpreter,
        )
        while template := self._free_template(key):
            if template.is_ready():
                return template
            template.close()
        try:
            return _Template(key, self._command(key), self._filter, self._groups)
        except OSError as error:
            raise SandboxFaultError(f"the sandbox could not start: {error}") from error

    def _free_template(self, key: "_Key") -> "_Template | None":
        """Return a template to start a container or to wait for, or None to start another template.

        The template that was used last is preferred, because its memory is still in the processor's caches. While its
        container ends, another one serves.
        """
        with self._changing_templates:
            free = [template for template in self._free if template.key == key]
            ended = next((template for template in reversed(free) if template.has_ended(0)), None)
            if ended is None and len(free) < _TAKE_TURNS:
                return None
            chosen = ended or free[0]
            self._free.remove(chosen)
            return chosen

    def _command(self, key: "_Key") -> list[str]:
        """Return bubblewrap's command and options for a template."""
        command = [*self._beginning, *_system_mounts(key.files)]
        for device in _RANDOM_DEVICES if key.random_devices else ():
            command += ["--dev-bind", device, device]
        for source, target in key.mounted:
            command += ["--ro-bind", str(source), target]
        if key.interpreter is not None:
            command += ["--ro-bind", str(self._library), _LAUNCHER_LIBRARY]
            command += ["--ro-bind", str(_FORK_SERVER_SOURCE), _FORK_SERVER]
        return [*command, "--remount-ro", "/", "--chdir", "/", "--setenv", "PWD", SCRATCH_FOLDER]


class _Key(NamedTuple):
    """The key of a template: files of the system and other files, with their inodes, and the interpreter."""

    files: tuple[Path, ...]
    mounted: tuple[tuple[Path, str], ...]
    inodes: tuple[int, ...]
    random_devices: bool
    niceness: int
    interpreter: Interpreter | None

    @property
    def command(self) -> list[str]:
        """The command that the template executes, without the arguments of a template."""
        if self.interpreter is None:
            return [LAUNCHER]
        return [LAUNCHER, "start", str(self.interpreter.stack), *self.interpreter.command, _FORK_SERVER]


class _Template:
    """A process of the launcher in a file system without a program, which starts containers in its control group.

    `group` is None without control groups. Raises OSError where it cannot be started.
    """

    def __init__(
        self, key: _Key, options: list[str], system_call_filter: bytes | None, groups: ControlGroups | None
    ) -> None:
        self.key = key
        self.ending = -1  # the descriptor of the last container's process, until it has ended
        self._socket, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with its, contextlib.ExitStack() as stack, Descriptors() as files:
            self.group = (
                stack.enter_context(control_group(groups, PROCESSES + _OWN_PROCESSES)) if groups else None
            )
            inherited = [its.fileno(), *(self.group.descriptors if self.group else ())]
            words = [str(its.fileno()), "-1", self.group.argument if self.group else "-"]
            if system_call_filter:
                inherited.append(files.add(sealed_file(system_call_filter)))
                words[1] = str(inherited[-1])
            self._process = subprocess.Popen(
                [*options, "--", *key.command, *words, *(key.interpreter.modules if key.interpreter else ())],
                # Of the same kinds as a program's: an interpreter inspects them at its start.
                stdin=files.add(sealed_file(b"")),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=_ENVIRONMENT,
                pass_fds=inherited,
                cwd="/",
            )
            stack.callback(self._end)
            self._stack = stack.pop_all()

    def send(self, words: list[str], descriptors: list[int]) -> None:
        """Request a container. Raises OSError for a template that has ended."""
        send(self._socket, words, descriptors)

    def has_ended(self, timeout: float) -> bool:
        """Return whether the last container has ended, with all its processes, within this number of seconds."""
        if self.ending < 0:
            return True
        waiting = select.poll()
        waiting.register(self.ending, select.POLLIN)
        if not waiting.poll(timeout * 1000):
            return False
        os.close(self.ending)
        self.ending = -1
        return True

    def is_ready(self) -> bool:
        """Return whether the template can start a container; wait for the end of the last one."""
        return self.has_ended(_ANSWER_TIME) and self._process.poll() is None

    def has_failed(self) -> bool:
        """Return whether the process has ended by itself with a failure."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(_FAILURE_TIME) > 0
        return False

    def close(self) -> None:
        """End the process and its container, and remove its control group."""
        self._stack.close()

    def _end(self) -> None:
        if self.ending >= 0:
            os.close(self.ending)
        self._socket.close()
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def messages(self) -> str:
        """Return bubblewrap's messages until now, after `close`."""
        assert self._process.stderr is not None
        os.set_blocking(self._process.stderr.fileno(), False)
        return (self._process.stderr.read(4000) or b"").decode("utf-8", "replace").strip()


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
            self._container = self._stack.enter_context(self._sandbox.started(self._mounts, run))
        try:
            outcome, clean = self._container.run(run)
        except BaseException:
            self._container.kill()
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


def _archive(files: tuple[tuple[str, bytes], ...]) -> bytes:
    """Return the files of a program as the launcher reads them."""
    return b"".join(b"%s\0%d\0%s" % (name.encode(), len(content), content) for name, content in files)


@functools.lru_cache(maxsize=32)
def _inodes_of_system(files: tuple[Path, ...], _second: int) -> tuple[int, ...]:
    """Return the inodes of system files, looked up once in each second.

    A template keeps the files of its start after an upgrade.
    """
    return tuple(map(_inode, files))


def _inode(path: Path) -> int:
    """Return the inode of a file or folder, 0 if it is missing."""
    try:
        return os.stat(path).st_ino
    except OSError:
        return 0
