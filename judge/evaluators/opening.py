"""The choice of an evaluator for a checker."""

import contextlib
from collections.abc import Iterator

from judge.checking import Checker, open_validator
from judge.evaluators.evaluator import AnswerComparison, TestEvaluator
from judge.evaluators.interactive import InteractiveEvaluator
from judge.execution import LimitedProgram
from judge.sandbox import Sandbox


@contextlib.contextmanager
def open_evaluator(sandbox: Sandbox, checker: Checker, program: LimitedProgram) -> Iterator[TestEvaluator]:
    """Yield the evaluator of the program for this checker. Its containers end with the block.

    Raises ValidatorFaultError where the output validator does not compile, SandboxFaultError, OSError and
    ToolMissingError.
    """
    with contextlib.ExitStack() as stack:
        container = stack.enter_context(sandbox.open(program.program.mounts))
        if checker.program is None:
            yield TestEvaluator(container, program, AnswerComparison(checker))
            return
        validator = stack.enter_context(open_validator(sandbox, checker, program.limits))
        if checker.program.interactive:
            yield InteractiveEvaluator(container, program, validator)
        else:
            yield TestEvaluator(container, program, validator)
