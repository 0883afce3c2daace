"""Building a suite: tests are made and stored, known programs judged on them, and a sound suite is released."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

import judge
from benchmark.judging import checker_for, judge_tests
from benchmark.models import Judgement, Problem, Suite, SuiteTest, TestCase, blobs
from benchmark.suites.checker_probes import CheckerProbe, probe_checker
from benchmark.suites.generating import GeneratedTests, MissingTest, generate_tests
from benchmark.suites.kill_matrix import KillMatrix
from benchmark.suites.recipes import NoRecipeError, Recipe
from benchmark.suites.validation import known_programs, stored_matrix, validate
from judge import Policy

Progress = Callable[[str, int], Callable[[], None]]
"""Told a stage's name and how many steps it has; gives what is called after each step."""

PROBED = 20
"""Tests on which the checker is tried, the first of a suite."""


@dataclass(frozen=True)
class SuiteReport:
    """What is known of a suite, or of a problem's imported tests (suite None)."""

    problem: Problem
    suite: Suite | None
    matrix: KillMatrix
    probes: tuple[CheckerProbe, ...]
    left_out: tuple[str, ...]
    """Why known programs could not be judged on this machine."""

    @property
    def missing(self) -> list[MissingTest]:
        """Tests that the recipe asks for and the suite does not hold."""
        stored = self.suite.provenance.get("missing", []) if self.suite else []
        return [MissingTest.from_json(one) for one in stored]

    @property
    def notes(self) -> list[str]:
        """What a reader of the figures must know."""
        cut_off = [
            f"{one.name} was too slow so often that it was not tried on {one.not_tried} of {len(one.verdicts)} tests"
            for one in self.matrix.cut_off
        ]
        return [*self.left_out, *cut_off, *(str(one) for one in self.missing if not one.blocks_release)]

    @property
    def release_blockers(self) -> list[str]:
        """Why the suite may not be released; empty for a sound one."""
        said = [str(one) for one in self.missing if one.blocks_release]
        if not self.matrix.right:
            said.append("there is no known right program")
        if not self.matrix.wrong:
            said.append("there is no known wrong program, so nothing shows that the tests find mistakes")
        return said + self.faults

    @property
    def faults(self) -> list[str]:
        """What known programs and the checker show to be wrong with the suite."""
        said = []
        if refused := self.matrix.refused:
            said.append(f"right programs fail: {_named(refused)}")
        if survivors := self.matrix.survivors:
            said.append(f"wrong programs pass: {_named(survivors)}")
        for probe in self.probes:
            if not probe.valid:
                what = "rejects" if probe.kind == "reference" else "accepts"
                said.append(f"the checker {what} the {probe.kind} output ({probe.accepted} of {probe.total})")
        return said

    def to_json(self) -> dict[str, Any]:
        """All figures; no contents of tests."""
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
    problem: Problem, recipe: Recipe, jobs: int, overtime: int, progress: Progress
) -> SuiteReport:
    """Make the suite of this recipe, or go on with it, and release it if it is sound.

    A recipe that was carried out before gives the same suite; tests equal to those of another suite of the
    problem give that one. Raises NoRecipeError when no test remains, SuiteValidationError, and what running programs raises.
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
    problem: Problem, suite: Suite | None, jobs: int, overtime: int, progress: Progress
) -> SuiteReport:
    """The quality of a suite, or of the imported tests; programs not judged on it yet are judged.

    A suite that an oracle answered was released before anybody measured it; now it is withdrawn if known programs speak
    against it. Raises SuiteValidationError and SandboxUnavailable.
    """
    report = _report(problem, suite, validate(problem, suite, jobs, overtime, progress))
    if suite is not None and not suite.measured and report.matrix.programs:
        _conclude(suite, report, report.faults)
    return report


def stored_report(problem: Problem, suite: Suite) -> SuiteReport | None:
    """The report of a suite without running anything; None while it is not validated."""
    matrix = stored_matrix(problem, suite)
    if matrix is None:
        return None
    probes = tuple(
        CheckerProbe(one["kind"], one["accepted"], one["total"])
        for one in suite.provenance.get("checker_probes", [])
    )
    return SuiteReport(problem, suite, matrix, probes, tuple(known_programs(problem)[1]))


def _draft(problem: Problem, recipe: Recipe) -> Suite:
    """The row of this recipe, generated on first sight."""
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
    """A changed problem (its limits, its samples) needs another suite."""
    return hashlib.sha256(f"{recipe.hash} {problem.content_hash}".encode()).hexdigest()


def _make(problem: Problem, suite: Suite, recipe: Recipe, jobs: int, progress: Progress) -> Suite:
    samples = problem.tests.filter(origin=TestCase.Origin.SAMPLE)
    known = [blobs.read(sample.input_hash) for sample in samples]
    reference = recipe.reference.language
    limits = judge.Limits(time=problem.time_limit, memory=problem.memory_limit)
    applied = judge.limits_for(limits, reference, Policy.FAIR, settings.JUDGE_TIME_MULTIPLIERS)
    generated = generate_tests(recipe, judge.Limits(applied.time, limits.memory), known, jobs, progress)
    if not generated.tests:
        reasons = [f"{reason}: {number}" for reason, number in generated.dropped.items()]
        reasons += [str(one) for one in generated.missing]
        raise NoRecipeError(f"no test of {problem} remains ({', '.join(reasons)})")
    return _store(suite, generated)


@transaction.atomic
def _store(suite: Suite, generated: GeneratedTests) -> Suite:
    """Write the tests; or, where another suite of the problem holds and lacks exactly these, give that one."""
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
    """The version of what interprets Checktestdata grammars, where one checked the inputs."""
    used = any(one["language"] == judge.CHECKTESTDATA for one in validators)
    return {judge.CHECKTESTDATA: judge.checktestdata_version()} if used else {}


def _report(problem: Problem, suite: Suite | None, matrix: KillMatrix) -> SuiteReport:
    tests = judge_tests(problem, Judgement.Suite.ALL, suite)[:PROBED]
    limits = judge.Limits(time=problem.time_limit, memory=problem.memory_limit)
    probes = probe_checker(checker_for(problem, Policy.FAIR), tests, limits)
    return SuiteReport(problem, suite, matrix, tuple(probes), tuple(known_programs(problem)[1]))


def _conclude(suite: Suite, report: SuiteReport, against: Sequence[str]) -> None:
    """Write the figures of the validation, and release the suite when nothing speaks against it."""
    matrix = report.matrix
    suite.right_total, suite.wrong_total = len(matrix.right), len(matrix.wrong)
    suite.right_accepted = len(matrix.right) - len(matrix.refused)
    suite.wrong_rejected = len(matrix.wrong) - len(matrix.survivors)
    suite.provenance |= {"checker_probes": [probe.to_json() for probe in report.probes]}
    suite.note = "; ".join([*report.release_blockers, *report.left_out])
    suite.released_at = None if against else suite.released_at or timezone.now()
    suite.save()
