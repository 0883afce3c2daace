"""Grading a program: compile it and try it on each test, in the sandbox."""

import contextlib
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from judge.checkers import Checker
from judge.compilation import compile_program
from judge.judgement import Judgement, Test, TestResult
from judge.languages import ToolMissing, compiler_version, get_language
from judge.limits import Limits, Policy, limits_for
from judge.program_runs import FileNames, LimitedProgram
from judge.sandbox import SandboxFault, open_sandbox
from judge.trials import judge_error, open_trial
from judge.validators import CheckerFault
from judge.verdicts import Verdict

JUDGE_VERSION = "2"
"""Raised whenever a change to the judge may change a verdict."""

_FEW = 3
"""With fewer tests an interpreter started once for all of them costs more than one started for each."""


def grade(
    source: str | Mapping[str, str],
    language: str,
    tests: Sequence[Test],
    limits: Limits,
    checker: Checker,
    *,
    policy: Policy = Policy.FAIR,
    time_multipliers: Mapping[str, float] | None = None,
    stop_at_first_failure: bool = True,
    timeouts: int | None = None,
    files: FileNames | None = None,
    warm_start: bool = True,
    on_test: Callable[[TestResult], None] | None = None,
) -> Judgement:
    """Judge a program on tests, in their order. `on_test` is told each result as it comes.

    The source is one text, or the texts of several files by name. With `files` the program finds its input also in
    a file, and what it writes to the other counts before what it prints. `limits` are the problem's; the policy
    decides what the language makes of them, with `time_multipliers` instead of the table's for the languages they
    name. After `timeouts` tests with TLE no other test is run. Without `warm_start` an interpreter starts anew for
    each test even where a fork of one that has started would do.

    A judge that fails (a broken sandbox, an unreadable test, a missing compiler) gives JE, never a verdict on the
    program. Raises SandboxUnavailable where nothing can be run safely, UnknownLanguage, and ValueError without
    tests.
    """
    row = get_language(language)
    applied = limits_for(limits, language, policy, time_multipliers)
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
            limits=applied,
            judge_version=JUDGE_VERSION,
            isolation=isolation,
            compiler=compiler,
        )

    def add(result: TestResult) -> None:
        results.append(result)
        if on_test:
            on_test(result)

    texts = [source] if isinstance(source, str) else source.values()
    if not any(text.strip() for text in texts):
        return judgement(Verdict.NO_CODE)
    sandbox = open_sandbox()
    isolation = sandbox.isolation
    with tempfile.TemporaryDirectory(prefix="judge-") as folder, contextlib.ExitStack() as stack:
        try:
            compiler = compiler_version(language)
            compilation = compile_program(sandbox, row, source, applied, Path(folder))
            compiler_output = compilation.output
            if compilation.program is None:
                return judgement(Verdict.CE)
            program = compilation.program
            if not warm_start or len(tests) < _FEW:
                program = program.started_afresh()
            limited = LimitedProgram(program, applied, files)
            trial = stack.enter_context(open_trial(sandbox, checker, limited))
        except (SandboxFault, CheckerFault, ToolMissing, OSError) as error:
            add(judge_error(tests[0], error))
            return judgement(Verdict.JE)
        for test in tests:
            try:
                add(trial.judge(test))
            except (SandboxFault, CheckerFault, OSError) as error:
                add(judge_error(test, error))
            if stop_at_first_failure and results[-1].verdict is not Verdict.AC:
                break
            if timeouts == sum(result.verdict is Verdict.TLE for result in results):
                break
    return judgement(
        next((result.verdict for result in results if result.verdict is not Verdict.AC), Verdict.AC)
    )
