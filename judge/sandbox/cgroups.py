"""Control groups of the kernel, version 1 and 2: one for each template, where this process may create them.

A template has one container at a time. The group measures all processes of the container together and kills a program
at the moment it exceeds its memory limit.
Without them the launcher measures by itself.
"""

import contextlib
import errno
import itertools
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

_MOUNTS = Path("/proc/self/mounts")
_MEMBERSHIP = Path("/proc/self/cgroup")
_PREFIX = "judge-"
_TREES = 3  # a group has a folder in at most this many trees
_ATTEMPTS, _PAUSE = 200, 0.01  # seconds
_serial = itertools.count()


@dataclass(frozen=True)
class GroupFiles:
    """The files of a group that the launcher uses; None for a file that the kernel does not have.

    `time_unit` is the number of units of `time` in a microsecond.
    """

    join: tuple[Path, ...]
    time: Path
    usage: Path
    peak: Path | None
    limit: Path
    events: Path
    time_unit: int


class ControlGroups(Protocol):
    """One of the kernel's two versions of control groups."""

    title: str

    def make(self, name: str, processes: int) -> GroupFiles:
        """Create a group for at most `processes` processes. Raises OSError."""
        ...

    def parents(self) -> list[Path]:
        """Return the folders in which groups are created."""
        ...


class Version1:
    """Control groups with a tree for each controller. Groups are created below this process's own in each tree."""

    title = "control groups version 1"

    def __init__(self, memory: Path, time: Path, processes: Path) -> None:
        self._memory, self._time, self._processes = memory, time, processes

    def parents(self) -> list[Path]:
        return list(dict.fromkeys((self._memory, self._time, self._processes)))

    def make(self, name: str, processes: int) -> GroupFiles:
        folders = [parent / name for parent in self.parents()]
        for folder in folders:
            folder.mkdir()
        memory = self._memory / name
        with contextlib.suppress(OSError):  # the machine has no swap
            (memory / "memory.swappiness").write_text("0")
        (self._processes / name / "pids.max").write_text(str(processes))
        return GroupFiles(
            join=tuple(folder / "cgroup.procs" for folder in folders),
            time=self._time / name / "cpuacct.usage",
            usage=memory / "memory.usage_in_bytes",
            peak=memory / "memory.max_usage_in_bytes",
            limit=memory / "memory.limit_in_bytes",
            events=memory / "memory.oom_control",
            time_unit=1000,
        )


class Version2:
    """Control groups with one tree. Groups are created in the judge's folder, as high in the tree as permitted."""

    title = "control groups version 2"

    def __init__(self, parent: Path) -> None:
        self._parent = parent

    def parents(self) -> list[Path]:
        return [self._parent]

    def make(self, name: str, processes: int) -> GroupFiles:
        group = self._parent / name
        group.mkdir()
        with contextlib.suppress(OSError):  # the machine has no swap
            (group / "memory.swap.max").write_text("0")
        (group / "pids.max").write_text(str(processes))
        peak = group / "memory.peak"  # since Linux 5.19; resettable for each program since 6.12
        return GroupFiles(
            join=(group / "cgroup.procs",),
            time=group / "cpu.stat",
            usage=group / "memory.current",
            peak=peak if peak.exists() else None,
            limit=group / "memory.max",
            events=group / "memory.events",
            time_unit=1,
        )


def find_control_groups() -> ControlGroups | None:
    """Return the control groups of this machine, or None where this process may not create new ones."""
    mounts = [line.split() for line in _read(_MOUNTS).splitlines()]
    own = [line.split(":", 2) for line in _read(_MEMBERSHIP).splitlines()]
    found = _version_1(mounts, own) or _version_2(mounts, own)
    if found is None:
        return None
    _remove_abandoned(found)
    try:
        with control_group(found, processes=1):
            return found
    except OSError:
        return None


@dataclass(frozen=True)
class ControlGroup:
    """A template's group: the files that the launcher uses, as it takes them (launcher.c), and their descriptors."""

    argument: str
    descriptors: list[int]
    _events: int

    def killed_processes(self) -> int:
        """Return how many processes of the group the kernel has killed for lack of memory."""
        lines = os.pread(self._events, 4096, 0).decode().splitlines()
        return sum(int(line.removeprefix("oom_kill ")) for line in lines if line.startswith("oom_kill "))


