"""Execution: runs of compiled programs under their limits, and what their outcomes mean."""

from judge.execution.open_program import CompilationError, Execution, OpenProgram, open_program
from judge.execution.program_runs import FileNames, LimitedProgram, ProgramRun
from judge.execution.timed_runner import TimedRunner

__all__ = [
    "CompilationError",
    "Execution",
    "FileNames",
    "LimitedProgram",
    "OpenProgram",
    "ProgramRun",
    "TimedRunner",
    "open_program",
]
