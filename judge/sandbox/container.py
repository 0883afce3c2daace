"""The judge's end of the conversation with the launcher: one run asked for, watched and collected."""

import contextlib
import math
import os
import select
import socket
import subprocess
import time
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

from judge.sandbox.cgroups import Group
from judge.sandbox.interface import STDERR_LIMIT, Ending, Outcome, Run, SandboxFault, Surroundings
from judge.sandbox.memory_file import sealed_file

PROCESSES = 64
WARM_PYTHON = "/warm_python.py"
_GRACE = 10.0  # seconds beyond its wall guard before a run that says nothing is given up
_SHORT = 0.003  # seconds a program may wait at a full pipe
_LONG = 60.0  # seconds; a fork is stopped at its own limit long before
_WARM_UP = 25.0  # seconds, more than the launcher's own patience
_CHUNK = 2**18
_PACKET = 2**16
_DESCRIPTORS = 250  # the most that the kernel lets one packet carry is 253


@dataclass
class Container:
    """A container that runs: the process that holds it and the socket to the launcher inside."""

    process: subprocess.Popen[bytes]
    launcher: socket.socket
    surroundings: Surroundings
    group: Group | None
    _warmed: tuple[str, ...] | None = None  # what the warm interpreter was started for, if there is one
    _can_be_warm: bool = True

    def run(self, run: Run) -> tuple[Outcome, bool]:
        """Run the program; also whether the container may be used again. Raises SandboxFault: it may not."""
        start = time.monotonic()
        try:
            return self._run_warm_or_cold(run)
        except SandboxFault:
            if self.group and self.group.ran_out_of_memory():  # and it was the launcher that the kernel ended
                return _out_of_memory(run, time.monotonic() - start), False
            raise

    def _run_warm_or_cold(self, run: Run) -> tuple[Outcome, bool]:
        if run.warm is not None and self._can_be_warm and self._warm_up(run, run.warm):
            try:
                return self._run(run, warm=True)
            except _Cold:  # the interpreter did not survive what the program before did to it
                self._can_be_warm = False
        return self._run(run, warm=False)

    def _warm_up(self, run: Run, modules: tuple[str, ...]) -> bool:
        """Whether there is a warm interpreter for this command, after starting one where there was none."""
        started_for = (*run.command, "", *modules)
        if self._warmed is None:
            with contextlib.ExitStack() as stack:
                # Of the same kinds as a run's, because an interpreter looks at them while it starts.
                descriptors = [stack.enter_context(sealed_file(b""))]
                descriptors += [_pipe(stack, stack)[1] for _ in range(2)]
                *interpreter, program = run.command
                cpu = math.ceil((_LONG + run.limits.time) * 1e6)  # of the interpreter, and of each fork
                words = ["warm", str(cpu), str(run.limits.memory), *self._bounds(run)]
                self._send([*words, *interpreter, WARM_PYTHON, program, *modules], descriptors)
            if self._receive(time.monotonic() + _WARM_UP)[0] == "ready":
                self._warmed = started_for
            else:
                self._can_be_warm = False
        return self._warmed == started_for

    def _run(self, run: Run, *, warm: bool) -> tuple[Outcome, bool]:
        deadline = time.monotonic() + run.wall + _GRACE
        with contextlib.ExitStack() as stack:
            sent = stack.enter_context(contextlib.ExitStack())
            input_ = _content(sent, run.input)
            errors, into_errors = _pipe(stack, sent)
            collected = {errors: _Stream(STDERR_LIMIT)}
            if run.output is None:
                output, into_output = _pipe(stack, sent)
                collected[output] = _Stream(run.limits.output)
            else:
                output, into_output = -1, _content(sent, run.output)
            descriptors = [input_, into_output, into_errors]
            descriptors += [_content(sent, content) for content in run.files.values()]
            limits = [math.ceil(run.limits.time * 1e6), math.ceil(run.wall * 1e6), run.limits.memory]
            words = ["run", str(int(warm)), *map(str, limits), *self._bounds(run)]
            words += [str(len(run.files)), str(len(run.collect)), *run.files, *run.collect, *run.command]
            self._send(words, descriptors)
            sent.close()  # else the streams would never end
            answer, files, too_much = self._collect(collected, output, deadline)
        try:
            if answer[0] == "cold":
                raise _Cold
            stdout = bytes(collected[output].content) if output in collected else b""
            stderr = bytes(collected[errors].content)
            return _outcome(answer, stdout, stderr, _contents(answer[8:], files, run.limits.output), too_much)
        finally:
            for file in files:
                os.close(file)

    def _collect(
        self, collected: dict[int, "_Stream"], output: int, deadline: float
    ) -> tuple[list[str], list[int], bool]:
        """The launcher's answer, the descriptors that came with it, and whether too much was printed."""
        waiting = select.poll()
        waiting.register(self.launcher, select.POLLIN)
        open_streams = set(collected)
        answer: list[str] = []
        files: list[int] = []
        too_much = False
        # Most programs print less than a pipe holds: waking up for each piece would cost more than they do.
        if waiting.poll(_SHORT * 1000):
            answer, files = self._read_answer()
            waiting.unregister(self.launcher)
        for descriptor in collected:
            waiting.register(descriptor, select.POLLIN)
        while open_streams or not answer:
            remaining = deadline - time.monotonic()
            ready = waiting.poll(max(0.0, remaining) * 1000)
            if not ready:
                raise SandboxFault("the sandbox did not end within its time")
            for descriptor, _ in ready:
                if descriptor not in collected:
                    answer, files = self._read_answer()
                    waiting.unregister(descriptor)
                    continue
                data = os.read(descriptor, _CHUNK)
                if not data:
                    waiting.unregister(descriptor)
                    open_streams.discard(descriptor)
                elif collected[descriptor].add(data) and descriptor == output and not too_much:
                    too_much = True
                    with contextlib.suppress(OSError):
                        self.launcher.send(b"stop\0")
        return answer, files, too_much

    def _bounds(self, run: Run) -> list[str]:
        # Memory really used is what counts; address space is only bounded far above, because programs and
        # threads reserve much more than they touch.
        address_space = 4 * run.limits.memory + 16 * 2**30
        return [str(address_space), str(self.surroundings.file_size), str(PROCESSES)]

    def _send(self, words: list[str], descriptors: list[int]) -> None:
        packet = b"".join(word.encode() + b"\0" for word in words)
        if len(packet) >= _PACKET or len(words) > _DESCRIPTORS or len(descriptors) > _DESCRIPTORS:
            raise ValueError("a run has too many arguments or files")
        try:
            socket.send_fds(self.launcher, [packet], descriptors)
        except OSError as error:
            raise self._fault() from error

    def _receive(self, deadline: float) -> list[str]:
        self.launcher.settimeout(max(0.0, deadline - time.monotonic()))
        try:
            return self._read_answer()[0]
        except TimeoutError as error:
            raise SandboxFault("the sandbox did not answer") from error
        finally:
            self.launcher.settimeout(None)

    def _read_answer(self) -> tuple[list[str], list[int]]:
        try:
            packet, files, _, _ = socket.recv_fds(self.launcher, _PACKET, _DESCRIPTORS)
        except ConnectionResetError:
            packet, files = b"", []
        if not packet:
            raise self._fault()
        first, *names = packet.decode("utf-8", "replace").split("\0")
        words = first.split(" ", 7)
        if words[0] == "fault":
            raise SandboxFault(first.removeprefix("fault "))
        return words + names, files

    def _fault(self) -> SandboxFault:
        """The launcher has gone: what bubblewrap said about it, if anything."""
        assert self.process.stderr is not None
        self.process.kill()
        said = self.process.stderr.read(4000).decode("utf-8", "replace").strip()
        return SandboxFault(said or "the sandbox ended without a word")


