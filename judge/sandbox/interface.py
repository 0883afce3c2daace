"""What a sandbox promises, whatever it is made of."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from io import FileIO
from pathlib import Path
from typing import Protocol

from judge.limits import Limits


class SandboxUnavailable(Exception):
    """Programs cannot be run safely on this machine. The message names the problem and the remedy."""

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(f"Programs cannot be run safely here: {problem}. {remedy}")
        self.problem = problem
        self.remedy = remedy


class SandboxFault(Exception):
    """One run failed for reasons that lie in the sandbox, not in the program. It may be tried again."""


class Ending(StrEnum):
    """How a run ended: by itself, or stopped because it passed a limit."""

    EXIT = "exit"
    CPU = "cpu"
    WALL = "wall"
    MEMORY = "memory"
    OUTPUT = "output"


@dataclass(frozen=True)
class Surroundings:
    """What all runs in one container see of the host, and it is all they see.

    `folder` is seen as PROGRAM_FOLDER; `readable` are files and folders of the system, seen under their own paths;
    `mounted` are others, each with the path it is seen under. None can be written. SCRATCH_FOLDER is where
    programs start and the one place where they may write: `scratch` bounds all files there together, `file_size`
    each of them, in bytes.
    """

    folder: Path
    readable: tuple[Path, ...]
    file_size: int
    scratch: int
    mounted: tuple[tuple[Path, str], ...] = ()


@dataclass(frozen=True)
class Run:
    """One run of a program in a container.

    `input` becomes standard input: bytes, a file's content, or an end of a pipe. Standard output is collected, or
    goes to the end of a pipe that `output` is. Such ends are closed here once the program has them. `wall` is the
    guard in seconds of real time. `files` are laid into the scratch folder by their plain names before the program
    starts; `collect` names files there whose content comes back with the outcome, if they exist. The name `*` stands
    for all that do not begin with a dot.

    `warm` asks for the fast path of CPython: the names of modules to import once for all runs of this container.
    `command` then ends with the program's file. The sandbox may take the slow path all the same.
    """

    command: tuple[str, ...]
    limits: Limits
    wall: float
    input: bytes | Path | FileIO = b""
    output: FileIO | None = None
    files: Mapping[str, bytes | Path] = field(default_factory=dict)
    collect: tuple[str, ...] = ()
    warm: tuple[str, ...] | None = None


PROGRAM_FOLDER = "/program"
SCRATCH_FOLDER = "/box"


@dataclass(frozen=True)
class Outcome:
    """What happened: CPU and real seconds and peak bytes of all its processes, and what it printed.

    `exit_status` is None unless the program ended by itself with one, `signal` unless a signal ended it.
    `stdout` holds at most the output limit; `stderr` at most STDERR_LIMIT bytes from its beginning. `files`
    holds the collected files, all together at most one byte more than the output limit. `ended` is when the program
    ended, in seconds of the machine's monotonic clock.
    """

    ending: Ending
    exit_status: int | None
    signal: int | None
    time: float
    wall: float
    memory: int
    stdout: bytes
    stderr: bytes
    files: Mapping[str, bytes]
    ended: float


STDERR_LIMIT = 2**16


class Container(Protocol):
    """A place for the runs of one submission, one at a time. No run finds anything that another left."""

    def run(self, run: Run) -> Outcome:
        """Run the program to its end. Raises SandboxFault, after which the container may be used again."""
        ...


class Sandbox(Protocol):
    """Runs untrusted programs: no network, no files but those named, nothing left behind."""

    @property
    def isolation(self) -> str:
        """What keeps programs in, in a few words, for the record of each judgement."""
        ...

    def open(self, surroundings: Surroundings) -> AbstractContextManager[Container]:
        """A new container, which ends with the block and all its processes with it."""
        ...


@dataclass(frozen=True)
class SandboxStatus:
    """Whether programs can be run here; if not, why, and what to do about it.

    `isolation` names the tier and what it is made of; `improvement` says how to reach the next tier, or is empty.
    """

    available: bool
    isolation: str
    problem: str
    remedy: str
    improvement: str = ""
