"""The reference programs of a problem, and the judge's verdicts on them.

The reference programs are the stored reference solutions. If there are none, they are the programs in the text of the
official analysis. Programs of older USACO contests read `name.in` and write `name.out`; `file_names` finds these names
in the program. The driver of a functional problem runs its programs. A C++ or Java program that does not compile is
compiled once more with the usual first lines (`with_usual_preamble`).
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from django.conf import settings

import judge
from benchmark.functional import NotFunctionalError, Signature, driven
from benchmark.judging.machine_speed import applied_factor, scope_of_tests
from benchmark.judging.problem_tests import checker_for, judge_tests
from benchmark.judging.threads import in_threads
from benchmark.models import Judgement, Problem, ReferenceVerdict
from benchmark.text.program_lines import find_programs, guess_language

_LONGEST_LINE = 500
"""Characters. Longer lines are not part of a program and are skipped, which keeps the time linear."""

_COMPLETE = {
    "cpp": re.compile(r"\bmain\s*\("),
    "java": re.compile(r"\bstatic\s+(?:public\s+)?void\s+main\s*\("),
    "python": re.compile(r"\binput\s*\(|\bstdin\b|\bopen\s*\("),
}
"""What a complete program contains: an entry point, or in Python a statement that reads the input."""

_FILE_NAME = re.compile(r'(["\'])(\w[\w-]{0,80})\.(in|out)\1')
_JOINED_NAME = re.compile(r'\+\s{0,9}"\.(?:in|out)"')
_PLAIN_NAME = re.compile(r'"(?![rw]t?")(\w[\w-]{0,80})"')  # not a mode of freopen
_PREAMBLES = {
    "cpp": "#include <bits/stdc++.h>\n",
    "java": "import java.io.*;\nimport java.math.*;\nimport java.util.*;\n",
}
_ODD_SPACES = str.maketrans({"\u00a0": " ", "\u2003": " ", "\u200b": None, "\ufeff": None, "\r": None})


@dataclass(frozen=True)
class ReferenceProgram:
    """A complete program. `language` is "cpp", "java", "python", or the language of a stored solution."""

    language: str
    source: str


@dataclass(frozen=True)
class ReferenceWork:
    """The data for judging the reference programs of a problem, so that threads need no database."""

    problem: str
    programs: tuple[ReferenceProgram, ...]
    tests: tuple[judge.Test, ...]
    limits: judge.Limits
    checker: judge.Checker
    signature: Signature | None
    """The signature of a functional problem."""
    time_factor: float
    """The factor of the time limit for this machine and the dataset."""


@dataclass(frozen=True)
class ReferenceResult:
    """The best verdict on a problem's programs. `language` is None if there is no program.

    `reason` explains a verdict other than AC and quotes no hidden test.
    """

    problem: str
    language: str | None
    verdict: judge.Verdict
    reason: str


def extract_programs(analysis: str) -> list[ReferenceProgram]:
    """Return the complete programs in the text of an analysis, in their order. The time is linear in its length.

    Pseudo-code, parts of programs, and programs in other languages are skipped.
    """
    lines = analysis.translate(_ODD_SPACES).split("\n")
    taken = [len(line) > _LONGEST_LINE for line in lines]
    programs = []
    for found in find_programs(lines, taken):
        inside = lines[found.start : found.stop]
        source = "\n".join(inside) + "\n"
        # Long gaps are slow to match.
        language = guess_language("\n".join(line for line in inside if line.strip()))
        if language and _COMPLETE[language].search(source):
            programs.append(ReferenceProgram(language, source))
    return programs


def file_names(source: str) -> judge.FileNames | None:
    """Return the files that a program reads and writes: the first strings in it that end in ".in" and ".out".

    If the program joins names as in `name + ".in"`, the name is the first quoted word. None for a program that names
    no file: it uses the standard streams.
    """
    names: dict[str, str] = {}
    for found in _FILE_NAME.finditer(source):
        names.setdefault(found[3], found[2])
    if not names and _JOINED_NAME.search(source) and (word := _PLAIN_NAME.search(source)):
        names["in"] = word[1]
    if not names:
        return None
    either = next(iter(names.values()))
    return judge.FileNames(f"{names.get('in', either)}.in", f"{names.get('out', either)}.out")


def with_usual_preamble(program: ReferenceProgram) -> ReferenceProgram | None:
    """Return the program with the usual includes or imports before it; None for a language without such lines.

    Many C++ programs lack a header that older compilers included with another one. Some programs were published
    without their first lines; a C++ program that includes nothing also gets `using namespace std`.
    """
    preamble = _PREAMBLES.get(program.language)
    if preamble is None:
        return None
    if program.language == "cpp" and "#include" not in program.source:
        preamble += "using namespace std;\n"
    return ReferenceProgram(program.language, preamble + program.source)


def missing_compiler(language: str) -> str:
    """Return why programs in this language cannot be judged on this machine; "" if they can."""
    try:
        judge.compiler_version(language)
    except (judge.UnknownLanguageError, judge.ToolMissingError) as error:
        return str(error)
    return ""


def reference_work(problem: Problem, suite: Judgement.TestScope) -> ReferenceWork:
    """Return the problem's programs and the tests of the suite, ready for the judge."""
    stored = [ReferenceProgram(row.language, row.source) for row in problem.references.all()]
    programs = stored or extract_programs(problem.analysis)
    return ReferenceWork(
        problem=problem.external_id,
        programs=tuple(programs),
        tests=tuple(judge_tests(problem, suite)),
        limits=judge.Limits(time=problem.time_limit, memory=problem.memory_limit),
        checker=checker_for(problem, judge.Policy.FAIR),
        signature=Signature.from_json(problem.signature) if problem.signature else None,
        time_factor=applied_factor(problem.dataset, judge.Policy.FAIR, scope_of_tests(problem, None)).factor,
    )


