"""Test results, from a program's run or from a fault of the judge."""

from judge.execution import ProgramRun
from judge.records import Test, TestResult, Verdict, printable

_SHOWN = 2_000


def result_of(test: Test, ran: ProgramRun, verdict: Verdict, message: str) -> TestResult:
    """Return the result of a test, with the beginning of the program's output."""
    outcome = ran.outcome
    return TestResult(
        name=test.name,
        verdict=verdict,
        time=outcome.time,
        wall=outcome.wall,
        memory=outcome.memory,
        exit_status=outcome.exit_status,
        signal=outcome.signal,
        message=message,
        output=printable(ran.output, test.shown),
        errors=printable(outcome.stderr, _SHOWN),
        sample=test.sample,
    )


def judge_error(test: Test, error: Exception) -> TestResult:
    """Return the result of a test that could not be judged."""
    return TestResult(
        name=test.name,
        verdict=Verdict.JE,
        time=0.0,
        wall=0.0,
        memory=0,
        exit_status=None,
        signal=None,
        message=f"{type(error).__name__}: {error}",
        output="",
        errors="",
        sample=test.sample,
    )
