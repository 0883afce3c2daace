"""The kinds of workers: judge workers run programs under test and get no keys, model workers call models.

A worker of both kinds does the work of both in one process, on a machine where the programs under test are trusted.
"""

import os
import sys
from collections.abc import Collection
from enum import StrEnum
from typing import assert_never

from django.conf import settings

import judge
from benchmark.models import Process
from benchmark.providers import forbid_providers


class WorkerKind(StrEnum):
    """The kind of work of a worker."""

    JUDGE = "judge"
    MODEL = "model"
    ALL = "all"

    @property
    def process(self) -> Process.Kind:
        """The kind of the worker's heartbeats."""
        return {
            WorkerKind.JUDGE: Process.Kind.JUDGE_WORKER,
            WorkerKind.MODEL: Process.Kind.MODEL_WORKER,
            WorkerKind.ALL: Process.Kind.WORKER,
        }[self]

    @property
    def queues(self) -> tuple[str, ...]:
        """The worker's queues in order of priority.

        Executions that a tutor waits for come first, then programs of runs, time slices of runs, work that nobody waits
        for, and rejudgings.
        """
        return {
            WorkerKind.JUDGE: ("tutoring", "default", "background", "rejudging"),
            WorkerKind.MODEL: ("models",),
            WorkerKind.ALL: ("tutoring", "default", "models", "background", "rejudging"),
        }[self]

    @property
    def jobs(self) -> dict[str, tuple[type, ...]]:
        """The functions of jobs that the worker runs, with the types of their arguments."""
        of_models = settings.MODEL_WORKER_JOBS
        return {name: types for name, types in settings.WORKER_JOBS.items() if self._does(name, of_models)}

    @property
    def sweeps(self) -> list[str]:
        """The functions that the worker calls every few seconds."""
        return [name for name in settings.WORKER_SWEEPS if self._does(name, settings.MODEL_WORKER_SWEEPS)]

    def _does(self, name: str, of_models: Collection[str]) -> bool:
        return self == WorkerKind.ALL or (name in of_models) == (self == WorkerKind.MODEL)


def separate(kind: WorkerKind) -> None:
    """Make the other kind's work impossible in this process.

    A judge worker with keys of providers or secrets of the web server starts itself again without them, because
    `/proc/PID/environ` shows the variables with which a process was started, even after it has deleted them.
    """
    match kind:
        case WorkerKind.JUDGE:
            if surplus := settings.NOT_FOR_JUDGE_WORKERS:
                kept = {name: text for name, text in os.environ.items() if name not in surplus}
                os.execve(sys.executable, sys.orig_argv, kept)  # noqa: S606  (this program, without a shell)
            forbid_providers("a judge worker calls no models")
        case WorkerKind.MODEL:
            judge.forbid_programs("a model worker runs no programs")
        case WorkerKind.ALL:
            pass
        case _:
            assert_never(kind)