@contextlib.contextmanager
def control_group(groups: ControlGroups, processes: int) -> Iterator[ControlGroup]:
    """Create a group and remove it with the block. Raises OSError."""
    with contextlib.ExitStack() as stack:
        name = f"{_PREFIX}{os.getpid()}-{next(_serial)}"
        for parent in groups.parents():  # registered first, so that a partly created group is removed too
            stack.callback(_remove, parent / name)
        files = groups.make(name, processes)
        descriptors: list[int] = []

        def opened(path: Path | None, flags: int) -> int:
            if path is None:
                return -1
            descriptor = os.open(path, flags | os.O_CLOEXEC)
            stack.callback(os.close, descriptor)
            descriptors.append(descriptor)
            return descriptor

        join = [opened(path, os.O_WRONLY) for path in files.join]
        numbers = [
            *join,
            *[-1] * (_TREES - len(join)),
            opened(files.time, os.O_RDONLY),
            opened(files.usage, os.O_RDONLY),
            _opened_peak(files.peak, opened),
            opened(files.limit, os.O_WRONLY),
            (events := opened(files.events, os.O_RDONLY)),
            files.time_unit,
        ]
        yield ControlGroup(",".join(map(str, numbers)), descriptors, events)


def _opened_peak(path: Path | None, opened: "_Open") -> int:
    try:
        return opened(path, os.O_RDWR)
    except OSError:  # not resettable before Linux 6.12: the launcher works without it
        return -1


class _Open(Protocol):
    def __call__(self, path: Path | None, flags: int) -> int: ...


def _version_1(mounts: list[list[str]], own: list[list[str]]) -> Version1 | None:
    folders: dict[str, Path] = {}
    for _, controllers, path in own:
        for controller in controllers.split(","):
            for mount in mounts:
                if mount[2] == "cgroup" and controller in mount[3].split(","):
                    # In a container the mount shows a part of the tree, with this process at its root.
                    within = Path(mount[1]) / path.lstrip("/")
                    folders[controller] = within if within.is_dir() else Path(mount[1])
    if not {"memory", "cpuacct", "pids"} <= folders.keys():
        return None
    return Version1(folders["memory"], folders["cpuacct"], folders["pids"])


def _version_2(mounts: list[list[str]], own: list[list[str]]) -> Version2 | None:
    root = next((Path(mount[1]) for mount in mounts if mount[2] == "cgroup2"), None)
    path = next((path for number, _, path in own if number == "0"), None)
    if root is None or path is None:
        return None
    here = Path(path.lstrip("/"))
    for ancestor in (*reversed(here.parents), here):
        folder = root / ancestor / "judge-programs"
        try:
            if not folder.is_dir():
                _delegate_without_processes(root / ancestor, is_own=ancestor == here)
                folder.mkdir()
            _delegate(folder)
        except OSError:
            continue
        return Version2(folder)
    return None


def _delegate_without_processes(group: Path, *, is_own: bool) -> None:
    """Enable limits below a group. If processes of this process's own group prevent that, move them below it first.

    Raises OSError.
    """
    try:
        _delegate(group)
    except OSError as error:
        if not is_own or error.errno != errno.EBUSY:
            raise
        _move_processes(group)
        _delegate(group)


def _move_processes(group: Path) -> None:
    """Move the processes of a group into one below it. Raises OSError."""
    below = group / "judge-itself"
    below.mkdir(exist_ok=True)
    for process in _read(group / "cgroup.procs").split():
        with contextlib.suppress(ProcessLookupError):
            (below / "cgroup.procs").write_text(process)


def _delegate(folder: Path) -> None:
    """Enable limits of memory and processes for the groups below this one. Raises OSError."""
    if not {"memory", "pids"} <= set(_read(folder / "cgroup.subtree_control").split()):
        (folder / "cgroup.subtree_control").write_text("+memory +pids")


def _remove_abandoned(groups: ControlGroups) -> None:
    """Remove the groups of judges that were killed."""
    for parent in groups.parents():
        for folder in parent.glob(f"{_PREFIX}*-*"):
            owner = folder.name.removeprefix(_PREFIX).partition("-")[0]
            if owner.isdigit() and not Path("/proc", owner).exists():
                _remove(folder)


def _remove(folder: Path) -> None:
    """Remove a group and kill its processes, which may take a moment to end after a killed judge."""
    for _ in range(_ATTEMPTS):
        try:
            folder.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            for process in _read(folder / "cgroup.procs").split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(process), signal.SIGKILL)
            time.sleep(_PAUSE)
        else:
            return


def _read(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""
