"""Asking a problem's checker about an output that no program printed, as when the checker itself is tried."""

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from judge.checkers import Checker, CheckResult, check
from judge.judgement import Test
from judge.limits import Limits
from judge.sandbox import open_sandbox
from judge.validators import Call, open_validator


@contextlib.contextmanager
def open_checker(checker: Checker, limits: Limits) -> Iterator[Callable[[Test, bytes], CheckResult]]:
    """What the checker says about an output on a test; its own program is compiled once for the block.

    `limits` are the problem's. Raises ValueError for an interactive checker, which reads no finished output; in the
    block also CheckerFault, SandboxFault and OSError.
    """
    if checker.program is None:
        yield lambda test, output: check(checker, output, test.answer.read_bytes())
        return
    if checker.program.interactive:
        raise ValueError("an interactive checker talks with the program and reads no finished output")
    with (
        tempfile.TemporaryDirectory(prefix="checker-") as folder,
        open_validator(open_sandbox(), checker, limits, Path(folder)) as validator,
    ):

        def ask(test: Test, output: bytes) -> CheckResult:
            ruling = validator.check(Call(test, test.input), output)
            return CheckResult(ruling.accepted, ruling.message)

        yield ask
