"""The usual trial: the program gets the input, and its output is compared with the answer afterwards."""

from judge.checkers import Checker, check
from judge.judgement import Test, TestResult
from judge.measuring import Measuring
from judge.program_runs import LimitedProgram
from judge.sandbox import Container
from judge.trials.results import result_of
from judge.verdicts import Verdict


class StandardTrial:
    """Runs the program on one test after the other in one container."""

    def __init__(self, container: Container, checker: Checker, program: LimitedProgram) -> None:
        self._measuring = Measuring(container)
        self._checker = checker
        self._program = program

    def judge(self, test: Test) -> TestResult:
        """Run the program on the test and compare. Raises SandboxFault and OSError."""
        answer = test.answer.read_bytes()
        ran = self._program.after(self._measuring.run(self._program.run(test.input)))
        if ran.fault:
            return result_of(test, ran, *ran.fault)
        checked = check(self._checker, ran.output, answer)
        return result_of(test, ran, Verdict.AC if checked.accepted else Verdict.WA, checked.message)
