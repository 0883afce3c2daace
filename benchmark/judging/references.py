"""The reference programs of a problem, and whether the judge accepts them.

They are the stored reference solutions or, where there are none, the programs that stand unmarked in the
running text of the official analysis. Those of older USACO contests read `name.in` and write `name.out`: the
names stand in the program (`file_names`). Those of a functional problem are run by its driver. A C++ or Java
program that does not compile is tried once more with the usual first lines (`with_usual_preamble`).
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from django.conf import settings

import judge
from benchmark.functional import NotFunctional, Signature, driven
from benchmark.judging.problem_tests import checker_for, judge_tests
from benchmark.judging.threads import in_threads
from benchmark.models import Judgement, Problem
from benchmark.text.program_lines import find_programs, guess_language

_LONGEST_LINE = 500
"""Characters; a longer line belongs to no program and is not looked at, which keeps the time linear."""

_COMPLETE = {
    "cpp": re.compile(r"\bmain\s*\("),
    "java": re.compile(r"\bstatic\s+(?:public\s+)?void\s+main\s*\("),
    "python": re.compile(r"\binput\s*\(|\bstdin\b|\bopen\s*\("),
}
"""What a program must hold to be one of its own: an entry, in Python something that reads its input."""

_FILE_NAME = re.compile(r'(["\'])(\w[\w-]{0,80})\.(in|out)\1')
_JOINED_NAME = re.compile(r'\+\s{0,9}"\.(?:in|out)"')
_PLAIN_NAME = re.compile(r'"(?![rw]t?")(\w[\w-]{0,80})"')  # not how freopen opens a file
_PREAMBLES = {
    "cpp": "#include <bits/stdc++.h>\n",
    "java": "import java.io.*;\nimport java.math.*;\nimport java.util.*;\n",
}
_ODD_SPACES = str.maketrans({"\u00a0": " ", "\u2003": " ", "\u200b": None, "\ufeff": None, "\r": None})


@dataclass(frozen=True)
class Program:
    """A whole program; `language` is "cpp", "java" or "python", or another that a stored solution names."""

    language: str
    source: str


@dataclass(frozen=True)
class ReferenceWork:
    """A problem as far as judging its programs needs it, so that threads need no database."""

    problem: str
    programs: tuple[Program, ...]
    tests: tuple[judge.Test, ...]
    limits: judge.Limits
    checker: judge.Checker
    signature: Signature | None
    """Of a functional problem."""


@dataclass(frozen=True)
class ReferenceResult:
    """The best verdict on a problem's programs. `language` is None when there is no program.

    `reason` says why it is not AC and quotes no hidden test.
    """

    problem: str
    language: str | None
    verdict: judge.Verdict
    reason: str


def extract_programs(analysis: str) -> list[Program]:
    """The complete programs in the text of an analysis, in its order. Linear in its length; never raises.

    Pseudo-code, parts of programs, and programs in other languages are left out.
    """
    lines = analysis.translate(_ODD_SPACES).split("\n")
    taken = [len(line) > _LONGEST_LINE for line in lines]
    programs = []
    for found in find_programs(lines, taken):
        inside = lines[found.start : found.stop]
        source = "\n".join(inside) + "\n"
        language = guess_language(
            "\n".join(line for line in inside if line.strip())
        )  # long gaps are slow to match
        if language and _COMPLETE[language].search(source):
            programs.append(Program(language, source))
    return programs


def file_names(source: str) -> judge.FileNames | None:
    """The files a program reads and writes, by the first strings in it that name a file "….in" or "….out".

    Where names are put together as `name + ".in"`, the name is taken to be the first quoted word. None for a program
    that names no file: it uses the standard streams.
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


def with_usual_preamble(program: Program) -> Program | None:
    """The program with the usual libraries included before it; None for a language that has no such lines.

    Many C++ programs lack a header that the compilers of their day included by way of another. Some programs were
    published without their first lines; a C++ program that includes nothing gets `using namespace std` as well.
    """
    preamble = _PREAMBLES.get(program.language)
    if preamble is None:
        return None
    if program.language == "cpp" and "#include" not in program.source:
        preamble += "using namespace std;\n"
    return Program(program.language, preamble + program.source)


def missing_compiler(language: str) -> str:
    """Why programs in this language cannot be judged here; empty where they can."""
    try:
        judge.compiler_version(language)
    except (judge.UnknownLanguage, judge.ToolMissing) as error:
        return str(error)
    return ""


def reference_work(problem: Problem, suite: Judgement.Suite) -> ReferenceWork:
    """The problem's programs, ready for the judge, with the tests of the suite."""
    stored = [Program(row.language, row.source) for row in problem.references.all()]
    programs = stored or extract_programs(problem.analysis)
    return ReferenceWork(
        problem=problem.external_id,
        programs=tuple(programs),
        tests=tuple(judge_tests(problem, suite)),
        limits=judge.Limits(time=problem.time_limit, memory=problem.memory_limit),
        checker=checker_for(problem, judge.Policy.FAIR),
        signature=Signature.from_json(problem.signature) if problem.signature else None,
    )


def verify_references(
    works: Iterable[ReferenceWork], jobs: int, on_done: Callable[[], object]
) -> list[ReferenceResult]:
    """The result of each work, in their order, with so many judged at once. Raises SandboxUnavailable.

    `on_done` is called in this thread after each.
    """
    return in_threads(_best, works, jobs, lambda _: on_done())


def _best(work: ReferenceWork) -> ReferenceResult:
    """Judge the programs until one is accepted; else the result of the one that came furthest, the first of equals."""
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
    """Each program's result with the number of tests it passed."""
    for program in work.programs:
        if reason := missing_compiler(program.language):
            yield 0, ReferenceResult(work.problem, program.language, judge.Verdict.JE, reason)
        elif not work.tests:
            reason = "the problem has no test to judge it on"
            yield 0, ReferenceResult(work.problem, program.language, judge.Verdict.JE, reason)
        else:
            try:
                judgement = _judge(work, program)
            except NotFunctional as error:
                yield 0, ReferenceResult(work.problem, program.language, judge.Verdict.JE, str(error))
                continue
            if judgement.verdict is judge.Verdict.CE and (longer := with_usual_preamble(program)):
                again = _judge(work, longer)
                judgement = judgement if again.verdict is judge.Verdict.CE else again
            result = ReferenceResult(work.problem, program.language, judgement.verdict, _reason(judgement))
            yield judgement.passed, result


def _judge(work: ReferenceWork, program: Program) -> judge.Judgement:
    """Raises NotFunctional for a language that has no driver."""
    return judge.grade(
        driven(program.source, work.signature, program.language) if work.signature else program.source,
        program.language,
        work.tests,
        work.limits,
        work.checker,
        time_multipliers=settings.JUDGE_TIME_MULTIPLIERS,
        files=file_names(program.source),
    )


def _reason(judgement: judge.Judgement) -> str:
    """The first complaint: of the compiler, or the name of the failed test with, for samples, what went wrong."""
    if judgement.verdict is judge.Verdict.CE:
        said = judgement.compiler_output.splitlines()
        return next((line for line in said if "rror" in line), said[0] if said else "it does not compile")
    for test in judgement.tests:
        if test.verdict is not judge.Verdict.AC:
            shown = test.sample or test.verdict is judge.Verdict.JE  # the judge's faults quote no test
            return f"test {test.name}: {test.message if shown else judge.VERDICT_MEANING[test.verdict]}"
    return ""
