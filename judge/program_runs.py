"""Running a compiled program under its limits, and what became of it, whatever its output is wanted for."""

import re
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from judge.compilation import Program
from judge.judgement import printable
from judge.limits import Limits
from judge.sandbox import Ending, Outcome, Run
from judge.verdicts import Verdict

_NEAR = 0.9  # share of the memory limit above which a crash is taken for lack of memory
_CRASHES = (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGKILL)


@dataclass(frozen=True)
class FileNames:
    """The files that a program may read and write instead of standard input and output, by plain name."""

    input: str
    output: str


@dataclass(frozen=True)
class ProgramRun:
    """What a program did with one input: its outcome, and what counts as its output.

    `fault` is None for a run that ended well, else the verdict on one that passed a limit or crashed, and why.
    """

    outcome: Outcome
    output: bytes
    fault: tuple[Verdict, str] | None


@dataclass(frozen=True)
class LimitedProgram:
    """A compiled program with the limits it gets, and its files if any."""

    program: Program
    limits: Limits
    files: FileNames | None = None

    def run(self, given: bytes | Path, arguments: Sequence[str] = ()) -> Run:
        """The run of the program on this input. An interpreter starts anew for a run with arguments."""
        return Run(
            command=(*self.program.command, *arguments),
            limits=self.limits,
            wall=self.limits.wall,
            input=given,
            files={self.files.input: given} if self.files else {},
            collect=(self.files.output,) if self.files else (),
            warm=None if arguments else self.program.warm,
        )

    def after(self, outcome: Outcome) -> ProgramRun:
        """What such a run amounts to that had this outcome."""
        output = outcome.files.get(self.files.output, outcome.stdout) if self.files else outcome.stdout
        fault = _fault_of(outcome, self.limits, self.program.out_of_memory)
        if fault is None and len(output) > self.limits.output:
            fault = Verdict.OLE, f"wrote more than {self.limits.output} bytes"
        return ProgramRun(outcome, output, fault)


def _fault_of(outcome: Outcome, limits: Limits, out_of_memory: str) -> tuple[Verdict, str] | None:
    """`out_of_memory` is a pattern for the last line that a program of this language prints for lack of memory."""
    last_words = outcome.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
    if outcome.ending is Ending.OUTPUT:
        return Verdict.OLE, f"printed more than {limits.output} bytes"
    if outcome.ending is Ending.MEMORY:
        return Verdict.MLE, f"used more than {limits.memory} bytes of memory"
    if outcome.ending is Ending.CPU or outcome.time > limits.time:
        return Verdict.TLE, f"used {outcome.time:.2f} s of CPU, the limit is {limits.time:g} s"
    if outcome.memory > limits.memory:
        return Verdict.MLE, f"used {outcome.memory} bytes of memory, the limit is {limits.memory}"
    if outcome.ending is Ending.WALL:
        return Verdict.TLE, (
            f"stopped by the wall clock after {outcome.wall:.2f} s, of which {outcome.time:.2f} s were CPU"
        )
    if outcome.exit_status == 0:
        return None
    near = outcome.signal in _CRASHES and outcome.memory >= _NEAR * limits.memory
    if near or re.fullmatch(out_of_memory, last_words):
        return Verdict.MLE, "could not get more memory"
    if outcome.signal is not None:
        return Verdict.RTE, f"ended by signal {outcome.signal} ({_signal_name(outcome.signal)})"
    return Verdict.RTE, printable(f"exit status {outcome.exit_status}. {last_words}".encode(), 200).strip()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return "real-time signal"
