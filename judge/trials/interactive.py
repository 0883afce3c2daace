"""The trial of an interactive problem: the program and the output validator talk through two pipes."""

import contextlib
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from io import FileIO

from judge.program_runs import LimitedProgram, ProgramRun
from judge.sandbox import Container, Ending, Outcome, Run
from judge.trials.validated import ValidatedTrial
from judge.validators import Call, CheckerFault, OutputValidator, Ruling


class InteractiveTrial(ValidatedTrial):
    """Lets program and validator talk, each in its container.

    Who ended first decides. A program that passed a limit or crashed before the validator ended gets the verdict for
    that, whatever the validator makes of its silence. A validator that ended first decides, but when it accepts,
    the program must end well too. Other than in problemtools, it is no failure to write to somebody who has ended:
    neither of the program once the validator has accepted, nor of the validator once the program has ended.
    """

    def __init__(self, container: Container, validator: OutputValidator, program: LimitedProgram) -> None:
        self._conversations = _Conversations(container, validator)
        super().__init__(self._conversations, validator, program)

    def _pass(self, call: Call) -> tuple[ProgramRun, Ruling | None]:
        self._conversations.begin(call)
        # Without the warm interpreter: what it fails to start is started again, and then the pipes have gone.
        ran = self._program.after(self._measuring.run(replace(self._program.run(b""), warm=None)))
        return ran, self._ruling(ran, self._conversations.validation(ran.outcome))

    def _ruling(self, ran: ProgramRun, validation: Outcome) -> Ruling | None:
        outcome = ran.outcome
        unheard = _spoke_to_nobody(outcome)
        validator_first = unheard or validation.ended < outcome.ended
        if outcome.ending is Ending.WALL and 2 * validation.time > outcome.wall:
            raise CheckerFault(
                f"the problem's output validator computed for {validation.time:.2f} s while the program waited"
            )
        if not validator_first:
            if ran.fault:
                return None
            if _spoke_to_nobody(validation):
                return Ruling(False, "the program ended before the conversation did")
        ruling = self._validator.ruling(validation)
        return None if ran.fault and ruling.accepted and not unheard else ruling


def _spoke_to_nobody(outcome: Outcome) -> bool:
    """Whether it ended because what it wrote to had ended before."""
    last_words = outcome.stderr.strip().rpartition(b"\n")[2]
    return outcome.signal == signal.SIGPIPE or last_words.startswith(b"BrokenPipeError")


class _Conversations:
    """Looks like the program's container, but each run in it is a conversation with the validator."""

    def __init__(self, container: Container, validator: OutputValidator) -> None:
        self._container = container
        self._validator = validator
        self._call: Call | None = None
        self._held: list[tuple[Outcome, Outcome]] = []

    def begin(self, call: Call) -> None:
        """The conversations that follow are about this."""
        self._call = call
        self._held = []

    def validation(self, outcome: Outcome) -> Outcome:
        """What became of the validator in the conversation in which the program had this outcome."""
        return next(validation for one, validation in self._held if one is outcome)

    def run(self, run: Run) -> Outcome:
        """Let both run, the output of each being the input of the other. Raises SandboxFault."""
        assert self._call is not None
        other_run = self._validator.run_for(self._call)
        other_run = replace(other_run, wall=run.wall + other_run.wall)
        with ThreadPoolExecutor(1) as thread, contextlib.ExitStack() as stack:
            (hears, says), (other_hears, other_says) = _pipe(stack), _pipe(stack)
            other = thread.submit(
                self._validator.container.run, replace(other_run, input=hears, output=other_says)
            )
            outcome = self._container.run(replace(run, input=other_hears, output=says))
            self._held.append((outcome, other.result()))
        return outcome


def _pipe(stack: contextlib.ExitStack) -> tuple[FileIO, FileIO]:
    """The ends of a new pipe, closed with the stack if they were not before."""
    reading, writing = os.pipe()
    return stack.enter_context(FileIO(reading, "rb")), stack.enter_context(FileIO(writing, "wb"))
