"""The error that stops a prompt with hidden content."""


class PromptLeakError(Exception):
    """A prompt would show a hidden test, or the solution of the problem under test."""
