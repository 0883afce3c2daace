"""The judge's side of the launcher's protocol: requests a run, reads its streams and returns its outcome."""

import contextlib
import math
import os
import select
import signal
import socket
import time
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from typing import NamedTuple

from judge.sandbox.cgroups import ControlGroup
from judge.sandbox.interface import (
    STDERR_LIMIT,
    Mounts,
    Preload,
    RunOutcome,
    SandboxFaultError,
    SandboxRun,
    Termination,
    UndecidedRunError,
)
from judge.sandbox.memory_file import sealed_file
from judge.sandbox.packets import Descriptors, receive, send

PROCESSES = 64
# Seconds after the limit of real time until a launcher without an answer counts as failed; two starts of a fork server,
# and of its fork, may take 22 of them.
_GRACE = 30.0
_FIRST_WAIT = 0.003  # seconds for which a program may be blocked by a full pipe
_CHUNK = 2**18


class Interpreter(NamedTuple):
    """An interpreter that has started: its command, the stack limit of its start in bytes, and its modules."""

    command: tuple[str, ...]
    stack: int
    modules: tuple[str, ...]

    @classmethod
    def of(cls, run: SandboxRun) -> "Interpreter | None":
        """Return the interpreter of a run that requests a fork server, else None."""
        if run.preload is None:
            return None
        return cls(run.command[:-1], run.limits.memory, run.preload.modules)


