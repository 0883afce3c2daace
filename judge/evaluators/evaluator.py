"""The usual evaluator: it runs the program on the input, then checks the output, in one pass or several."""

from dataclasses import replace
from typing import Protocol

from judge.checking import Checker, ValidatorCall, ValidatorFaultError, ValidatorResult, check
from judge.evaluators.results import result_of
from judge.execution import LimitedProgram, ProgramRun, TimedRunner
from judge.records import Test, TestResult, Verdict
from judge.sandbox import Container


class OutputCheck(Protocol):
    """A check of finished outputs; `passes` is the maximal number of the program's runs on one test."""

    passes: int

    def check(self, call: ValidatorCall, output: bytes) -> ValidatorResult:
        """Check the output of one pass. Raises ValidatorFaultError, SandboxFaultError and OSError."""
        ...


class AnswerComparison:
    """A check that compares the output with the answer."""

    passes = 1

    def __init__(self, checker: Checker) -> None:
        self._checker = checker

    def check(self, call: ValidatorCall, output: bytes) -> ValidatorResult:
        """Compare the output with the answer."""
        result = check(self._checker, output, call.answer)
        return ValidatorResult(result.accepted, result.message)


class TestEvaluator:
    """An evaluator of one program on tests, one after another in one container.

    Subclasses replace `_run_pass`.
    """

    __test__ = False  # keeps pytest from collecting this class

    def __init__(self, container: Container, program: LimitedProgram, output_check: OutputCheck) -> None:
        self._runner = TimedRunner(container)
        self._program = program
        self._output_check = output_check

    def evaluate(self, test: Test) -> TestResult:
        """Run the program on the test, pass by pass, and return the result.

        Raises SandboxFaultError, OSError, and ValidatorFaultError where the output validator fails.
        """
        with open(test.answer, "rb", buffering=0) as answer:  # a buffer would take longer than the reading
            call = ValidatorCall(test.input, answer.readall())
        time, memory = 0.0, 0
        for _ in range(self._output_check.passes):
            ran, decision = self._run_pass(call)
            time, memory = max(time, ran.outcome.time), max(memory, ran.outcome.memory)
            if decision is None or decision.next_input is None:
                result = result_of(test, ran, *_verdict(ran, decision))
                return result if self._output_check.passes == 1 else replace(result, time=time, memory=memory)
            call = replace(call, input=decision.next_input, feedback=decision.feedback)
        raise ValidatorFaultError(
            f"the problem's output validator requests more than the {self._output_check.passes} passes that are allowed"
        )

    def _run_pass(self, call: ValidatorCall) -> tuple[ProgramRun, ValidatorResult | None]:
        """Return the program's run and the decision on its output, or None where the run alone decides."""
        ran = self._program.result(self._runner.run(self._program.run(call.input)))
        return ran, None if ran.fault else self._output_check.check(call, ran.output)


def _verdict(ran: ProgramRun, decision: ValidatorResult | None) -> tuple[Verdict, str]:
    if decision is not None:
        return Verdict.AC if decision.accepted else Verdict.WA, decision.message
    assert ran.fault is not None
    return ran.fault
