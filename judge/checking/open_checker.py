"""Checks of outputs without a program's run, for example to test a checker."""

import contextlib
from collections.abc import Callable, Iterator

from judge.checking.checkers import Checker, CheckResult, check
from judge.checking.validators import ValidatorCall, open_validator
from judge.records import Limits, Test
from judge.sandbox import open_sandbox


@contextlib.contextmanager
def open_checker(checker: Checker, limits: Limits) -> Iterator[Callable[[Test, bytes], CheckResult]]:
    """Yield a function that checks an output on a test. An output validator is compiled once for the block.

    `limits` are the problem's. Raises ValueError for an interactive checker, which reads no finished output; in the
    block also ValidatorFaultError, SandboxFaultError and OSError.
    """
    if checker.program is None:
        yield lambda test, output: check(checker, output, test.answer.read_bytes())
        return
    if checker.program.interactive:
        raise ValueError("an interactive checker talks with the program and reads no finished output")
    with open_validator(open_sandbox(), checker, limits) as validator:

        def check_output(test: Test, output: bytes) -> CheckResult:
            result = validator.check(ValidatorCall(test.input, test.answer.read_bytes()), output)
            return CheckResult(result.accepted, result.message)

        yield check_output
