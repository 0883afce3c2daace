"""What a trial promises."""

from typing import Protocol

from judge.judgement import Test, TestResult


class Trial(Protocol):
    """Tries one program on tests, one after the other."""

    def judge(self, test: Test) -> TestResult:
        """Run the program on the test and say what it earned. Raises what is not its fault.

        SandboxFault, OSError, and CheckerFault where the problem's own checking program fails.
        """
        ...
