"""The request to grade: a submission, the problem, and options."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from judge.checking import Checker
from judge.execution import FileNames
from judge.records import Limits, Policy, Test

COMPILE_TIME = 10.0
"""CPU seconds for the compiler of a submission, unless the problem or the operator sets another limit."""


@dataclass(frozen=True)
class Submission:
    """A program to judge: its text, or the texts of its files by name, and its language."""

    source: str | Mapping[str, str]
    language: str

    @property
    def is_empty(self) -> bool:
        """Whether no file contains anything but white space."""
        texts = [self.source] if isinstance(self.source, str) else self.source.values()
        return not any(text.strip() for text in texts)


@dataclass(frozen=True)
class Problem:
    """A problem as the judge needs it: tests in their order, limits, and the checker.

    With `files` programs may read their input from a file, and what they write to the other file takes precedence
    over standard output.
    """

    tests: Sequence[Test]
    limits: Limits
    checker: Checker
    files: FileNames | None = None


@dataclass(frozen=True)
class GradingOptions:
    """Options of grading.

    The policy applies the problem's limits to the language; `time_multipliers` override the factors of the languages
    they name. After `maximum_timeouts` tests with TLE no other test is run. Without `fork_server` an interpreter
    starts for each test. `compile_time` limits the compiler's CPU seconds.
    """

    policy: Policy = Policy.FAIR
    time_multipliers: Mapping[str, float] | None = None
    stop_at_first_failure: bool = True
    maximum_timeouts: int | None = None
    fork_server: bool = True
    compile_time: float = COMPILE_TIME
