"""Trying a program on tests: how it is run on one and what its run amounts to, for each kind of checker."""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from judge.checkers import Checker
from judge.program_runs import LimitedProgram
from judge.sandbox import Sandbox
from judge.trials.interactive import InteractiveTrial
from judge.trials.results import judge_error
from judge.trials.standard import StandardTrial
from judge.trials.trial import Trial
from judge.trials.validated import ValidatedTrial
from judge.validators import open_validator

__all__ = ["Trial", "judge_error", "open_trial"]


@contextlib.contextmanager
def open_trial(sandbox: Sandbox, checker: Checker, program: LimitedProgram) -> Iterator[Trial]:
    """The trial of the program for this checker, which ends with the block and its containers with it.

    Raises CheckerFault where the checker's own program does not compile, SandboxFault, OSError and ToolMissing.
    """
    with contextlib.ExitStack() as stack:
        container = stack.enter_context(sandbox.open(program.program.surroundings))
        if checker.program is None:
            yield StandardTrial(container, checker, program)
            return
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="checker-")))
        validator = stack.enter_context(open_validator(sandbox, checker, program.limits, folder))
        trial = InteractiveTrial if checker.program.interactive else ValidatedTrial
        yield trial(container, validator, program)