def store_reference_verdicts(problems: Iterable[Problem], results: Iterable[ReferenceResult]) -> None:
    """Store the results of all tests, in the order of their problems; the gate of studies reads them."""
    ReferenceVerdict.objects.bulk_create(
        ReferenceVerdict(
            problem=problem,
            problem_hash=problem.content_hash,
            verdict=result.verdict,
            language=result.language or "",
            reason=result.reason,
        )
        for problem, result in zip(problems, results, strict=True)
    )


def verify_references(
    works: Iterable[ReferenceWork], jobs: int, on_done: Callable[[], object]
) -> list[ReferenceResult]:
    """Return the result of each work, in order; `jobs` of them are judged at once. Raises SandboxUnavailableError.

    `on_done` is called in this thread after each of them.
    """
    return in_threads(_best, works, jobs, lambda _: on_done())


def _best(work: ReferenceWork) -> ReferenceResult:
    """Judge the programs until one is accepted. Otherwise return the first result with the most tests passed."""
    if not work.programs:
        reason = "there is no reference solution and no complete program in the analysis"
        return ReferenceResult(work.problem, None, judge.Verdict.NO_CODE, reason)
    best: tuple[int, int, ReferenceResult] | None = None
    for passed, result in _results(work):
        if result.verdict is judge.Verdict.AC:
            return result
        rank = {judge.Verdict.JE: 0, judge.Verdict.CE: 1}.get(result.verdict, 2)
        if best is None or (rank, passed) > best[:2]:
            best = rank, passed, result
    assert best is not None
    return best[2]


def _results(work: ReferenceWork) -> Iterator[tuple[int, ReferenceResult]]:
    """Yield for each program the number of tests passed and its result."""
    for program in work.programs:
        if reason := missing_compiler(program.language):
            yield 0, ReferenceResult(work.problem, program.language, judge.Verdict.JE, reason)
        elif not work.tests:
            reason = "the problem has no test to judge it on"
            yield 0, ReferenceResult(work.problem, program.language, judge.Verdict.JE, reason)
        else:
            try:
                judgement = _judge(work, program)
            except NotFunctionalError as error:
                yield 0, ReferenceResult(work.problem, program.language, judge.Verdict.JE, str(error))
                continue
            if judgement.verdict is judge.Verdict.CE and (longer := with_usual_preamble(program)):
                again = _judge(work, longer)
                judgement = judgement if again.verdict is judge.Verdict.CE else again
            result = ReferenceResult(work.problem, program.language, judgement.verdict, _reason(judgement))
            yield judgement.passed, result


def _judge(work: ReferenceWork, program: ReferenceProgram) -> judge.Judgement:
    """Judge the program on the tests. Raises NotFunctionalError for a language that has no driver."""
    source = driven(program.source, work.signature, program.language) if work.signature else program.source
    return judge.grade(
        judge.Submission(source, program.language),
        judge.Problem(work.tests, work.limits, work.checker, file_names(program.source)),
        judge.GradingOptions(
            time_multipliers=settings.JUDGE_TIME_MULTIPLIERS,
            time_factor=work.time_factor,
            compile_time=settings.JUDGE_COMPILE_TIME,
        ),
    )


def _reason(judgement: judge.Judgement) -> str:
    """Return the first error of the compiler, or the name of the failed test and, for a sample, the judge's message."""
    if judgement.verdict is judge.Verdict.CE:
        lines = judgement.compiler_output.splitlines()
        return next((line for line in lines if "rror" in line), lines[0] if lines else "it does not compile")
    for test in judgement.tests:
        if test.verdict is not judge.Verdict.AC:
            shown = test.sample or test.verdict is judge.Verdict.JE  # the judge's faults quote no test
            return f"test {test.name}: {test.message if shown else judge.VERDICT_MEANING[test.verdict]}"
    return ""
