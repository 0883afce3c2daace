"""The sandbox: its interface, and the implementation with bubblewrap and a launcher."""

from judge.sandbox.discovery import forbid_programs, open_sandbox, programs_forbidden, sandbox_status
from judge.sandbox.interface import (
    PROGRAM_FOLDER,
    SCRATCH_FOLDER,
    Container,
    InteractionSide,
    Mounts,
    Preload,
    RunOutcome,
    Sandbox,
    SandboxFaultError,
    SandboxRun,
    SandboxStatus,
    SandboxUnavailableError,
    Termination,
    UndecidedRunError,
)
from judge.sandbox.retries import run_with_retries
from judge.sandbox.system_files import (
    compiler_files,
    interpreter_files,
    runtime_files,
    virtual_machine_files,
)

__all__ = [
    "PROGRAM_FOLDER",
    "SCRATCH_FOLDER",
    "Container",
    "InteractionSide",
    "Mounts",
    "Preload",
    "RunOutcome",
    "Sandbox",
    "SandboxFaultError",
    "SandboxRun",
    "SandboxStatus",
    "SandboxUnavailableError",
    "Termination",
    "UndecidedRunError",
    "compiler_files",
    "forbid_programs",
    "interpreter_files",
    "open_sandbox",
    "programs_forbidden",
    "run_with_retries",
    "runtime_files",
    "sandbox_status",
    "virtual_machine_files",
]
