"""Repeating runs that failed for reasons of the sandbox's own."""

from judge.sandbox.interface import Job, Outcome, Sandbox, SandboxFault

_ATTEMPTS = 3


def run_with_retries(sandbox: Sandbox, job: Job) -> Outcome:
    """Run the job, again after a fault of the sandbox, three times in all. Raises the last SandboxFault."""
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            return sandbox.run(job)
        except SandboxFault:
            if attempt == _ATTEMPTS:
                raise
    raise AssertionError("unreachable")
