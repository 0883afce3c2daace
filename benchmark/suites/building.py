"""Building of suites: generate and store tests, judge known programs, and release valid suites."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

import judge
from benchmark.judging import applied_factor, checker_for, judge_tests, scope_of_tests
from benchmark.models import Judgement, Problem, Suite, SuiteTest, TestCase, blobs
from benchmark.suites.checker_probes import CheckerProbe, probe_checker
from benchmark.suites.generating import GeneratedTests, MissingTest, generate_tests
from benchmark.suites.kill_matrix import KillMatrix
from benchmark.suites.recipes import NoRecipeError, Recipe
from benchmark.suites.validation import known_programs, stored_matrix, validate
from judge import Policy

StageProgress = Callable[[str, int], Callable[[], None]]
"""A callback with a stage's name and number of steps; it returns a callback for each finished step."""

PROBED = 20
"""Number of tests on which the checker is probed, the first ones of a suite."""


@dataclass(frozen=True)
class SuiteReport:
    """The quality of a suite, or of a problem's imported tests (suite None)."""

    problem: Problem
    suite: Suite | None
    matrix: KillMatrix
    probes: tuple[CheckerProbe, ...]
    unjudged: tuple[str, ...]
    """The reasons why known programs cannot be judged on this machine."""

    @property
    def missing(self) -> list[MissingTest]:
        """The tests of the recipe that the suite does not contain."""
        stored = self.suite.provenance.get("missing", []) if self.suite else []
        return [MissingTest.from_json(one) for one in stored]

    @property
    def notes(self) -> list[str]:
        """The limitations of the figures."""
        cut_off = [
            f"{one.name} exceeded its time limit too often: not run on {one.not_tried} of {len(one.verdicts)} tests"
            for one in self.matrix.cut_off
        ]
        return [*self.unjudged, *cut_off, *(str(one) for one in self.missing if not one.blocks_release)]

    @property
    def release_blockers(self) -> list[str]:
        """The reasons why the suite may not be released; empty for a valid suite."""
        blockers = [str(one) for one in self.missing if one.blocks_release]
        if not self.matrix.right:
            blockers.append("there is no known right program")
        if not self.matrix.wrong:
            blockers.append(
                "there is no known wrong program, so it is unknown whether the tests find mistakes"
            )
        return blockers + self.faults

    @property
    def faults(self) -> list[str]:
        """The faults of the suite that known programs and the checker show."""
        faults = []
        if refused := self.matrix.refused:
            faults.append(f"right programs fail: {_named(refused)}")
        if survivors := self.matrix.survivors:
            faults.append(f"wrong programs pass: {_named(survivors)}")
        for probe in self.probes:
            if not probe.valid:
                what = "rejects" if probe.kind == "reference" else "accepts"
                faults.append(
                    f"the checker {what} the {probe.kind} output ({probe.accepted} of {probe.total})"
                )
        return faults

    def to_json(self) -> dict[str, Any]:
        """Return all figures, without contents of tests."""
        suite = self.suite
        return {
            "problem": str(self.problem),
            "suite": suite.version if suite else None,
            "released": bool(suite and suite.released_at),
            "content_hash": suite.content_hash if suite else None,
            "complaints": self.release_blockers,
            "notes": self.notes,
            "dropped": suite.provenance.get("dropped", {}) if suite else {},
            "missing": [one.to_json() for one in self.missing],
            "checker_probes": [probe.to_json() for probe in self.probes],
            **self.matrix.to_json(),
        }


def _named(programs: Any) -> str:
    return ", ".join(f"{program.name} ({program.verdict.value})" for program in programs)


def build_suite(
    problem: Problem, recipe: Recipe, jobs: int, overtime: int, progress: StageProgress
) -> SuiteReport:
    """Build or continue the suite of this recipe, and release it if it is valid.

    A recipe that was built before returns the same suite, and so does one whose tests equal those of another suite of
    the problem. Raises NoRecipeError if no test remains, SuiteValidationError, and the errors of running programs.
    """
    suite = _draft(problem, recipe)
    if not suite.content_hash:
        suite = _make(problem, suite, recipe, jobs, progress)
    matrix = validate(problem, suite, jobs, overtime, progress)
    report = _report(problem, suite, matrix)
    if suite.released_at is None:
        _conclude(suite, report, report.release_blockers)
    return report


def suite_report(
    problem: Problem, suite: Suite | None, jobs: int, overtime: int, progress: StageProgress
) -> SuiteReport:
    """Return the quality of a suite or of the imported tests; judge the programs that are not judged yet.

    A suite that an oracle answered is released before known programs measure it; this function unpublishes it if they
    show faults. Raises SuiteValidationError and SandboxUnavailableError.
    """
    report = _report(problem, suite, validate(problem, suite, jobs, overtime, progress))
    if suite is not None and not suite.measured and report.matrix.programs:
        _conclude(suite, report, report.faults)
    return report


