"""Output validators: compiled once for a submission and run in a container of their own.

The problem package format defines the protocol of the kind "validator": the arguments are the names of the input, of
the answer and of a feedback folder, then the flags; the program's output is standard input; exit status 42 accepts
and 43 rejects. The kind "special" is the special judge of ICPC-Eval (docs/spec.md 5.1): the arguments are the names of
the input, the answer and the program's output; it prints its verdict; without a printed verdict, exit status 0
accepts. Every other behaviour is a fault of the validator, never of the program.
"""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from judge.checking.checkers import Checker
from judge.compilation import compile_program
from judge.records import MEBIBYTE, Limits, Policy, printable
from judge.sandbox import (
    SCRATCH_FOLDER,
    Container,
    RunOutcome,
    Sandbox,
    SandboxRun,
    Termination,
    run_with_retries,
)
from judge.toolchains import get_language, limits_for

_ACCEPTED, _REJECTED = 42, 43
_NEXT_INPUT = "nextpass.in"
_MESSAGE, _TEAM_MESSAGE = "judgemessage.txt", "teammessage.txt"
_SHOWN = 1_000
_MOST_FEEDBACK_FILES = 100
_LARGEST_TEST = 512 * MEBIBYTE  # input and answer; only used bytes take memory

# The names begin with a dot because the scratch folder is also the feedback folder, whose other files are returned.
_INPUT, _ANSWER, _OUTPUT = ".input", ".answer", ".output"

_STOPPED = {
    Termination.CPU: "used more than {time:g} s of CPU",
    Termination.IDLE: "slept for more than {idle:g} s",
    Termination.MEMORY: "used more than {memory} MiB of memory",
    Termination.OUTPUT: "printed more than {output} MiB",
}


class ValidatorFaultError(Exception):
    """The output validator failed, and the problem's author must repair it. The message says how it failed."""


@dataclass(frozen=True)
class ValidatorResult:
    """The decision of a validator with its message.

    `feedback` are the files that the validator left for its next call on the same test. `next_input` is the input of
    the program's next pass, or None after the last pass.
    """

    accepted: bool
    message: str
    feedback: Mapping[str, bytes] = field(default_factory=dict)
    next_input: bytes | None = None


@dataclass(frozen=True)
class ValidatorCall:
    """The input of one call: the input of this pass, the test's answer, and the feedback of the previous pass."""

    input: bytes | Path
    answer: bytes
    feedback: Mapping[str, bytes] = field(default_factory=dict)


class OpenValidator:
    """A compiled output validator in its container."""

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

    def check(self, call: ValidatorCall, output: bytes) -> ValidatorResult:
        """Check a finished output. Raises ValidatorFaultError, SandboxFaultError and OSError."""
        run = self.run_for(call)
        files = {**run.files, _OUTPUT: output}
        run = replace(run, files=files) if self._special else replace(run, input=output)
        return self.result(run_with_retries(self.container, run))

    def run_for(self, call: ValidatorCall) -> SandboxRun:
        """Return the run for this call, without standard input."""
        words = (_INPUT, _ANSWER, _OUTPUT if self._special else "")
        collect: tuple[str, ...] = (_MESSAGE, _TEAM_MESSAGE)
        if self._special:
            collect = ()
        elif self.passes > 1:
            collect = ("*",)
        return SandboxRun(
            command=(*self._command, *(f"{SCRATCH_FOLDER}/{word}" for word in words), *self._flags),
            limits=self._limits,
            files={_INPUT: call.input, _ANSWER: call.answer, **call.feedback},
            collect=collect,
        )

    def result(self, outcome: RunOutcome) -> ValidatorResult:
        """Return the decision that follows from the outcome of a run. Raises ValidatorFaultError."""
        limits = self._limits
        if outcome.termination is not Termination.EXIT:
            numbers = {
                "time": limits.time,
                "idle": limits.idle,
                "memory": limits.memory // MEBIBYTE,
                "output": limits.output // MEBIBYTE,
            }
            raise self._fault(_STOPPED[outcome.termination].format(**numbers), outcome)
        if outcome.signal is not None:
            raise self._fault(f"was ended by signal {outcome.signal}", outcome)
        return self._printed_verdict(outcome) if self._special else self._verdict_by_status(outcome)

    def _verdict_by_status(self, outcome: RunOutcome) -> ValidatorResult:
        if outcome.exit_status not in (_ACCEPTED, _REJECTED):
            raise self._fault(f"ended with status {outcome.exit_status} instead of 42 or 43", outcome)
        accepted = outcome.exit_status == _ACCEPTED
        feedback = dict(outcome.files)
        next_input = feedback.pop(_NEXT_INPUT, None)
        if next_input is not None and not accepted:
            raise self._fault(f"rejected the output and still wrote {_NEXT_INPUT}", outcome)
        if len(feedback) > _MOST_FEEDBACK_FILES:
            raise self._fault(f"wrote more than {_MOST_FEEDBACK_FILES} feedback files", outcome)
        if sum(map(len, feedback.values())) + len(next_input or b"") > self._limits.output:
            raise self._fault(f"wrote more than {self._limits.output // MEBIBYTE} MiB of feedback", outcome)
        messages = [feedback.get(_MESSAGE, b"")]
        if team_message := feedback.get(_TEAM_MESSAGE, b"").strip():
            messages.append(b"For the team: " + team_message)
        message = printable(b"\n".join(messages).strip(), _SHOWN)
        if not accepted and not message:
            message = "the output validator rejected the output and did not say why"
        return ValidatorResult(accepted, message, feedback, next_input)

    def _printed_verdict(self, outcome: RunOutcome) -> ValidatorResult:
        printed = printable(outcome.stdout.strip(), _SHOWN)
        if not printed and outcome.exit_status:
            raise self._fault(f"printed nothing and ended with status {outcome.exit_status}", outcome)
        if printed == "System Error":
            raise self._fault("reported a system error", outcome)
        return ValidatorResult(printed in ("", "Accepted"), "" if printed == "Accepted" else printed)

    def _fault(self, what: str, outcome: RunOutcome) -> ValidatorFaultError:
        kind = "special judge" if self._special else "output validator"
        printed = printable(outcome.files.get(_MESSAGE, b"") + outcome.stderr[-_SHOWN:], _SHOWN).strip()
        return ValidatorFaultError(
            f"the problem's {kind} {what}" + (f"; its message: {printed}" if printed else "")
        )


@contextlib.contextmanager
def open_validator(sandbox: Sandbox, checker: Checker, limits: Limits) -> Iterator[OpenValidator]:
    """Compile the checker's validator and yield it in its container.

    `limits` are those of the programs whose output it checks. Raises ValidatorFaultError where the validator does not
    compile, SandboxFaultError, OSError, and ToolMissingError.
    """
    validator = checker.program
    assert validator is not None
    # COMPAT: the validator's limits apply to its language as they are.
    applied = limits_for(validator.limits, validator.language, Policy.COMPAT)
    language = get_language(validator.language)
    compilation = compile_program(sandbox, language, validator.sources, applied)
    if compilation.program is None:
        raise ValidatorFaultError(
            f"the problem's output validator does not compile: {compilation.output[:_SHOWN]}"
        )
    mounts = replace(
        compilation.program.mounts,
        file_size=applied.output,
        scratch=_LARGEST_TEST + limits.output + 2 * applied.output,
    )
    with sandbox.open(mounts) as container:
        yield OpenValidator(container, checker, applied, compilation.program.command)
