"""Execution: runs of compiled programs under their limits, and what their outcomes mean."""

from judge.execution.open_program import CompilationError, OpenProgram, ProgramOutput, open_program
from judge.execution.program_runs import FileNames, LimitedProgram, ProgramRun
from judge.execution.timed_runner import TimedRunner

__all__ = [
    "CompilationError",
    "FileNames",
    "LimitedProgram",
    "OpenProgram",
    "ProgramOutput",
    "ProgramRun",
    "TimedRunner",
    "open_program",
]
