"""Runs: starting one, carrying it out, and carrying on with one that was cut off."""

from benchmark.runner.execution import Progress, Stop, execute
from benchmark.runner.plan import CannotRun, prepare_resume, start_run

__all__ = ["CannotRun", "Progress", "Stop", "execute", "prepare_resume", "start_run"]
