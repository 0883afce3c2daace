"""Grading of a submission: it is compiled, then evaluated on each test, in the sandbox."""

import contextlib
from collections.abc import Callable

from judge.checking import ValidatorFaultError
from judge.compilation import compile_program
from judge.evaluators import TestEvaluator, judge_error, open_evaluator
from judge.execution import LimitedProgram
from judge.grading.requests import GradingOptions, Problem, Submission
from judge.records import Judgement, TestResult, Verdict
from judge.sandbox import Sandbox, SandboxFaultError, open_sandbox
from judge.toolchains import ToolMissingError, compiler_version, get_language, limits_for

JUDGE_VERSION = "5"
"""Incremented by every change to the judge that may change a verdict."""


def grade(
    submission: Submission,
    problem: Problem,
    options: GradingOptions | None = None,
    *,
    on_test: Callable[[TestResult], None] | None = None,
) -> Judgement:
    """Judge a submission on the problem's tests, in their order. `on_test` is called with each result.

    A failure of the judge (a broken sandbox, an unreadable test, a missing compiler) gives JE, never a verdict on the
    program. Raises SandboxUnavailableError where programs cannot be run safely, UnknownLanguageError, and ValueError
    without tests.
    """
    options = options or GradingOptions()
    get_language(submission.language)
    if not problem.tests:
        raise ValueError("a program cannot be judged without tests")
    return _Grading(submission, problem, options, on_test).judgement()


class _Grading:
    """One grading: the request, and what is known of the judgement so far."""

    def __init__(
        self,
        submission: Submission,
        problem: Problem,
        options: GradingOptions,
        on_test: Callable[[TestResult], None] | None,
    ) -> None:
        self._submission = submission
        self._problem = problem
        self._options = options
        self._on_test = on_test
        self._results: list[TestResult] = []
        self._limits = limits_for(
            problem.limits,
            submission.language,
            options.policy,
            options.time_multipliers,
            options.time_factor,
        )
        self._isolation = self._compiler = self._compiler_output = ""

    def judgement(self) -> Judgement:
        """Grade the submission."""
        return Judgement(
            verdict=self._verdict(),
            tests=tuple(self._results),
            total=len(self._problem.tests),
            compiler_output=self._compiler_output,
            policy=self._options.policy,
            limits=self._limits,
            judge_version=JUDGE_VERSION,
            isolation=self._isolation,
            compiler=self._compiler,
        )

    def _verdict(self) -> Verdict:
        """Compile and run the submission. Return its verdict."""
        if self._submission.is_empty:
            return Verdict.NO_CODE
        sandbox = open_sandbox()
        self._isolation = sandbox.isolation
        with contextlib.ExitStack() as stack:
            try:
                program = self._compiled(sandbox)
                if program is None:
                    return Verdict.CE
                opening = open_evaluator(sandbox, self._problem.checker, program)
                evaluator = stack.enter_context(opening)
            except (SandboxFaultError, ValidatorFaultError, ToolMissingError, OSError) as error:
                self._add(judge_error(self._problem.tests[0], error))
            else:
                self._evaluate(evaluator)
        verdicts = (result.verdict for result in self._results)
        return next((verdict for verdict in verdicts if verdict is not Verdict.AC), Verdict.AC)

    def _compiled(self, sandbox: Sandbox) -> LimitedProgram | None:
        """Compile the submission and note compiler and messages. Return None if it does not compile."""
        submission = self._submission
        self._compiler = compiler_version(submission.language)
        compilation = compile_program(
            sandbox,
            get_language(submission.language),
            submission.source,
            self._limits,
            compile_time=self._options.compile_time,
        )
        self._compiler_output = compilation.output
        program = compilation.program
        if program is None:
            return None
        if not self._options.fork_server:
            program = program.without_fork_server()
        return LimitedProgram(program, self._limits, self._problem.files)

    def _evaluate(self, evaluator: TestEvaluator) -> None:
        for test in self._problem.tests:
            try:
                result = evaluator.evaluate(test)
            except (SandboxFaultError, ValidatorFaultError, OSError) as error:
                result = judge_error(test, error)
            self._add(result)
            if self._options.stop_at_first_failure and result.verdict is not Verdict.AC:
                break
            if result.verdict is Verdict.TLE and self._has_enough_timeouts():
                break

    def _has_enough_timeouts(self) -> bool:
        timeouts = sum(result.verdict is Verdict.TLE for result in self._results)
        return timeouts == self._options.maximum_timeouts

    def _add(self, result: TestResult) -> None:
        self._results.append(result)
        if self._on_test:
            self._on_test(result)
