"""The trial of a problem with a checking program of its own, in as many passes as that wants."""

from dataclasses import replace

from judge.judgement import Test, TestResult
from judge.measuring import Measuring
from judge.sandbox import Container, Outcome
from judge.trials.results import fault_of, result_of
from judge.trials.trial import Tried
from judge.validators import Call, CheckerFault, OutputValidator, Ruling
from judge.verdicts import Verdict


class ValidatedTrial:
    """Runs the program on the test and gives its output to the checking program; interaction is a subclass's."""

    def __init__(self, container: Container, validator: OutputValidator, tried: Tried) -> None:
        self._measuring = Measuring(container)
        self._validator = validator
        self._tried = tried

    def judge(self, test: Test) -> TestResult:
        """Run the program in one pass after the other. Raises CheckerFault, SandboxFault and OSError."""
        call = Call(test, test.input)
        time, memory = 0.0, 0
        for _ in range(self._validator.passes):
            outcome, output, ruling = self._pass(call)
            time, memory = max(time, outcome.time), max(memory, outcome.memory)
            if ruling is None or ruling.next_input is None:
                return self._result(test, replace(outcome, time=time, memory=memory), output, ruling)
            call = Call(test, ruling.next_input, ruling.feedback)
        raise CheckerFault(
            f"the problem's output validator wants more than the {self._validator.passes} passes there may be"
        )

    def _result(self, test: Test, outcome: Outcome, output: bytes, ruling: Ruling | None) -> TestResult:
        if ruling is not None:
            verdict = Verdict.AC if ruling.accepted else Verdict.WA
            return result_of(test, outcome, output, verdict, ruling.message)
        fault = self._fault(outcome)
        assert fault is not None
        return result_of(test, outcome, output, *fault)

    def _pass(self, call: Call) -> tuple[Outcome, bytes, Ruling | None]:
        """One pass: the program's run, its output, and the ruling unless the run alone decides."""
        outcome = self._measuring.run(self._tried.run(call.input))
        output = self._tried.output(outcome)
        if self._fault(outcome):
            return outcome, output, None
        return outcome, output, self._validator.check(call, output)

    def _fault(self, outcome: Outcome) -> tuple[Verdict, str] | None:
        return fault_of(outcome, self._tried.limits, self._tried.program.out_of_memory)
