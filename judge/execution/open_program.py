"""Runs of programs without a verdict, such as generators and reference programs."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from judge.compilation import compile_program
from judge.execution.program_runs import LimitedProgram
from judge.records import Limits, Policy, Verdict, printable
from judge.sandbox import Container, open_sandbox, run_with_retries
from judge.toolchains import get_language, limits_for

_SHOWN = 2_000


class CompilationError(Exception):
    """The program does not compile; the message is the compiler's."""


@dataclass(frozen=True)
class ProgramOutput:
    """A program's run on one input.

    `fault` is None for a program that ended well, else TLE, MLE, OLE or RTE, and `message` is the reason. `output` is
    the output up to the program's end, `errors` the first 2 000 characters of its standard error, `time` CPU seconds.
    `exit_status` is None for a program that did not end by itself. `files` are the requested files that exist.
    """

    output: bytes
    fault: Verdict | None
    message: str
    errors: str
    time: float
    exit_status: int | None
    files: Mapping[str, bytes] = field(default_factory=dict)


class OpenProgram:
    """A compiled program in its container."""

    def __init__(self, container: Container, program: LimitedProgram) -> None:
        self._container = container
        self._program = program

    def run(
        self, given: bytes | Path = b"", arguments: Sequence[str] = (), collect: Sequence[str] = ()
    ) -> ProgramOutput:
        """Run the program on an input. Raises SandboxFaultError.

        A run with arguments does not use the fork server. `collect` names files of the working folder to return.
        """
        run = replace(self._program.run(given, arguments), collect=tuple(collect))
        result = self._program.result(run_with_retries(self._container, run))
        verdict, message = result.fault or (None, "")
        outcome = result.outcome
        errors = printable(outcome.stderr, _SHOWN)
        return ProgramOutput(
            result.output, verdict, message, errors, outcome.time, outcome.exit_status, outcome.files
        )


@contextlib.contextmanager
def open_program(
    source: str | Mapping[str, str], language: str, limits: Limits, *, fork_server: bool = True
) -> Iterator[OpenProgram]:
    """Compile a program and yield it, ready for any number of runs in the sandbox until the block ends.

    `source` is one text, or the texts of several files by name. The limits apply as published (`Policy.COMPAT`). Each
    run is measured once, so a program near a limit may exceed it or not. Without `fork_server` an interpreter starts
    for each run. Raises CompilationError, ToolMissingError, SandboxFaultError, SandboxUnavailableError and
    UnknownLanguageError.
    """
    entry = get_language(language)
    applied = limits_for(limits, language, Policy.COMPAT)
    sandbox = open_sandbox()
    compilation = compile_program(sandbox, entry, source, applied)
    program = compilation.program
    if program is None:
        raise CompilationError(compilation.output)
    if not fork_server:
        program = program.without_fork_server()
    with sandbox.open(program.mounts) as container:
        yield OpenProgram(container, LimitedProgram(program, applied))
