"""From the outcome of a run to the result of a test."""

import re
import signal

from judge.judgement import Test, TestResult, printable
from judge.limits import Limits
from judge.sandbox import Ending, Outcome
from judge.verdicts import Verdict

_SHOWN = 2_000
_NEAR = 0.9  # share of the memory limit above which a crash is taken for lack of memory
_CRASHES = (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGKILL)


def fault_of(outcome: Outcome, limits: Limits, out_of_memory: str) -> tuple[Verdict, str] | None:
    """The verdict on a run that passed a limit or crashed, and why; None for one that ended well.

    `out_of_memory` is a pattern for the last line that a program of this language prints for lack of memory.
    """
    last_words = outcome.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
    if outcome.ending is Ending.OUTPUT:
        return Verdict.OLE, f"printed more than {limits.output} bytes"
    if outcome.ending is Ending.MEMORY:
        return Verdict.MLE, f"used more than {limits.memory} bytes of memory"
    if outcome.ending is Ending.CPU or outcome.time > limits.time:
        return Verdict.TLE, f"used {outcome.time:.2f} s of CPU, the limit is {limits.time:g} s"
    if outcome.memory > limits.memory:
        return Verdict.MLE, f"used {outcome.memory} bytes of memory, the limit is {limits.memory}"
    if outcome.ending is Ending.WALL:
        return Verdict.TLE, (
            f"stopped by the wall clock after {outcome.wall:.2f} s, of which {outcome.time:.2f} s were CPU"
        )
    if outcome.exit_status == 0:
        return None
    near = outcome.signal in _CRASHES and outcome.memory >= _NEAR * limits.memory
    if near or re.fullmatch(out_of_memory, last_words):
        return Verdict.MLE, "could not get more memory"
    if outcome.signal is not None:
        return Verdict.RTE, f"ended by signal {outcome.signal} ({_signal_name(outcome.signal)})"
    return Verdict.RTE, printable(f"exit status {outcome.exit_status}. {last_words}".encode(), 200).strip()


def result_of(test: Test, outcome: Outcome, output: bytes, verdict: Verdict, message: str) -> TestResult:
    """The result of a test with the beginnings of what the program printed."""
    return TestResult(
        name=test.name,
        verdict=verdict,
        time=outcome.time,
        wall=outcome.wall,
        memory=outcome.memory,
        exit_status=outcome.exit_status,
        signal=outcome.signal,
        message=message,
        output=printable(output, _SHOWN),
        errors=printable(outcome.stderr, _SHOWN),
        sample=test.sample,
    )


def judge_error(test: Test, error: Exception) -> TestResult:
    """The result of a test that could not be judged."""
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


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return "real-time signal"
