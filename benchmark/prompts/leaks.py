"""What stops a prompt that would tell too much."""


class PromptLeakError(Exception):
    """A prompt was about to show a model a hidden test or the solution of the very problem it is to solve."""
