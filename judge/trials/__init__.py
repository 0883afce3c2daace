"""Trying a program on tests: how it is run on one and what its run amounts to, for each kind of checker."""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from judge.sandbox import Sandbox
from judge.trials.interactive import InteractiveTrial
from judge.trials.results import judge_error
from judge.trials.standard import StandardTrial
from judge.trials.trial import FileNames, Trial, Tried
from judge.trials.validated import ValidatedTrial
from judge.validators import open_validator

__all__ = ["FileNames", "Trial", "Tried", "judge_error", "open_trial"]


@contextlib.contextmanager
def open_trial(sandbox: Sandbox, tried: Tried) -> Iterator[Trial]:
    """The trial for this checker, which ends with the block and its containers with it.

    Raises CheckerFault where the checker's own program does not compile, SandboxFault, OSError and ToolMissing.
    """
    with contextlib.ExitStack() as stack:
        container = stack.enter_context(sandbox.open(tried.program.surroundings))
        if tried.checker.program is None:
            yield StandardTrial(container, tried)
            return
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="checker-")))
        validator = stack.enter_context(open_validator(sandbox, tried.checker, tried.limits, folder))
        trial = InteractiveTrial if tried.checker.program.interactive else ValidatedTrial
        yield trial(container, validator, tried)
