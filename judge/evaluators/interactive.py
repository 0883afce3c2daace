"""The evaluator of interactive problems: the program and the output validator talk through two pipes."""

import contextlib
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from io import FileIO

from judge.checking import OpenValidator, ValidatorCall, ValidatorResult
from judge.evaluators.evaluator import TestEvaluator
from judge.execution import LimitedProgram, ProgramRun
from judge.records import Verdict
from judge.sandbox import Container, InteractionSide, RunOutcome, SandboxRun, Termination


class InteractiveEvaluator(TestEvaluator):
    """An evaluator that runs program and validator at the same time, each in its container.

    The one that ends first decides. A program that exceeded a limit or crashed before the validator ended gets the
    verdict for that, whatever the validator then reports. A validator that ended first decides, but if it accepts,
    the program must end well too. Unlike in problemtools, a broken pipe is not a failure: not of the program after the
    validator has accepted, and not of the validator after the program has ended. A program may print what it likes, so
    it excuses a crash only, never an exceeded limit.
    """

    def __init__(self, container: Container, program: LimitedProgram, validator: OpenValidator) -> None:
        self._validator = validator
        self._interactions = _Interactions(container, validator)
        super().__init__(self._interactions, program, validator)

    def _run_pass(self, call: ValidatorCall) -> tuple[ProgramRun, ValidatorResult | None]:
        self._interactions.begin(call)
        # Without the fork server: a run that it cannot start is started again, but the pipes are closed by then.
        run = replace(self._program.run(b""), preload=None)
        ran = self._program.result(self._runner.run(run))
        return ran, self._decision(ran, self._interactions.validation(ran.outcome))

    def _decision(self, ran: ProgramRun, validation: RunOutcome) -> ValidatorResult | None:
        outcome = ran.outcome
        pipe_broken = ran.fault is not None and ran.fault[0] is Verdict.RTE and _ended_by_broken_pipe(outcome)
        validator_first = pipe_broken or validation.ended < outcome.ended
        if not validator_first:
            if ran.fault:
                return None
            if _ended_by_broken_pipe(validation):
                return ValidatorResult(False, "the program ended before the conversation did")
        decision = self._validator.result(validation)
        return None if ran.fault and decision.accepted and not pipe_broken else decision


def _ended_by_broken_pipe(outcome: RunOutcome) -> bool:
    """Return whether a process ended because the reader of its output had ended before."""
    if outcome.termination is not Termination.EXIT:
        return False
    last_line = outcome.stderr.strip().rpartition(b"\n")[2]
    return outcome.signal == signal.SIGPIPE or last_line.startswith(b"BrokenPipeError")


class _Interactions:
    """A container each of whose runs is an interaction of the program with the validator."""

    def __init__(self, container: Container, validator: OpenValidator) -> None:
        self._container = container
        self._validator = validator
        self._call: ValidatorCall | None = None
        self._outcomes: list[tuple[RunOutcome, RunOutcome]] = []

    def begin(self, call: ValidatorCall) -> None:
        """Set the validator's call for the runs that follow."""
        self._call = call
        self._outcomes = []

    def validation(self, outcome: RunOutcome) -> RunOutcome:
        """Return the validator's outcome in the interaction in which the program had this outcome."""
        return next(validation for one, validation in self._outcomes if one is outcome)

    def run(self, run: SandboxRun) -> RunOutcome:
        """Run both, each with the output of the other as its input. Raises SandboxFaultError."""
        assert self._call is not None
        validator_run = self._validator.run_for(self._call)
        wall = run.limits.wall + validator_run.limits.wall  # each side may wait for the other one
        with ThreadPoolExecutor(1) as thread, contextlib.ExitStack() as stack:
            (from_program, to_validator), (from_validator, to_program) = _pipe(stack), _pipe(stack)
            memory = _shared_memory(stack)
            validation = thread.submit(
                self._validator.container.run,
                replace(
                    validator_run,
                    wall=wall,
                    input=from_program,
                    output=to_program,
                    interaction=InteractionSide(is_validator=True, memory=memory),
                ),
            )
            outcome = self._container.run(
                replace(
                    run,
                    wall=wall,
                    input=from_validator,
                    output=to_validator,
                    interaction=InteractionSide(is_validator=False, memory=memory),
                )
            )
            self._outcomes.append((outcome, validation.result()))
        return outcome


def _pipe(stack: contextlib.ExitStack) -> tuple[FileIO, FileIO]:
    """Return the ends of a new pipe, which the stack closes if they are still open."""
    reading, writing = os.pipe()
    return stack.enter_context(FileIO(reading, "rb")), stack.enter_context(FileIO(writing, "wb"))


def _shared_memory(stack: contextlib.ExitStack) -> int:
    """Return a descriptor of the zeroed memory in which the launchers of both sides note their states."""
    descriptor = os.memfd_create("interaction", os.MFD_CLOEXEC)
    stack.callback(os.close, descriptor)
    os.truncate(descriptor, os.sysconf("SC_PAGESIZE"))
    return descriptor
