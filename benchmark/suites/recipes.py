"""Recipes of suites: generators and their numbers of calls, validators, and a reference solution."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import judge
from benchmark.judging import program_files
from benchmark.models import ListedTest, PackageProgram, Problem, ReferenceSolution, TestCase

if TYPE_CHECKING:
    from benchmark.datasets.records import TestKind

COUNTS: Mapping[TestKind, int] = {"random": 20, "corner": 10, "stress": 5}
"""Requested tests of each kind. The suite has fewer if some are duplicate, invalid or unanswered."""


class NoRecipeError(Exception):
    """A problem for which no suite can be built. The message states what is missing and what to do."""


@dataclass(frozen=True)
class SuiteProgram:
    """A program that generates, validates or answers inputs."""

    name: str
    language: str
    files: Mapping[str, str]


@dataclass(frozen=True)
class Generator:
    """A program and its calls: the kind of test, and the arguments with `{seed}` for a number."""

    program: SuiteProgram
    calls: tuple[tuple[TestKind, str], ...]


@dataclass(frozen=True)
class FixedTest:
    """A test that the package lists by name: a stored input, or one call of a generator.

    `input` and `answer` are hashes of blobs. Without an answer, the program named `solution` computes it, or the
    reference if the recipe does not contain that program. The seed is a hash of `salt` and `command`.
    """

    name: str
    kind: str = ""
    generator: str = ""
    arguments: str = ""
    salt: str = ""
    solution: str = ""
    input: str = ""
    answer: str = ""

    @property
    def command(self) -> str:
        """The generator with its arguments; empty for a stored input."""
        return f"{self.generator} {self.arguments}".strip()


@dataclass(frozen=True)
class Recipe:
    """All data that determine the tests: equal recipes generate equal tests.

    `tests` are always generated, followed by drawn tests up to `counts`. `faults` are name and reason of listed tests
    that cannot be generated.
    """

    generators: tuple[Generator, ...]
    validators: tuple[SuiteProgram, ...]
    reference: SuiteProgram
    seed: int
    counts: Mapping[TestKind, int]
    tests: tuple[FixedTest, ...] = ()
    solutions: tuple[SuiteProgram, ...] = ()
    faults: tuple[tuple[str, str], ...] = ()

    @property
    def hash(self) -> str:
        """The SHA-256 of the JSON document."""
        canonical = json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()

    def to_json(self) -> dict[str, object]:
        """Return the document that a suite's provenance stores; empty fields of listed tests are omitted."""
        content = asdict(self)
        return {name: content[name] for name in content if content[name] or name not in _OF_LISTED_TESTS}


_OF_LISTED_TESTS = ("tests", "solutions", "faults")


def package_recipe(problem: Problem, *, seed: int, counts: Mapping[TestKind, int]) -> Recipe:
    """Return the recipe of the package: its programs, listed tests and hidden tests. Raises NoRecipeError."""
    programs = list(problem.package_programs.filter(author=""))
    listed = list(problem.listed_tests.all())
    called = any(one.role == PackageProgram.Role.GENERATOR for one in programs)
    if called and not listed:
        raise NoRecipeError(
            f"{problem} has no stored tests of generators.yaml (an old import): import its package again"
        )
    if not listed:
        return recipe_of(problem, programs, seed=seed, counts=counts)
    return replace(
        _recipe(problem, programs, seed=seed, counts=counts),
        tests=(*_listed_tests(problem, listed), *_unlisted_tests(problem, listed)),
        solutions=_solutions(problem, {one.solution for one in listed}),
        faults=tuple((one.name, one.fault) for one in listed if one.fault),
    )


def _listed_tests(problem: Problem, listed: Sequence[ListedTest]) -> Iterator[FixedTest]:
    """Yield the tests that can be generated. Listed samples are omitted if data/sample exists: it is judged first."""
    samples = problem.tests.filter(origin=TestCase.Origin.SAMPLE).exists()
    for one in listed:
        if not one.fault and not (samples and one.name.startswith("sample/")):
            arguments = (one.kind, one.generator, one.arguments, one.salt, one.solution)
            yield FixedTest(one.name, *arguments, one.input_hash, one.answer_hash)


def _unlisted_tests(problem: Problem, listed: Sequence[ListedTest]) -> Iterator[FixedTest]:
    """Yield tests of data/secret that generators.yaml does not list: the suite replaces and must contain them."""
    names = {one.name for one in listed}
    for test in problem.tests.filter(origin=TestCase.Origin.HIDDEN).exclude(name__in=names):
        yield FixedTest(test.name, input=test.input_hash, answer=test.answer_hash)


def _solutions(problem: Problem, names: Collection[str]) -> tuple[SuiteProgram, ...]:
    """Return the reference solutions of these names in supported languages."""
    chosen = problem.references.filter(name__in=names, language__in=list(judge.LANGUAGES))
    return tuple(_reference_program(problem, one) for one in chosen)


def recipe_of(
    problem: Problem, programs: Sequence[PackageProgram], *, seed: int, counts: Mapping[TestKind, int]
) -> Recipe:
    """Return the recipe of the generators and validators among these programs, without listed tests.

    Raises NoRecipeError without a reference solution or a generator.
    """
    recipe = _recipe(problem, programs, seed=seed, counts=counts)
    if not recipe.generators:
        raise NoRecipeError(
            f"{problem} has no generator that generators/generators.yaml calls. "
            "Generate some with a model: --model PROVIDER:MODEL"
        )
    return recipe


def _recipe(
    problem: Problem, programs: Sequence[PackageProgram], *, seed: int, counts: Mapping[TestKind, int]
) -> Recipe:
    reference = reference_of(problem)
    generators = tuple(
        Generator(_suite_program(one), tuple((kind, arguments) for kind, arguments in one.commands))
        for one in programs
        if one.role == PackageProgram.Role.GENERATOR
    )
    validators = [one for one in programs if one.role == PackageProgram.Role.INPUT_VALIDATOR]
    return Recipe(generators, tuple(map(_suite_program, validators)), reference, seed, counts)


def reference_of(problem: Problem) -> SuiteProgram:
    """Return the reference solution in the fastest language. Raises NoRecipeError without one."""
    chosen = fastest_reference(problem)
    if chosen is None:
        raise NoRecipeError(f"{problem} has no reference solution to answer the inputs")
    return _reference_program(problem, chosen)


def _reference_program(problem: Problem, chosen: ReferenceSolution) -> SuiteProgram:
    source = program_files(problem, chosen.source, chosen.language)
    return SuiteProgram(chosen.name, chosen.language, {"": source} if isinstance(source, str) else source)


def fastest_reference(problem: Problem) -> ReferenceSolution | None:
    """Return the reference solution in the fastest language, the first one if equal; None without one."""
    references = [one for one in problem.references.all() if one.language in judge.LANGUAGES]
    return min(
        references, key=lambda one: (judge.LANGUAGES[one.language].speed_rank, one.order), default=None
    )


def _suite_program(one: PackageProgram) -> SuiteProgram:
    return SuiteProgram(one.name, one.language, one.files)
