"""Settings of a stack whose processes note when the steps of an execution begin and end, for `benchmarks.execution`.

Each step appends a line to the file of the variable STOPWATCH: its name, and the time on the monotonic clock, which all
processes of a machine share.
"""

import functools
import os
import time
from collections.abc import Callable
from pkgutil import resolve_name
from typing import Any

from django.apps import AppConfig

from config.settings import *  # noqa: F403
from config.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "benchmarks.stopwatch.Stopwatch"]

STEPS = {
    "enqueued": ("benchmark.jobs.row_jobs:RowJobs", "enqueue"),
    "claimed": ("benchmark.judging.performing", "_claim"),
    "compiled": ("judge.grading.grading", "compile_program"),
    "run": ("benchmark.judging.performing", "_measure"),
    "stored": ("tutoring.sessions.recording", "notify_session"),
}
"""The function whose end is the end of a step; for the last step, its beginning."""


class Stopwatch(AppConfig):
    """The application that replaces these functions."""

    name = "benchmarks.stopwatch"
    path = os.path.dirname(__file__)

    def ready(self) -> None:
        for step, (owner, function) in STEPS.items():
            found = resolve_name(owner)
            setattr(found, function, _timed(step, getattr(found, function)))


def _timed(step: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def timed(*arguments: Any, **named: Any) -> Any:
        if step == "stored":
            _note(step)
            return function(*arguments, **named)
        try:
            return function(*arguments, **named)
        finally:
            _note(step)

    return timed


def _note(step: str) -> None:
    with open(os.environ["STOPWATCH"], "a") as file:
        file.write(f"{step} {time.monotonic()}\n")
