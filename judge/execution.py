"""Running a program on inputs without judging it: generators, reference programs, and whatever else makes data."""

import contextlib
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from judge.compilation import compile_program
from judge.judgement import printable
from judge.languages import get_language
from judge.limits import Limits, Policy, limits_for
from judge.program_runs import LimitedProgram
from judge.sandbox import Container, open_sandbox, run_with_retries
from judge.verdicts import Verdict

_SHOWN = 2_000


class CannotCompile(Exception):
    """The program does not compile; the message is what the compiler said."""


@dataclass(frozen=True)
class Execution:
    """What a program did with one input.

    `fault` is None for a program that ended well, else TLE, MLE, OLE or RTE, and `message` says why. `output` is what
    it printed until it ended, `errors` the beginning of its standard error, `time` seconds of CPU. `exit_status` is
    None for a program that did not end by itself. `files` are those it left of the names that were asked for.
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
    ) -> Execution:
        """Run it on an input, from a fresh start. Raises SandboxFault.

        An interpreter starts anew for a run with arguments. `collect` names files of its working folder to give back.
        """
        run = replace(self._program.run(given, arguments), collect=tuple(collect))
        ran = self._program.after(run_with_retries(self._container, run))
        verdict, message = ran.fault or (None, "")
        outcome = ran.outcome
        errors = printable(outcome.stderr, _SHOWN)
        return Execution(
            ran.output, verdict, message, errors, outcome.time, outcome.exit_status, outcome.files
        )


@contextlib.contextmanager
def open_program(
    source: str | Mapping[str, str],
    language: str,
    limits: Limits,
    *,
    policy: Policy = Policy.COMPAT,
    warm_start: bool = True,
) -> Iterator[OpenProgram]:
    """A program ready to run on any number of inputs, in the sandbox, until the block ends.

    The source is one text, or the texts of several files by name. A time is measured once, so that a program near a
    limit may pass it or not. Raises CannotCompile, ToolMissing, SandboxFault, SandboxUnavailable and UnknownLanguage.
    """
    row = get_language(language)
    applied = limits_for(limits, language, policy)
    sandbox = open_sandbox()
    with tempfile.TemporaryDirectory(prefix="run-") as folder:
        compilation = compile_program(sandbox, row, source, applied, Path(folder))
        program = compilation.program
        if program is None:
            raise CannotCompile(compilation.output)
        if not warm_start:
            program = program.started_afresh()
        with sandbox.open(program.surroundings) as container:
            yield OpenProgram(container, LimitedProgram(program, applied))