def stored_report(problem: Problem, suite: Suite) -> SuiteReport | None:
    """Return the report of a suite without running anything; None before its validation."""
    matrix = stored_matrix(problem, suite)
    if matrix is None:
        return None
    probes = tuple(
        CheckerProbe(one["kind"], one["accepted"], one["total"])
        for one in suite.provenance.get("checker_probes", [])
    )
    return SuiteReport(problem, suite, matrix, probes, tuple(known_programs(problem)[1]))


def _draft(problem: Problem, recipe: Recipe) -> Suite:
    """Return the row of this recipe, created if necessary."""
    with transaction.atomic():
        latest = problem.suites.order_by("-version").first()
        suite, _ = Suite.objects.get_or_create(
            problem=problem,
            recipe_hash=_recipe_hash(problem, recipe),
            defaults={
                "version": latest.version + 1 if latest else 1,
                "provenance": {"recipe": recipe.to_json(), "problem_hash": problem.content_hash},
            },
        )
    return suite


def _recipe_hash(problem: Problem, recipe: Recipe) -> str:
    """Return the hash of recipe and problem: a changed problem (limits, samples) needs another suite."""
    return hashlib.sha256(f"{recipe.hash} {problem.content_hash}".encode()).hexdigest()


def _make(problem: Problem, suite: Suite, recipe: Recipe, jobs: int, progress: StageProgress) -> Suite:
    samples = problem.tests.filter(origin=TestCase.Origin.SAMPLE)
    known = [blobs.read(sample.input_hash) for sample in samples]
    reference = recipe.reference.language
    limits = judge.Limits(time=problem.time_limit, memory=problem.memory_limit)
    factor = applied_factor(problem.dataset, Policy.FAIR, scope_of_tests(problem, suite)).factor
    applied = judge.limits_for(limits, reference, Policy.FAIR, settings.JUDGE_TIME_MULTIPLIERS, factor)
    generated = generate_tests(recipe, judge.Limits(applied.time, limits.memory), known, jobs, progress)
    if not generated.tests:
        reasons = [f"{reason}: {number}" for reason, number in generated.dropped.items()]
        reasons += [str(one) for one in generated.missing]
        raise NoRecipeError(f"no test of {problem} remains ({', '.join(reasons)})")
    return _store(suite, generated)


@transaction.atomic
def _store(suite: Suite, generated: GeneratedTests) -> Suite:
    """Store the tests, or return the problem's suite that already has the same tests and the same missing tests."""
    tests = [
        SuiteTest(
            suite=suite,
            order=order,
            name=test.name,
            origin=test.origin,
            group=test.group,
            input_hash=blobs.put(test.input),
            answer_hash=blobs.put(test.answer),
        )
        for order, test in enumerate(generated.tests)
    ]
    hashes = "".join(f"{test.input_hash} {test.answer_hash}\n" for test in tests)
    content_hash = hashlib.sha256(hashes.encode()).hexdigest()
    missing = [one.to_json() for one in generated.missing]
    others = Suite.objects.filter(problem=suite.problem, content_hash=content_hash)
    same = next((other for other in others if other.provenance.get("missing", []) == missing), None)
    if same is not None:
        suite.delete()
        return same
    SuiteTest.objects.bulk_create(tests)
    suite.content_hash = content_hash
    suite.provenance |= {
        "dropped": dict(generated.dropped),
        "missing": missing,
        "judge_version": judge.JUDGE_VERSION,
        **_interpreter(suite.provenance["recipe"]["validators"]),
        "compiler": judge.compiler_version(suite.provenance["recipe"]["reference"]["language"]),
    }
    suite.save()
    return suite


def _interpreter(validators: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the version of the Checktestdata interpreter, if a grammar validated the inputs."""
    used = any(one["language"] == judge.CHECKTESTDATA for one in validators)
    return {judge.CHECKTESTDATA: judge.checktestdata_version()} if used else {}


def _report(problem: Problem, suite: Suite | None, matrix: KillMatrix) -> SuiteReport:
    tests = judge_tests(problem, Judgement.TestScope.ALL, suite)[:PROBED]
    limits = judge.Limits(time=problem.time_limit, memory=problem.memory_limit)
    probes = probe_checker(checker_for(problem, Policy.FAIR), tests, limits)
    return SuiteReport(problem, suite, matrix, tuple(probes), tuple(known_programs(problem)[1]))


def _conclude(suite: Suite, report: SuiteReport, faults: Sequence[str]) -> None:
    """Write the figures of the validation; release the suite if there are no `faults`, else unpublish it."""
    matrix = report.matrix
    suite.right_total, suite.wrong_total = len(matrix.right), len(matrix.wrong)
    suite.right_accepted = len(matrix.right) - len(matrix.refused)
    suite.wrong_rejected = len(matrix.wrong) - len(matrix.survivors)
    suite.provenance |= {"checker_probes": [probe.to_json() for probe in report.probes]}
    suite.note = "; ".join([*report.release_blockers, *report.unjudged])
    suite.released_at = None if faults else suite.released_at or timezone.now()
    suite.save()
