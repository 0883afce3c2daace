"""Retries of runs that failed because of the sandbox."""

from judge.sandbox.interface import Container, RunOutcome, SandboxFaultError, SandboxRun

_ATTEMPTS = 3


def run_with_retries(container: Container, run: SandboxRun) -> RunOutcome:
    """Run the program; after a SandboxFaultError try again, three times in all. Raises the last SandboxFaultError."""
    for _ in range(_ATTEMPTS - 1):
        try:
            return container.run(run)
        except SandboxFaultError:
            continue
    return container.run(run)
