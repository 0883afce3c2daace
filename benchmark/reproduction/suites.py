"""Figures of suites and refinement: curves of a result file, and suites and oracles of the practice set."""

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import judge
from benchmark.datasets.icpc import open_icpc
from benchmark.datasets.records import ImportedProblem, ProgramRecord, TestKind
from benchmark.providers.practice import PRACTICE_PROBLEMS
from benchmark.reports.refinement import curve_of
from benchmark.reports.refinement.eval_results import read_eval_results
from benchmark.reproduction.registry import RECOMPUTED, Check, DataMissingError, PublishedData, reproduces
from benchmark.suites.generating import GeneratedTest, generate_tests
from benchmark.suites.kill_matrix import KillMatrix, TriedProgram, mean_curve
from benchmark.suites.recipes import Generator, Recipe, SuiteProgram
from judge import Limits, Verdict

RESULTS = "icpc-eval"

_SUITE: dict[TestKind, int] = {"random": 20, "corner": 10, "stress": 1}
_SMALL: dict[TestKind, int] = {"random": 20, "corner": 10}
_ORACLE_SECONDS = 10.0
"""The time limit of an oracle on an input (docs/spec.md 14)."""


@reproduces("N-14", "Refine@1 to 5 from ICPC-Eval's result files", RECOMPUTED)
def refinement_curves(files: PublishedData) -> Iterator[Check]:
    found = sorted(files.path(RESULTS).glob("eval_results_*.json"))
    if not found:
        raise DataMissingError(f"{files.path(RESULTS)} holds no eval_results_*.json.")
    for path in found:
        results = read_eval_results(path)
        values = [point.value for point in curve_of(results.refinements, results.k).points]
        shown = " ".join(f"{100 * value:.1f}" for value in values)
        yield Check(f"{path.name}: curve", "never falls", shown, values == sorted(values))
        yield Check.equal(f"{path.name}: inconsistencies", 0, len(results.inconsistencies))


@dataclass(frozen=True)
class _Known:
    """A program of the practice set that is known to be right, wrong or slow."""

    name: str
    language: str
    source: str
    right: bool
    slow: bool


@reproduces(
    "N-16", "suites by the practice set's generators, measured with its wrong and slow programs", RECOMPUTED
)
def practice_suites(_files: PublishedData) -> Iterator[Check]:
    """Judge the known programs on generated suites. Takes minutes, because slow programs run until their limit."""
    curves = []
    for problem in _practice():
        tests = _made(problem, _fastest(problem), _SUITE)
        matrix = _matrix(problem, tests, _known(problem))
        right, wrong = len(matrix.right), len(matrix.wrong)
        yield Check.equal(f"{problem.external_id}: right programs pass", right, right - len(matrix.refused))
        yield Check.equal(f"{problem.external_id}: wrong programs fail", wrong, wrong - len(matrix.survivors))
        curves.append(matrix.kill_curve())
    curve = mean_curve(curves)
    shown = " ".join(
        f"{100 * curve[size - 1]:.0f}" for size in (1, 2, 5, 10, 20, len(curve)) if size <= len(curve)
    )
    yield Check(
        "kill curve, % at 1, 2, 5, 10, 20 and all tests", "never falls", shown, curve == sorted(curve)
    )


@reproduces("N-17", "slow programs of the practice set as oracles on small inputs", RECOMPUTED)
def slow_oracles(_files: PublishedData) -> Iterator[Check]:
    """Measure agreement as in ALGO: a program passes all tests of the oracle exactly if it is known to be right."""
    for problem in _practice():
        known = _known(problem)
        for slow in (one for one in known if one.slow):
            oracle = SuiteProgram(slow.name, slow.language, {"": slow.source})
            others = [one for one in known if one.right or not one.slow]
            tried = _matrix(problem, _made(problem, oracle, _SMALL), others).programs
            agreed = sum(one.accepted == one.right for one in tried)
            yield Check.equal(f"{problem.external_id}: agreement with {slow.name}", len(tried), agreed)


def _practice() -> list[ImportedProblem]:
    with open_icpc(PRACTICE_PROBLEMS) as source:
        return [entry for entry in source.entries if isinstance(entry, ImportedProblem)]


def _known(problem: ImportedProblem) -> list[_Known]:
    known = [_Known(one.name, one.language, one.source, True, False) for one in problem.references]
    for one in _programs(problem, "wrong"):
        slow = one.expected == (Verdict.TLE.value,)
        known.append(_Known(one.name, one.language, next(iter(one.files.values())), False, slow))
    return known


def _programs(problem: ImportedProblem, role: str) -> list[ProgramRecord]:
    return [one for one in problem.programs if one.role == role]


def _fastest(problem: ImportedProblem) -> SuiteProgram:
    chosen = next(one for one in problem.references if one.language == "cpp")
    return SuiteProgram(chosen.name, chosen.language, {"": chosen.source})


def _made(
    problem: ImportedProblem, reference: SuiteProgram, counts: dict[TestKind, int]
) -> list[GeneratedTest]:
    def suite_program(one: ProgramRecord) -> SuiteProgram:
        return SuiteProgram(one.name, one.language, one.files)

    recipe = Recipe(
        generators=tuple(
            Generator(suite_program(one), one.commands) for one in _programs(problem, "generator")
        ),
        validators=tuple(map(suite_program, _programs(problem, "input_validator"))),
        reference=reference,
        seed=1,
        counts=counts,
    )
    limits = Limits(time=_ORACLE_SECONDS, memory=problem.memory_limit)
    return generate_tests(recipe, limits, (), _cores(), _silent).tests


def _matrix(problem: ImportedProblem, tests: Sequence[GeneratedTest], known: Sequence[_Known]) -> KillMatrix:
    limits = Limits(time=problem.time_limit, memory=problem.memory_limit)
    checker = judge.Checker.from_json(dict(problem.checker))
    with tempfile.TemporaryDirectory(prefix="suite-") as folder, ThreadPoolExecutor(_cores()) as pool:
        stored = [_stored(Path(folder), test) for test in tests]

        def tried(one: _Known) -> TriedProgram:
            judgement = judge.grade(
                judge.Submission(one.source, one.language),
                judge.Problem(stored, limits, checker),
                judge.GradingOptions(stop_at_first_failure=False),
            )
            verdicts = tuple(result.verdict for result in judgement.tests)
            return TriedProgram(one.name, one.language, one.right, (), verdicts)

        return KillMatrix(tuple(test.name for test in tests), tuple(pool.map(tried, known)))


def _stored(folder: Path, test: GeneratedTest) -> judge.Test:
    given, answer = folder / f"{test.name}.in", folder / f"{test.name}.ans"
    given.write_bytes(test.input)
    answer.write_bytes(test.answer)
    return judge.Test(test.name, given, answer)


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def _silent(_stage: str, _steps: int) -> Callable[[], None]:
    return lambda: None
