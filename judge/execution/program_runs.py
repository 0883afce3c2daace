"""Runs of a compiled program under its limits, and the verdict on a run that fails."""

import re
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from judge.compilation import CompiledProgram
from judge.records import Limits, Verdict, printable
from judge.sandbox import RunOutcome, SandboxRun, Termination

_NEAR = 0.9  # share of the memory limit above which a crash counts as lack of memory
_CRASHES = (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGKILL)


@dataclass(frozen=True)
class FileNames:
    """Plain names of files that a program may read and write instead of standard input and output."""

    input: str
    output: str


@dataclass(frozen=True)
class ProgramRun:
    """A program's run on one input: its outcome and its output.

    `fault` is None for a run that ended well, else the verdict on a run that exceeded a limit or crashed, and the
    reason.
    """

    outcome: RunOutcome
    output: bytes
    fault: tuple[Verdict, str] | None


@dataclass(frozen=True)
class LimitedProgram:
    """A compiled program with its limits, and its files if it has any."""

    program: CompiledProgram
    limits: Limits
    files: FileNames | None = None

    def run(self, given: bytes | Path, arguments: Sequence[str] = ()) -> SandboxRun:
        """Return the run of the program on this input. A run with arguments does not use the fork server."""
        return SandboxRun(
            command=(*self.program.command, *arguments),
            limits=self.limits,
            input=given,
            files={self.files.input: given} if self.files else {},
            collect=(self.files.output,) if self.files else (),
            preload=None if arguments else self.program.preload,
        )

    def result(self, outcome: RunOutcome) -> ProgramRun:
        """Return the result of a run with this outcome."""
        output = outcome.files.get(self.files.output, outcome.stdout) if self.files else outcome.stdout
        fault = _fault_of(outcome, self.limits, self.program.out_of_memory)
        if fault is None and len(output) > self.limits.output:
            fault = Verdict.OLE, f"wrote more than {self.limits.output} bytes"
        return ProgramRun(outcome, output, fault)


def _fault_of(outcome: RunOutcome, limits: Limits, out_of_memory: str) -> tuple[Verdict, str] | None:
    """Return the verdict on a run that failed and the reason. `out_of_memory` is described at `Language`."""
    if exceeded := _exceeded_limit(outcome, limits):
        return exceeded
    if outcome.exit_status == 0:
        return None
    errors = outcome.stderr.decode("utf-8", "replace").strip()
    near = outcome.signal in _CRASHES and outcome.memory >= _NEAR * limits.memory
    if near or re.search(out_of_memory, errors):
        return Verdict.MLE, "could not get more memory"
    if outcome.signal is not None:
        return Verdict.RTE, f"ended by signal {outcome.signal} ({_signal_name(outcome.signal)})"
    last_line = errors.rpartition("\n")[2]
    return Verdict.RTE, printable(f"exit status {outcome.exit_status}. {last_line}".encode(), 200).strip()


def _exceeded_limit(outcome: RunOutcome, limits: Limits) -> tuple[Verdict, str] | None:
    if outcome.termination is Termination.OUTPUT:
        return Verdict.OLE, f"printed more than {limits.output} bytes"
    if outcome.termination is Termination.MEMORY:
        return Verdict.MLE, f"used more than {limits.memory} bytes of memory"
    if outcome.termination is Termination.CPU or outcome.time > limits.time:
        return Verdict.TLE, f"used {outcome.time:.2f} s of CPU, the limit is {limits.time:g} s"
    if outcome.memory > limits.memory:
        return Verdict.MLE, f"used {outcome.memory} bytes of memory, the limit is {limits.memory}"
    if outcome.termination is Termination.IDLE:
        return Verdict.TLE, (
            f"slept for {outcome.idle:.2f} s and used {outcome.time:.2f} s of CPU, the limit is {limits.time:g} s"
        )
    return None


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return "real-time signal"
