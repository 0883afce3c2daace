"""The interface of a sandbox, independent of its implementation."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from io import FileIO
from pathlib import Path
from typing import Protocol

from judge.records import Limits

PROGRAM_FOLDER = "/program"
SCRATCH_FOLDER = "/box"
STDERR_LIMIT = 2**16
"""Bytes of standard error that an outcome keeps."""


class SandboxUnavailableError(Exception):
    """The error that this machine cannot run programs safely. The message names the problem and the remedy."""

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(f"Programs cannot be run safely here: {problem}. {remedy}")
        self.problem = problem
        self.remedy = remedy


class SandboxFaultError(Exception):
    """A run failed because of the sandbox and not because of the program. A retry may succeed."""


class UndecidedRunError(SandboxFaultError):
    """A run reached its limit of real time before it exceeded a limit of its own: the machine is overloaded."""


class Termination(StrEnum):
    """The cause of a run's end: the program exited, or it was stopped at a limit."""

    EXIT = "exit"
    CPU = "cpu"
    IDLE = "idle"
    MEMORY = "memory"
    OUTPUT = "output"


@dataclass(frozen=True)
class Mounts:
    """The files and the environment that all runs in one container see; nothing else of the host is visible.

    `files` are the names, with `/` between folders, and contents of the files in PROGRAM_FOLDER; all are executable.
    `readable` are files and folders of the system, mounted under their own
    paths; `mounted` are others, each with its path in the container. All are read-only. Programs start in
    SCRATCH_FOLDER, the only place that they can write: `scratch` limits the bytes of all files there together,
    `file_size` those of each file. `environment` adds environment variables. `random_devices` mounts /dev/random
    and /dev/urandom; /dev/null is always there.
    """

    files: tuple[tuple[str, bytes], ...]
    readable: tuple[Path, ...]
    file_size: int
    scratch: int
    mounted: tuple[tuple[Path, str], ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    random_devices: bool = True


@dataclass(frozen=True)
class InteractionSide:
    """A side of an interaction: the program or the validator, with a descriptor of the memory that both share."""

    is_validator: bool
    memory: int


@dataclass(frozen=True)
class Preload:
    """A compiled program that a fork server loads, as CPython marshals it, and modules that its interpreter imports."""

    code: bytes
    modules: tuple[str, ...]


@dataclass(frozen=True)
class SandboxRun:
    """One run of a program in a container.

    `input` becomes standard input: bytes, a file's content, or an end of a pipe. Standard output is collected, or
    written to the end of a pipe `output`. The container closes such ends once the program has them. `idle` is the
    limit of idle time and `wall` of real time in seconds; None stands for that of `limits`. `files` are written to
    the scratch folder under their plain names before the program starts; `collect` names files there whose content
    is returned if they exist. The name `*` stands for all files whose names do not begin with a dot.

    `preload` requests a fork server (CPython only), which loads the program once for all runs of this container.
    `command` then is that of an interpreter with its options, and the program's file. The sandbox may start the
    program normally all the same.

    `interaction` is the side of an interaction that this run is. Time in which a side waits for the other one is not
    its idle time.
    """

    command: tuple[str, ...]
    limits: Limits
    wall: float | None = None
    idle: float | None = None
    input: bytes | Path | FileIO = b""
    output: FileIO | None = None
    files: Mapping[str, bytes | Path] = field(default_factory=dict)
    collect: tuple[str, ...] = ()
    preload: Preload | None = None
    interaction: "InteractionSide | None" = None


@dataclass(frozen=True)
class RunOutcome:
    """The outcome of a run: CPU, idle and real seconds and peak bytes of all its processes, and its output.

    `exit_status` is None unless the program ended by itself with one, `signal` unless a signal ended it.
    `stdout` holds at most the output limit; `stderr` at most the first STDERR_LIMIT bytes. `files`
    holds the collected files, all together at most one byte more than the output limit. `ended` is the time of the
    program's end, in seconds of the machine's monotonic clock.
    """

    termination: Termination
    exit_status: int | None
    signal: int | None
    time: float
    idle: float
    wall: float
    memory: int
    stdout: bytes
    stderr: bytes
    files: Mapping[str, bytes]
    ended: float


class Container(Protocol):
    """An isolated place for the runs of one submission, one at a time. No run sees traces of another."""

    def run(self, run: SandboxRun) -> RunOutcome:
        """Run the program to its end. Raises SandboxFaultError, after which the container can be used again.

        UndecidedRunError is the SandboxFaultError of a run that reached its limit of real time.
        """
        ...


class Sandbox(Protocol):
    """An isolation for untrusted programs: no network, only the named files, and no traces after a run."""

    @property
    def isolation(self) -> str:
        """A short description of the isolation, which each judgement records."""
        ...

    def open(self, mounts: Mounts) -> AbstractContextManager[Container]:
        """Open a new container. It ends with the block, and so do all its processes."""
        ...

    def close(self) -> None:
        """End the sandbox's own processes, with all containers. The sandbox can be used again."""
        ...


@dataclass(frozen=True)
class SandboxStatus:
    """The ability of this machine to run programs; without it, the problem and the remedy.

    `isolation` names the tier and its parts; `improvement` is the step to the next tier, or empty.
    """

    available: bool
    isolation: str
    problem: str
    remedy: str
    improvement: str = ""