class _Cold(Exception):
    """There is no warm interpreter any more."""


class _Stream:
    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.content = bytearray()

    def add(self, data: bytes) -> bool:
        """Keep what there is room for; whether there was too much."""
        room = self.limit - len(self.content)
        self.content += data[:room]
        return len(data) > room


def _pipe(reading: contextlib.ExitStack, writing: contextlib.ExitStack) -> tuple[int, int]:
    """A new pipe, each end of which is closed with its stack."""
    ends = os.pipe()
    reading.callback(os.close, ends[0])
    writing.callback(os.close, ends[1])
    return ends


def _content(stack: contextlib.ExitStack, content: bytes | Path | FileIO) -> int:
    if isinstance(content, FileIO):
        return stack.enter_context(content).fileno()
    return stack.enter_context(sealed_file(content if isinstance(content, bytes) else content.read_bytes()))


def _contents(names: list[str], files: list[int], limit: int) -> dict[str, bytes]:
    contents, room = {}, limit + 1
    for name, file in zip(names, files, strict=False):
        with os.fdopen(os.dup(file), "rb") as stream:
            contents[name] = stream.read(room)
        room -= len(contents[name])
    return contents


def _out_of_memory(run: Run, wall: float) -> Outcome:
    memory, ended = run.limits.memory, time.monotonic()
    return Outcome(Ending.MEMORY, None, None, 0.0, wall, memory, b"", b"", {}, ended)


def _outcome(
    answer: list[str], stdout: bytes, stderr: bytes, files: dict[str, bytes], too_much: bool
) -> tuple[Outcome, bool]:
    cause, numbers = answer[1], [int(word) for word in answer[2:8]]
    status, cpu, wall, memory, ended, clean = numbers
    ending = Ending.OUTPUT if too_much else Ending(cause)
    exited = ending is Ending.EXIT
    outcome = Outcome(
        ending=ending,
        exit_status=os.WEXITSTATUS(status) if exited and os.WIFEXITED(status) else None,
        signal=os.WTERMSIG(status) if exited and os.WIFSIGNALED(status) else None,
        time=cpu / 1e6,
        wall=wall / 1e6,
        memory=memory,
        stdout=stdout,
        stderr=stderr,
        files=files,
        ended=ended / 1e6,
    )
    return outcome, bool(clean)
