"""The program with which a problem checks outputs: compiled once for a submission, run in a container of its own.

An output validator (kind "validator") is called as the problem package format says: the names of the input, of the
answer and of a feedback folder, then the flags; the program's output is its standard input, exit status 42 accepts
and 43 rejects. A special judge (kind "special", ICPC-Eval's contract, docs/spec.md 5.1) is called with the names of the
input, the answer and the program's output, and prints its verdict; if it prints nothing, exit status 0 accepts.
Whatever else happens is a fault of the checking program, never of the program it checks.
"""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from judge.checkers import Checker
from judge.compilation import compile_program
from judge.judgement import Test, printable
from judge.languages import get_language
from judge.limits import MEBIBYTE, Limits, Policy, limits_for
from judge.sandbox import SCRATCH_FOLDER, Container, Ending, Outcome, Run, Sandbox, run_with_retries

_ACCEPTED, _REJECTED = 42, 43
_NEXT_INPUT = "nextpass.in"
_MESSAGE, _TEAM_MESSAGE = "judgemessage.txt", "teammessage.txt"
_SHOWN = 1_000
_LARGEST_TEST = 512 * MEBIBYTE  # input and answer; only what is used takes memory

# They begin with a dot because the scratch folder is the feedback folder too, whose files come back.
_INPUT, _ANSWER, _OUTPUT = ".input", ".answer", ".output"

_STOPPED = {
    Ending.CPU: "used more than {time:g} s of CPU",
    Ending.WALL: "did not end within {wall:g} s",
    Ending.MEMORY: "used more than {memory} MiB of memory",
    Ending.OUTPUT: "printed more than {output} MiB",
}


class CheckerFault(Exception):
    """The checking program failed: the problem's author must mend it. The message says how it failed."""


@dataclass(frozen=True)
class Ruling:
    """What the checking program decided, and why. `feedback` are the files it left for its next call on the same test.

    `next_input` is what the program is to be run with once more, if it is.
    """

    accepted: bool
    message: str
    feedback: Mapping[str, bytes] = field(default_factory=dict)
    next_input: bytes | None = None


@dataclass(frozen=True)
class Call:
    """One call of the checking program: on which test, with which input (of this pass), after which feedback."""

    test: Test
    input: bytes | Path
    feedback: Mapping[str, bytes] = field(default_factory=dict)


class OutputValidator:
    """A compiled checking program in its container."""

    def __init__(
        self, container: Container, checker: Checker, limits: Limits, command: tuple[str, ...]
    ) -> None:
        assert checker.program is not None
        self.container = container
        self.passes = checker.program.passes
        self._flags = checker.program.flags
        self._special = checker.kind == "special"
        self._limits = limits
        self._command = command

    def check(self, call: Call, output: bytes) -> Ruling:
        """What it says about this output. Raises CheckerFault, SandboxFault and OSError."""
        run = self.run_for(call)
        files = {**run.files, _OUTPUT: output}
        run = replace(run, files=files) if self._special else replace(run, input=output)
        outcome = run_with_retries(self.container, run)
        if outcome.ending is Ending.WALL:  # it waits for nothing: the machine may have been paused
            outcome = run_with_retries(self.container, run)
        return self.ruling(outcome)

    def run_for(self, call: Call) -> Run:
        """The run for this call, still without anything on its standard input."""
        words = (_INPUT, _ANSWER, _OUTPUT if self._special else "")
        collect: tuple[str, ...] = (_MESSAGE, _TEAM_MESSAGE)
        if self._special:
            collect = ()
        elif self.passes > 1:
            collect = ("*",)
        return Run(
            command=(*self._command, *(f"{SCRATCH_FOLDER}/{word}" for word in words), *self._flags),
            limits=self._limits,
            wall=self._limits.wall,
            files={_INPUT: call.input, _ANSWER: call.test.answer, **call.feedback},
            collect=collect,
        )

    def ruling(self, outcome: Outcome) -> Ruling:
        """What the outcome of such a run means. Raises CheckerFault."""
        limits = self._limits
        if outcome.ending is not Ending.EXIT:
            numbers = {
                "time": limits.time,
                "wall": limits.wall,
                "memory": limits.memory // MEBIBYTE,
                "output": limits.output // MEBIBYTE,
            }
            raise self._fault(_STOPPED[outcome.ending].format(**numbers), outcome)
        if outcome.signal is not None:
            raise self._fault(f"was ended by signal {outcome.signal}", outcome)
        return self._verdict_printed(outcome) if self._special else self._verdict_by_status(outcome)

    def _verdict_by_status(self, outcome: Outcome) -> Ruling:
        if outcome.exit_status not in (_ACCEPTED, _REJECTED):
            raise self._fault(f"ended with status {outcome.exit_status} instead of 42 or 43", outcome)
        accepted = outcome.exit_status == _ACCEPTED
        feedback = dict(outcome.files)
        next_input = feedback.pop(_NEXT_INPUT, None)
        if next_input is not None and not accepted:
            raise self._fault(f"rejected the output and wrote {_NEXT_INPUT} all the same", outcome)
        if sum(map(len, feedback.values())) + len(next_input or b"") > self._limits.output:
            raise self._fault(f"wrote more than {self._limits.output // MEBIBYTE} MiB of feedback", outcome)
        said = [feedback.get(_MESSAGE, b"")]
        if told := feedback.get(_TEAM_MESSAGE, b"").strip():
            said.append(b"For the team: " + told)
        message = printable(b"\n".join(said).strip(), _SHOWN)
        if not accepted and not message:
            message = "the output validator rejected the output and did not say why"
        return Ruling(accepted, message, feedback, next_input)

    def _verdict_printed(self, outcome: Outcome) -> Ruling:
        said = printable(outcome.stdout.strip(), _SHOWN)
        if not said and outcome.exit_status:
            raise self._fault(f"said nothing and ended with status {outcome.exit_status}", outcome)
        if said == "System Error":
            raise self._fault("reported an error of its own", outcome)
        return Ruling(said in ("", "Accepted"), "" if said == "Accepted" else said)

    def _fault(self, what: str, outcome: Outcome) -> CheckerFault:
        who = "special judge" if self._special else "output validator"
        said = printable(outcome.files.get(_MESSAGE, b"") + outcome.stderr[-_SHOWN:], _SHOWN).strip()
        return CheckerFault(f"the problem's {who} {what}" + (f"; it said: {said}" if said else ""))


@contextlib.contextmanager
def open_validator(
    sandbox: Sandbox, checker: Checker, limits: Limits, folder: Path
) -> Iterator[OutputValidator]:
    """The checker's program, compiled into the empty `folder`. `limits` are those of the programs it checks.

    Raises CheckerFault where it does not compile, SandboxFault, OSError, and ToolMissing.
    """
    program = checker.program
    assert program is not None
    # COMPAT: the limits are those of the checking program, whatever its language.
    applied = limits_for(program.limits, program.language, Policy.COMPAT)
    compilation = compile_program(sandbox, get_language(program.language), program.sources, applied, folder)
    if compilation.program is None:
        raise CheckerFault(f"the problem's checking program does not compile: {compilation.output[:_SHOWN]}")
    surroundings = replace(
        compilation.program.surroundings,
        file_size=applied.output,
        scratch=_LARGEST_TEST + limits.output + 2 * applied.output,
    )
    with sandbox.open(surroundings) as container:
        yield OutputValidator(container, checker, applied, compilation.program.command)
