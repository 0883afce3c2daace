"""Grading a program: compile it, run it on each test in the sandbox, check what it printed outside of it."""

import re
import signal
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from judge.checkers import Checker, check
from judge.compilation import Program, compile_program
from judge.judgement import Judgement, Test, TestResult, printable
from judge.languages import ToolMissing, compiler_version, get_language
from judge.limits import MEBIBYTE, Limits, Policy, limits_for
from judge.sandbox import (
    Container,
    Ending,
    Outcome,
    Run,
    SandboxFault,
    Surroundings,
    open_sandbox,
    run_with_retries,
)
from judge.verdicts import Verdict

JUDGE_VERSION = "1"
"""Raised whenever a change to the judge may change a verdict."""

_SHOWN = 2_000
_SCRATCH = 64 * MEBIBYTE
_WALL_FACTOR, _WALL_EXTRA = 3.0, 2.0
_NEAR = 0.9  # share of the memory limit above which a crash is taken for lack of memory
_CRASHES = (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGKILL)
_OUT_OF_MEMORY = re.compile(
    r"[\w.]*MemoryError(:.*)?|\s*what\(\):\s+std::bad_alloc"
)  # the last line of a crash


def grade(
    source: str,
    language: str,
    tests: Sequence[Test],
    limits: Limits,
    checker: Checker,
    *,
    policy: Policy = Policy.FAIR,
    stop_at_first_failure: bool = True,
    on_test: Callable[[TestResult], None] | None = None,
) -> Judgement:
    """Judge a program on tests, in their order. `on_test` is told each result as it comes.

    `limits` are the problem's; the policy decides what the language makes of them. A judge that fails (a broken
    sandbox, an unreadable test, a missing compiler) gives JE, never a verdict on the program.

    Raises SandboxUnavailable where nothing can be run safely, UnknownLanguage, and ValueError without tests.
    """
    row = get_language(language)
    if not tests:
        raise ValueError("a program cannot be judged without tests")

    isolation = compiler = compiler_output = ""
    results: list[TestResult] = []

    def judgement(verdict: Verdict) -> Judgement:
        return Judgement(
            verdict=verdict,
            tests=tuple(results),
            total=len(tests),
            compiler_output=compiler_output,
            policy=policy,
            judge_version=JUDGE_VERSION,
            isolation=isolation,
            compiler=compiler,
        )

    def add(result: TestResult) -> None:
        results.append(result)
        if on_test:
            on_test(result)

    if not source.strip():
        return judgement(Verdict.NO_CODE)
    sandbox = open_sandbox()
    isolation = sandbox.isolation
    with tempfile.TemporaryDirectory(prefix="judge-") as folder:
        try:
            compiler = compiler_version(language)
            compilation = compile_program(sandbox, row, source, Path(folder))
        except (SandboxFault, ToolMissing, OSError) as error:
            add(_judge_error(tests[0], error))
            return judgement(Verdict.JE)
        compiler_output = compilation.output
        if compilation.program is None:
            return judgement(Verdict.CE)
        applied = limits_for(limits, language, policy)
        program = compilation.program
        surroundings = Surroundings(program.folder, program.readable, file_size=_SCRATCH, scratch=_SCRATCH)
        with sandbox.open(surroundings) as container:
            for test in tests:
                add(_judge_test(container, program, test, applied, checker))
                if stop_at_first_failure and results[-1].verdict is not Verdict.AC:
                    break
    return judgement(
        next((result.verdict for result in results if result.verdict is not Verdict.AC), Verdict.AC)
    )


def _judge_test(
    container: Container, program: Program, test: Test, limits: Limits, checker: Checker
) -> TestResult:
    wall = _WALL_FACTOR * limits.time + _WALL_EXTRA
    run = Run(program.command, limits, wall, test.input)
    try:
        answer = test.answer.read_bytes()
        outcome = run_with_retries(container, run)
        if outcome.ending is Ending.WALL:
            # Either it waits, or the machine was paused or overloaded, which must not make a wrong verdict.
            outcome = run_with_retries(container, run)
    except (SandboxFault, OSError) as error:
        return _judge_error(test, error)
    verdict, message = _fault(outcome, limits) or _answer(checker, outcome, answer)
    return TestResult(
        name=test.name,
        verdict=verdict,
        time=outcome.time,
        wall=outcome.wall,
        memory=outcome.memory,
        exit_status=outcome.exit_status,
        signal=outcome.signal,
        message=message,
        output=printable(outcome.stdout, _SHOWN),
        errors=printable(outcome.stderr, _SHOWN),
        sample=test.sample,
    )


def _fault(outcome: Outcome, limits: Limits) -> tuple[Verdict, str] | None:
    """The verdict on a run that passed a limit or crashed; None for one that ended well."""
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
    if near or _OUT_OF_MEMORY.fullmatch(last_words):
        return Verdict.MLE, "could not get more memory"
    if outcome.signal is not None:
        return Verdict.RTE, f"ended by signal {outcome.signal} ({_signal_name(outcome.signal)})"
    return Verdict.RTE, printable(f"exit status {outcome.exit_status}. {last_words}".encode(), 200).strip()


def _answer(checker: Checker, outcome: Outcome, answer: bytes) -> tuple[Verdict, str]:
    checked = check(checker, outcome.stdout, answer)
    return (Verdict.AC if checked.accepted else Verdict.WA), checked.message


def _judge_error(test: Test, error: Exception) -> TestResult:
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
