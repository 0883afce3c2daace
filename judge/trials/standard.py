"""The usual trial: the program gets the input, and its output is compared with the answer afterwards."""

from judge.checkers import check
from judge.judgement import Test, TestResult
from judge.measuring import Measuring
from judge.sandbox import Container
from judge.trials.results import fault_of, result_of
from judge.trials.trial import Tried
from judge.verdicts import Verdict


class StandardTrial:
    """Runs the program on one test after the other in one container."""

    def __init__(self, container: Container, tried: Tried) -> None:
        self._measuring = Measuring(container)
        self._tried = tried

    def judge(self, test: Test) -> TestResult:
        """Run the program on the test and compare. Raises SandboxFault and OSError."""
        tried, limits = self._tried, self._tried.limits
        answer = test.answer.read_bytes()
        outcome = self._measuring.run(tried.run(test.input))
        output = tried.output(outcome)
        fault = fault_of(outcome, limits, tried.program.out_of_memory)
        if fault is None and len(output) > limits.output:
            fault = Verdict.OLE, f"wrote more than {limits.output} bytes"
        if fault is None:
            checked = check(tried.checker, output, answer)
            fault = (Verdict.AC if checked.accepted else Verdict.WA), checked.message
        return result_of(test, outcome, output, *fault)
