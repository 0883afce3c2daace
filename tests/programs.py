"""The check that a test without the mark `slow` starts no sandbox, browser, server or Python process."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from os import PathLike, fsdecode
from typing import Any

import pytest

_ONLY_IN_SLOW_TESTS = re.compile(
    r"bwrap|chromium.*|initdb|pg_ctl|python[\d.]*|redis-server|uvicorn|valkey-server"
)
_QUICK = {"-I", "--version"}
"""Options of a short look at an interpreter or a program, which fast tests may take."""

_fast_test = ""
"""The running test if it has no mark `slow`; blank during set-up that all tests share."""

_Words = str | bytes | PathLike[str] | Sequence[str | bytes | PathLike[str]]


@contextmanager
def fast_test(name: str) -> Iterator[None]:
    """Refuse these programs during the block, or allow all programs if the name is blank."""
    global _fast_test  # noqa: PLW0603  (every thread of the test is checked)
    before, _fast_test = _fast_test, name
    try:
        yield
    finally:
        _fast_test = before


def check_program(words: _Words) -> None:
    """Fail if a fast test runs and may not start this program."""
    texts = [fsdecode(word) for word in ([words] if isinstance(words, str | bytes | PathLike) else words)]
    program = next((text for text in texts if _ONLY_IN_SLOW_TESTS.fullmatch(text.rpartition("/")[2])), None)
    if _fast_test and program and _QUICK.isdisjoint(texts):
        pytest.fail(
            f"{_fast_test} starts {program}, but ./test --fast runs it. Add the mark `slow` to the test, "
            "or the fixture that starts the program to SLOW_FIXTURES in tests/conftest.py."
        )


def check_all_programs() -> None:
    """Check every program that `subprocess`, `asyncio` or `multiprocessing` starts in this process."""
    start, start_process = subprocess.Popen.__init__, BaseProcess.start

    def checked_start(self: subprocess.Popen[Any], args: _Words, *others: Any, **options: Any) -> None:
        check_program(args)
        start(self, args, *others, **options)

    def checked_process(self: BaseProcess) -> None:
        check_program("python")
        start_process(self)

    subprocess.Popen.__init__ = checked_start  # type: ignore[assignment, method-assign]
    BaseProcess.start = checked_process  # type: ignore[method-assign]
