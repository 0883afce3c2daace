"""What a trial is given and promises."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from judge.checkers import Checker
from judge.compilation import Program
from judge.judgement import Test, TestResult
from judge.limits import Limits
from judge.sandbox import Outcome, Run


@dataclass(frozen=True)
class FileNames:
    """The files that a program may read and write instead of standard input and output, by plain name."""

    input: str
    output: str


@dataclass(frozen=True)
class Tried:
    """What is tried: a compiled program, with the limits it gets, how its output is judged, and its files if any."""

    program: Program
    limits: Limits
    checker: Checker
    files: FileNames | None = None

    def run(self, given: bytes | Path) -> Run:
        """The run of the program on this input."""
        return Run(
            command=self.program.command,
            limits=self.limits,
            wall=self.limits.wall,
            input=given,
            files={self.files.input: given} if self.files else {},
            collect=(self.files.output,) if self.files else (),
            warm=self.program.warm,
        )

    def output(self, outcome: Outcome) -> bytes:
        """What counts as the program's output in this outcome."""
        return outcome.files.get(self.files.output, outcome.stdout) if self.files else outcome.stdout


class Trial(Protocol):
    """Tries one program on tests, one after the other."""

    def judge(self, test: Test) -> TestResult:
        """Run the program on the test and say what it earned. Raises what is not its fault.

        SandboxFault, OSError, and CheckerFault where the problem's own checking program fails.
        """
        ...
