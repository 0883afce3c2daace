"""manage.py commands as processes that start quickly, forked from a server that has loaded the program."""

import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Callable
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import dj_database_url
from django.conf import settings
from django.db import connections

from config.command_line import CommandLine
from tests.stack import HANG

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["tests.benchmark.runs.loaded"])


def use_var(var: Path, database: str = "") -> None:
    """Make `var` the HINTBENCH_VAR of this process, with its database unless the URL of another one is given."""
    settings.VAR = var
    settings.BLOBS = var / "blobs"
    settings.STATIC_ROOT = var / "static"
    settings.TEXT_MODEL = var / "text_model.npz"
    default = connections.settings["default"]
    if database:
        default |= dj_database_url.parse(database) | {"OPTIONS": {}}
        connections["default"] = connections.create_connection("default")
    else:
        default["NAME"] = str(var / "hintbench.sqlite3")


def run_apart(target: Callable[..., None], *arguments: object) -> None:
    """Call a function of a test module in a separate process; assert that it and its threads succeed."""
    process = FORKS.Process(target=_call, args=(target, arguments))
    process.start()
    process.join()
    assert process.exitcode == 0


def _call(target: Callable[..., None], arguments: tuple[object, ...]) -> None:
    """Call the function. Raises the first error of its threads, which would end only the thread."""
    errors: list[BaseException] = []

    def collect(failed: threading.ExceptHookArgs) -> None:
        threading.__excepthook__(failed)
        errors.append(failed.exc_value or RuntimeError("a thread has failed"))

    threading.excepthook = collect
    target(*arguments)
    if errors:
        raise errors[0]


class CommandProcess:
    """A running manage.py command."""

    def __init__(
        self, arguments: tuple[str, ...], var: Path, values: dict[str, str], database: str = ""
    ) -> None:
        stem = f"{time.monotonic_ns()}"
        self._output = var / f"{stem}.out"
        self._errors = var / f"{stem}.err"
        self._process: ForkServerProcess = FORKS.Process(
            target=_run, args=(arguments, (var, database), values, self._output, self._errors)
        )
        self._process.start()

    def signal(self, number: int) -> None:
        assert self._process.pid is not None
        os.kill(self._process.pid, number)

    def wait(self) -> tuple[int, str, str]:
        """Return exit status (negative: the signal), standard output and standard error."""
        self._process.join(timeout=HANG)
        assert self._process.exitcode is not None, self.errors()
        return self._process.exitcode, self._output.read_text(), self.errors()

    def errors(self) -> str:
        """Return the standard error so far."""
        return self._errors.read_text() if self._errors.exists() else ""


def _run(
    arguments: tuple[str, ...],
    place: tuple[Path, str],
    values: dict[str, str],
    output: Path,
    errors: Path,
) -> None:
    for path, stream in ((output, sys.stdout), (errors, sys.stderr)):
        descriptor = os.open(path, os.O_CREAT | os.O_WRONLY)
        os.dup2(descriptor, stream.fileno())
        os.close(descriptor)
    use_var(*place)
    for name, value in values.items():
        setattr(settings, name, value)
    CommandLine(["manage.py", *arguments]).execute()
