"""The trial of a problem with a checking program of its own, in as many passes as that wants."""

from dataclasses import replace

from judge.judgement import Test, TestResult
from judge.measuring import Measuring
from judge.program_runs import LimitedProgram, ProgramRun
from judge.sandbox import Container
from judge.trials.results import result_of
from judge.validators import Call, CheckerFault, OutputValidator, Ruling
from judge.verdicts import Verdict


class ValidatedTrial:
    """Runs the program on the test and gives its output to the checking program; interaction is a subclass's."""

    def __init__(self, container: Container, validator: OutputValidator, program: LimitedProgram) -> None:
        self._measuring = Measuring(container)
        self._validator = validator
        self._program = program

    def judge(self, test: Test) -> TestResult:
        """Run the program in one pass after the other. Raises CheckerFault, SandboxFault and OSError."""
        call = Call(test, test.input)
        time, memory = 0.0, 0
        for _ in range(self._validator.passes):
            ran, ruling = self._pass(call)
            time, memory = max(time, ran.outcome.time), max(memory, ran.outcome.memory)
            if ruling is None or ruling.next_input is None:
                whole = replace(ran, outcome=replace(ran.outcome, time=time, memory=memory))
                return result_of(test, whole, *_verdict(ran, ruling))
            call = Call(test, ruling.next_input, ruling.feedback)
        raise CheckerFault(
            f"the problem's output validator wants more than the {self._validator.passes} passes there may be"
        )

    def _pass(self, call: Call) -> tuple[ProgramRun, Ruling | None]:
        """One pass: the program's run, and the ruling unless the run alone decides."""
        ran = self._program.after(self._measuring.run(self._program.run(call.input)))
        return ran, None if ran.fault else self._validator.check(call, ran.output)


def _verdict(ran: ProgramRun, ruling: Ruling | None) -> tuple[Verdict, str]:
    if ruling is not None:
        return Verdict.AC if ruling.accepted else Verdict.WA, ruling.message
    assert ran.fault is not None
    return ran.fault
