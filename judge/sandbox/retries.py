"""Retries of runs that failed because of the sandbox."""

from judge.sandbox.interface import Container, Outcome, Run, SandboxFault

_ATTEMPTS = 3


def run_with_retries(container: Container, run: Run) -> Outcome:
    """Run the program; after a SandboxFault try again, three times in all. Raises the last SandboxFault."""
    for _ in range(_ATTEMPTS - 1):
        try:
            return container.run(run)
        except SandboxFault:
            continue
    return container.run(run)
