"""The sandbox: a small interface and the one implementation there is, made of bubblewrap."""

from judge.sandbox.available import open_sandbox, sandbox_status
from judge.sandbox.interface import (
    PROGRAM_FOLDER,
    SCRATCH_FOLDER,
    Container,
    Ending,
    Outcome,
    Run,
    Sandbox,
    SandboxFault,
    SandboxStatus,
    SandboxUnavailable,
    Surroundings,
)
from judge.sandbox.retries import run_with_retries
from judge.sandbox.system import (
    compiler_files,
    interpreter_files,
    runtime_files,
    virtual_machine_files,
)

__all__ = [
    "PROGRAM_FOLDER",
    "SCRATCH_FOLDER",
    "Container",
    "Ending",
    "Outcome",
    "Run",
    "Sandbox",
    "SandboxFault",
    "SandboxStatus",
    "SandboxUnavailable",
    "Surroundings",
    "compiler_files",
    "interpreter_files",
    "open_sandbox",
    "run_with_retries",
    "runtime_files",
    "sandbox_status",
    "virtual_machine_files",
]