@dataclass
class ContainerProcess:
    """A running container: the descriptor of its process 1, and the socket to this launcher.

    `interpreter` is the one whose memory process 1 shares, or None; `preload` is what its fork server loads.
    """

    process: int
    launcher: socket.socket
    mounts: Mounts
    group: ControlGroup | None
    interpreter: Interpreter | None
    preload: Preload | None
    _killed: int = field(init=False)  # processes that the kernel killed for lack of memory before this run

    def __post_init__(self) -> None:
        self._killed = self._killed_processes()

    def run(self, run: SandboxRun) -> tuple[RunOutcome, bool]:
        """Run the program. Return its outcome, and whether the container can be used again.

        Raises SandboxFaultError.
        """
        start = time.monotonic()
        try:
            outcome, clean = self._run(run)
        except SandboxFaultError:
            if self._killed_processes() > self._killed:  # the launcher among them
                return _out_of_memory(run, time.monotonic() - start), False
            raise
        if outcome.termination is Termination.MEMORY:
            self._killed = self._killed_processes()
        return outcome, clean

    def _killed_processes(self) -> int:
        return self.group.killed_processes() if self.group else 0

    def _run(self, run: SandboxRun) -> tuple[RunOutcome, bool]:
        has_server = (
            self.interpreter is not None
            and self.interpreter == Interpreter.of(run)
            and self.preload == run.preload
        )
        idle = run.limits.idle if run.idle is None else run.idle
        wall = run.limits.wall if run.wall is None else run.wall
        deadline = time.monotonic() + wall + _GRACE
        with Descriptors() as ours, Descriptors() as sent:
            _add_content(sent, run.input)
            output = -1
            collected: dict[int, _Stream] = {}
            if run.output is None:
                output = _pipe(ours, sent)
                collected[output] = _Stream(run.limits.output)
            else:
                _add_content(sent, run.output)
            errors = _pipe(ours, sent)
            collected[errors] = _Stream(STDERR_LIMIT)
            for content in run.files.values():
                _add_content(sent, content)
            if run.interaction:
                sent.add(os.dup(run.interaction.memory))
            side = 0 if run.interaction is None else 1 + run.interaction.is_validator
            limits = [
                *(math.ceil(seconds * 1e6) for seconds in (run.limits.time, idle, wall)),
                run.limits.memory,
            ]
            words = ["run", str(int(has_server)), *map(str, limits), *self._bounds(run), str(side)]
            words += [str(len(run.files)), str(len(run.collect)), *run.files, *run.collect, *run.command]
            self._send(words, sent)
            sent.close()  # otherwise the streams never end
            answer, files, too_much = self._collect(collected, output, deadline)
        with files:
            stdout = bytes(collected[output].content) if output in collected else b""
            stderr = bytes(collected[errors].content)
            return _outcome(answer, stdout, stderr, _contents(answer[9:], files, run.limits.output), too_much)

    def _collect(
        self, collected: dict[int, "_Stream"], output: int, deadline: float
    ) -> tuple[list[str], Descriptors, bool]:
        """Return the launcher's answer, its descriptors, and whether the output exceeded its limit."""
        waiting = select.poll()
        waiting.register(self.launcher, select.POLLIN)
        open_streams = set(collected)
        answer: list[str] = []
        files = Descriptors()
        too_much = False
        # Most programs print less than a pipe holds: waking up for each chunk would cost more than the program.
        if waiting.poll(_FIRST_WAIT * 1000):
            answer, files = self._read_answer()
            waiting.unregister(self.launcher)
        for descriptor in collected:
            waiting.register(descriptor, select.POLLIN)
        while open_streams or not answer:
            remaining = deadline - time.monotonic()
            ready = waiting.poll(max(0.0, remaining) * 1000)
            if not ready:
                raise SandboxFaultError("the sandbox did not end within its time")
            for descriptor, state in ready:
                if descriptor not in collected:
                    answer, files = self._read_answer()
                    waiting.unregister(descriptor)
                    continue
                data = os.read(descriptor, _CHUNK)
                has_no_writer = state & select.POLLHUP
                if not data or (has_no_writer and len(data) < _CHUNK):
                    waiting.unregister(descriptor)
                    open_streams.discard(descriptor)
                if collected[descriptor].add(data) and descriptor == output and not too_much:
                    too_much = True
                    with contextlib.suppress(OSError):
                        self.launcher.send(b"stop\0")
        return answer, files, too_much

    def _bounds(self, run: SandboxRun) -> list[str]:
        # The memory limit applies to used memory. Address space gets a far higher limit, because programs and threads
        # reserve much more than they use.
        address_space = 4 * run.limits.memory + 16 * 2**30
        return [str(address_space), str(self.mounts.file_size), str(PROCESSES)]

    def _send(self, words: list[str], descriptors: Descriptors) -> None:
        try:
            send(self.launcher, words, descriptors)
        except OSError as error:
            raise self._fault() from error

    def _read_answer(self) -> tuple[list[str], Descriptors]:
        try:
            packet, files = receive(self.launcher)
        except ConnectionResetError:
            packet, files = b"", Descriptors()
        if not packet:
            raise self._fault()
        first, *names = packet.decode("utf-8", "replace").split("\0")
        words = first.split(" ", 8)
        if words[0] == "fault":
            raise SandboxFaultError(first.removeprefix("fault "))
        return words + names, files

    def _fault(self) -> SandboxFaultError:
        """Return the fault of a launcher that has ended."""
        self.kill()
        return SandboxFaultError("the sandbox ended without a message")

    def kill(self) -> None:
        """Kill the launcher, and with it every process of the container."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.process, signal.SIGKILL)


class _Stream:
    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.content = bytearray()

    def add(self, data: bytes) -> bool:
        """Append the data up to the limit. Return whether there was more."""
        room = self.limit - len(self.content)
        self.content += data[:room]
        return len(data) > room


def _pipe(ours: Descriptors, sent: Descriptors) -> int:
    """Add the writing end of a new pipe to `sent`, and the reading end to `ours`. Return the latter."""
    reading, writing = os.pipe()
    sent.add(writing)
    return ours.add(reading)


def _add_content(sent: Descriptors, content: bytes | Path | FileIO) -> None:
    """Add a file with this content, or the end of a pipe, which is closed."""
    if isinstance(content, FileIO):
        with content:
            sent.add(os.dup(content.fileno()))
    else:
        sent.add(sealed_file(content))


def _contents(names: list[str], files: Descriptors, limit: int) -> dict[str, bytes]:
    contents, room = {}, limit + 1
    for name, file in zip(names, files, strict=False):
        with os.fdopen(os.dup(file), "rb") as stream:
            contents[name] = stream.read(room)
        room -= len(contents[name])
    return contents


def _out_of_memory(run: SandboxRun, wall: float) -> RunOutcome:
    memory, ended = run.limits.memory, time.monotonic()
    return RunOutcome(Termination.MEMORY, None, None, 0.0, 0.0, wall, memory, b"", b"", {}, ended)


def _outcome(
    answer: list[str], stdout: bytes, stderr: bytes, files: dict[str, bytes], too_much: bool
) -> tuple[RunOutcome, bool]:
    cause, numbers = answer[1], [int(word) for word in answer[2:9]]
    status, cpu, idle, wall, memory, ended, clean = numbers
    if cause == "wall" and not too_much:
        raise UndecidedRunError(
            f"the run was not decided within {wall / 1e6:.0f} s, of which {cpu / 1e6:.2f} s were CPU and "
            f"{idle / 1e6:.2f} s idle: the machine is overloaded"
        )
    termination = Termination.OUTPUT if too_much else Termination(cause)
    exited = termination is Termination.EXIT
    outcome = RunOutcome(
        termination=termination,
        exit_status=os.WEXITSTATUS(status) if exited and os.WIFEXITED(status) else None,
        signal=os.WTERMSIG(status) if exited and os.WIFSIGNALED(status) else None,
        time=cpu / 1e6,
        idle=idle / 1e6,
        wall=wall / 1e6,
        memory=memory,
        stdout=stdout,
        stderr=stderr,
        files=files,
        ended=ended / 1e6,
    )
    return outcome, bool(clean)
