"""Measuring a run so that its verdict does not hang on chance: runs that end at or near a limit are repeated."""

from dataclasses import replace

from judge.sandbox import Container, Ending, Outcome, Run, run_with_retries

NEAR = 1.1
"""A run that needs at most so many times its limit is near it."""

_REPETITIONS = 2


class Measuring:
    """Measures the runs of one submission.

    Of several measurements of one run the least counts: other work on the machine makes a program slower, and
    nothing makes it faster than it is. A run stopped at its time limit is repeated with a little more time, to see
    whether it is near the limit; a submission that was shown to be too slow is believed from then on.
    """

    def __init__(self, container: Container) -> None:
        self._container = container
        self._is_slow = False

    def run(self, run: Run) -> Outcome:
        """The run's outcome, which may have a time a little over the limit. Raises SandboxFault."""
        outcome = run_with_retries(self._container, run)
        if outcome.ending is Ending.WALL:
            # Either it waits, or the machine was paused or overloaded, which must not make a wrong verdict.
            return run_with_retries(self._container, run)
        if _is_over_time(outcome, run) and not self._is_slow:
            outcome = self._with_more_time(run, outcome)
            self._is_slow = _is_over_time(outcome, run)
        elif run.limits.memory < outcome.memory <= NEAR * run.limits.memory:
            again = run_with_retries(self._container, run)
            return min(outcome, again, key=lambda one: one.memory)
        return outcome

    def _with_more_time(self, run: Run, outcome: Outcome) -> Outcome:
        longer = replace(run, limits=replace(run.limits, time=NEAR * run.limits.time))
        for _ in range(_REPETITIONS):
            again = run_with_retries(self._container, longer)
            if again.ending is not Ending.EXIT or _is_over_time(again, longer):
                return outcome
            outcome = again
            if not _is_over_time(outcome, run):
                break
        return outcome


def _is_over_time(outcome: Outcome, run: Run) -> bool:
    return outcome.ending is Ending.CPU or outcome.time > run.limits.time
