"""Validation of a suite or of the imported tests by known right and wrong programs.

Each judgement is a row that names its suite, so an interrupted validation can be continued.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from django.conf import settings
from django.utils import timezone

import judge
from benchmark.judging import (
    AppliedFactor,
    applied_factor,
    checker_for,
    judge_tests,
    program_files,
    scope_of_tests,
    source_hash,
    store_submission,
)
from benchmark.judging.references import missing_compiler
from benchmark.judging.threads import in_threads
from benchmark.models import Judgement, PackageProgram, Problem, Suite
from benchmark.suites.kill_matrix import KillMatrix, TriedProgram
from judge import Policy, Verdict

OVERTIME = 60
"""Seconds after which a known program is stopped: the sum of the time limits that it has exceeded."""


class SuiteValidationError(Exception):
    """A failure of the judge on a known program. The suite must be judged again."""


@dataclass(frozen=True)
class KnownProgram:
    """A program with a known verdict."""

    name: str
    language: str
    source: str
    right: bool
    expected: tuple[str, ...] = ()


def known_programs(problem: Problem) -> tuple[list[KnownProgram], list[str]]:
    """Return the problem's reference solutions, known wrong programs, and candidates with an official verdict.

    Also return the reasons why some cannot be judged on this machine. Duplicate programs are removed, since they would
    count twice.
    """
    found = [KnownProgram(one.name, one.language, one.source, True) for one in problem.references.all()]
    found += [
        KnownProgram(one.name, one.language, next(iter(one.files.values())), False, tuple(one.expected))
        for one in problem.package_programs.filter(role=PackageProgram.Role.WRONG)
    ]
    for candidate in problem.candidates.exclude(official_verdict="").select_related("submission"):
        official, tried = candidate.official_verdict, candidate.submission
        right = official == Verdict.AC
        found.append(
            KnownProgram(candidate.name, tried.language, tried.source, right, () if right else (official,))
        )
    kept: dict[tuple[str, str], KnownProgram] = {}
    notes = []
    for program in found:
        if reason := missing_compiler(program.language):
            notes.append(f"{program.name} is skipped: {reason}")
        else:
            kept.setdefault((program.language, program.source), program)
    return list(kept.values()), notes


def stored_matrix(problem: Problem, suite: Suite | None) -> KillMatrix | None:
    """Return the stored kill matrix of a suite (None: the imported tests); None if judgements are missing."""
    programs, _ = known_programs(problem)
    rows = _judgements(problem, suite, programs)
    return _matrix(problem, suite, programs, rows) if len(rows) == len(programs) and programs else None


def validate(
    problem: Problem,
    suite: Suite | None,
    jobs: int,
    overtime: int,
    on_stage: Callable[[str, int], Callable[[], None]],
) -> KillMatrix:
    """Judge every known program that has not been judged on these tests, and return the kill matrix.

    A program is stopped once the tests on which it exceeds its time limit, at that limit each, amount to `overtime`
    seconds. Raises SuiteValidationError and SandboxUnavailableError.
    """
    programs, _ = known_programs(problem)
    machine = applied_factor(problem.dataset, Policy.FAIR, scope_of_tests(problem, suite))
    rows = _judgements(problem, suite, programs, time_factor=machine.factor)
    tests = judge_tests(problem, Judgement.TestScope.ALL, suite)
    if not tests:
        raise SuiteValidationError(f"{problem} has no tests on which its programs can be judged")
    sources = [program_files(problem, one.source, one.language) for one in programs]
    limits = judge.Limits(time=problem.time_limit, memory=problem.memory_limit)
    checker = checker_for(problem, Policy.FAIR)
    multipliers = settings.JUDGE_TIME_MULTIPLIERS
    timeouts = [
        math.ceil(
            overtime / judge.limits_for(limits, one.language, Policy.FAIR, multipliers, machine.factor).time
        )
        for one in programs
    ]
    missing = [
        index
        for index in range(len(programs))
        if index not in rows or _cut_before(rows[index], len(tests), timeouts[index])
    ]
    on_done = on_stage("programs", len(missing))

    def graded(index: int) -> tuple[int, judge.Judgement]:
        return index, judge.grade(
            judge.Submission(sources[index], programs[index].language),
            judge.Problem(tests, limits, checker),
            judge.GradingOptions(
                time_multipliers=multipliers,
                time_factor=machine.factor,
                stop_at_first_failure=False,
                maximum_timeouts=timeouts[index],
                compile_time=settings.JUDGE_COMPILE_TIME,
            ),
        )

    def keep(result: tuple[int, judge.Judgement]) -> None:
        index, judgement = result
        rows[index] = _store(problem, suite, programs[index], judgement, machine)
        on_done()

    in_threads(graded, missing, jobs, keep)
    return _matrix(problem, suite, programs, rows)


def _store(
    problem: Problem,
    suite: Suite | None,
    program: KnownProgram,
    judgement: judge.Judgement,
    machine: AppliedFactor,
) -> Judgement:
    """Store a judgement without the programs' outputs, which would need much space. Raises SuiteValidationError."""
    fault = next((test.message for test in judgement.tests if test.verdict is Verdict.JE), "")
    if fault:
        raise SuiteValidationError(f"the judge failed on {program.name} of {problem}: {fault}")
    kept = replace(judgement, tests=tuple(replace(test, output="", errors="") for test in judgement.tests))
    return Judgement.objects.create(
        submission=store_submission(problem, program.source, program.language),
        suite=Judgement.TestScope.ALL,
        test_suite=suite,
        policy=judgement.policy,
        stop_at_first_failure=False,
        state=Judgement.State.DONE,
        verdict=judgement.verdict,
        passed=judgement.passed,
        total=judgement.total,
        result=kept.to_json(),
        speed_scope=scope_of_tests(problem, suite),
        host=machine.host,
        measured_factor=machine.measured,
        time_factor=machine.factor,
        near_limit=judgement.near_limit,
        problem_hash=problem.content_hash,
        finished_at=timezone.now(),
    )


