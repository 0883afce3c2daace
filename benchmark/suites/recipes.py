"""What a suite is made from: generators and how often each is called, validators, and a reference program."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from benchmark.datasets.records import TestKind
from benchmark.judging import program_files
from benchmark.models import PackageProgram, Problem, ReferenceSolution

COUNTS: Mapping[TestKind, int] = {"random": 20, "corner": 10, "stress": 5}
"""Tests of each kind that are asked for; fewer remain when some are equal, invalid or unanswered."""

_FASTEST = ("cpp", "cpp17", "cpp23", "c", "java", "kotlin", "pypy", "python")


class NoRecipe(Exception):
    """No suite can be made for the problem; the message says what is missing and what to do."""


@dataclass(frozen=True)
class SuiteProgram:
    """A program that makes, checks or answers inputs."""

    name: str
    language: str
    files: Mapping[str, str]


@dataclass(frozen=True)
class Generator:
    """A program and its calls: the kind of test each makes, and the arguments, `{seed}` standing for a number."""

    program: SuiteProgram
    calls: tuple[tuple[TestKind, str], ...]


@dataclass(frozen=True)
class Recipe:
    """Everything the tests depend on, so that the same recipe always gives the same tests."""

    generators: tuple[Generator, ...]
    validators: tuple[SuiteProgram, ...]
    reference: SuiteProgram
    seed: int
    counts: Mapping[TestKind, int]

    @property
    def hash(self) -> str:
        """sha256 of all of it."""
        canonical = json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()

    def to_json(self) -> dict[str, object]:
        """All of it, as a suite's provenance keeps it."""
        return asdict(self)


def package_recipe(problem: Problem, *, seed: int, counts: Mapping[TestKind, int]) -> Recipe:
    """The recipe of the programs that came with the problem. Raises NoRecipe."""
    programs = list(problem.package_programs.filter(author=""))
    return recipe_of(problem, programs, seed=seed, counts=counts)


def recipe_of(
    problem: Problem, programs: Sequence[PackageProgram], *, seed: int, counts: Mapping[TestKind, int]
) -> Recipe:
    """The recipe of the generators and validators among these programs.

    Raises NoRecipe without a reference solution or a generator.
    """
    reference = reference_of(problem)
    generators = tuple(
        Generator(_suite_program(one), tuple((kind, arguments) for kind, arguments in one.commands))
        for one in programs
        if one.role == PackageProgram.Role.GENERATOR
    )
    if not generators:
        raise NoRecipe(
            f"{problem} came without generators that can be called (generators/generators.yaml says how). "
            "Let a model write some: --model PROVIDER:MODEL"
        )
    validators = [one for one in programs if one.role == PackageProgram.Role.INPUT_VALIDATOR]
    return Recipe(generators, tuple(map(_suite_program, validators)), reference, seed, counts)


def reference_of(problem: Problem) -> SuiteProgram:
    """The reference solution in the fastest language. Raises NoRecipe when there is none."""
    chosen = fastest_reference(problem)
    if chosen is None:
        raise NoRecipe(f"{problem} has no reference solution that could answer the inputs")
    source = program_files(problem, chosen.source, chosen.language)
    return SuiteProgram(chosen.name, chosen.language, {"": source} if isinstance(source, str) else source)


def fastest_reference(problem: Problem) -> ReferenceSolution | None:
    """The reference solution in the fastest language, the first of equals."""
    references = [one for one in problem.references.all() if one.language in _FASTEST]
    return min(references, key=lambda one: (_FASTEST.index(one.language), one.order), default=None)


def _suite_program(one: PackageProgram) -> SuiteProgram:
    return SuiteProgram(one.name, one.language, one.files)
