"""Trying a program on tests: how it is run on one and what its run amounts to, for each kind of checker."""

import contextlib
from collections.abc import Iterator

from judge.sandbox import Sandbox
from judge.trials.results import judge_error
from judge.trials.standard import StandardTrial
from judge.trials.trial import FileNames, Trial, Tried

__all__ = ["FileNames", "Trial", "Tried", "judge_error", "open_trial"]


@contextlib.contextmanager
def open_trial(sandbox: Sandbox, tried: Tried) -> Iterator[Trial]:
    """The trial for this checker, which ends with the block and its containers with it."""
    with sandbox.open(tried.program.surroundings) as container:
        yield StandardTrial(container, tried)