def _cut_before(row: Judgement, tests: int, timeouts: int) -> bool:
    """Return whether a judgement stopped after fewer timeouts than `timeouts`."""
    verdicts = [test["verdict"] for test in (row.result or {})["tests"]]
    return 0 < len(verdicts) < tests and verdicts.count(Verdict.TLE) < timeouts


def _judgements(
    problem: Problem,
    suite: Suite | None,
    programs: Sequence[KnownProgram],
    *,
    time_factor: float | None = None,
) -> dict[int, Judgement]:
    """Return the latest judgement of each program on these tests by the current judge version, by index.

    `time_factor` selects judgements with this factor; None selects all, whichever machine made them.
    """
    rows = Judgement.objects.filter(
        submission__problem=problem,
        suite=Judgement.TestScope.ALL,
        test_suite=suite,
        policy=Policy.FAIR,
        stop_at_first_failure=False,
        state=Judgement.State.DONE,
        counts=True,
        problem_hash=problem.content_hash,
        result__judge_version=judge.JUDGE_VERSION,
    ).select_related("submission")
    if time_factor is not None:
        rows = rows.filter(time_factor=time_factor)
    latest: dict[tuple[str, str], Judgement] = {}
    for row in rows.order_by("pk"):
        latest[row.submission.language, row.submission.source_hash] = row
    found = {}
    for index, program in enumerate(programs):
        if judgement := latest.get((program.language, source_hash(program.source))):
            found[index] = judgement
    return found


def _matrix(
    problem: Problem, suite: Suite | None, programs: Sequence[KnownProgram], rows: dict[int, Judgement]
) -> KillMatrix:
    names = tuple(test.name for test in judge_tests(problem, Judgement.TestScope.ALL, suite))
    tried = []
    for index, program in enumerate(programs):
        row = rows[index]
        by_test = {test["name"]: Verdict(test["verdict"]) for test in (row.result or {})["tests"]}
        # A program that does not compile fails all tests without running.
        untried = None if by_test else Verdict(row.verdict)
        verdicts = tuple(by_test.get(name, untried) for name in names)
        tried.append(
            TriedProgram(program.name, program.language, program.right, program.expected, verdicts, row.pk)
        )
    return KillMatrix(names, tuple(tried))
