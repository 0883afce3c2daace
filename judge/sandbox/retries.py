"""Repeating runs that failed for reasons of the sandbox's own."""

from judge.sandbox.interface import Container, Outcome, Run, SandboxFault

_ATTEMPTS = 3


def run_with_retries(container: Container, run: Run) -> Outcome:
    """Run the program, again after a fault of the sandbox, three times in all. Raises the last SandboxFault."""
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            return container.run(run)
        except SandboxFault:
            if attempt == _ATTEMPTS:
                raise
    raise AssertionError("unreachable")
