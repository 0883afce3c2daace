"""What a sandbox promises, whatever it is made of."""

from dataclasses import dataclass
from enum import StrEnum
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
class Job:
    """One program to run.

    `folder` is what the program may read besides the system, seen as PROGRAM_FOLDER; `readable` are files and
    folders of the system, seen under their own paths; `mounted` are others, each with the path it is seen
    under, also only to be read. `input` becomes standard input (None: empty). It starts in SCRATCH_FOLDER,
    empty and its own. `wall` is the guard in seconds of real time; `file_size` bounds each file the program
    writes and `scratch` all of them together, in bytes.
    """

    command: tuple[str, ...]
    folder: Path
    readable: tuple[Path, ...]
    input: Path | None
    limits: Limits
    wall: float
    file_size: int
    scratch: int
    mounted: tuple[tuple[Path, str], ...] = ()


PROGRAM_FOLDER = "/program"
SCRATCH_FOLDER = "/box"


@dataclass(frozen=True)
class Outcome:
    """What happened: CPU and real seconds and peak bytes of all its processes, and what it printed.

    `exit_status` is None unless the program ended by itself with one, `signal` unless a signal ended it.
    `stdout` holds at most the output limit; `stderr` at most STDERR_LIMIT bytes from its beginning.
    """

    ending: Ending
    exit_status: int | None
    signal: int | None
    time: float
    wall: float
    memory: int
    stdout: bytes
    stderr: bytes


STDERR_LIMIT = 2**16


class Sandbox(Protocol):
    """Runs untrusted programs: no network, no files but those named, nothing left behind."""

    @property
    def isolation(self) -> str:
        """What keeps programs in, in a few words, for the record of each judgement."""
        ...

    def run(self, job: Job) -> Outcome:
        """Run the job to its end. Raises SandboxFault."""
        ...


@dataclass(frozen=True)
class SandboxStatus:
    """Whether programs can be run here; if not, why, and what to do about it."""

    available: bool
    isolation: str
    problem: str
    remedy: str
