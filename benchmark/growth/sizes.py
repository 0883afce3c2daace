"""Size arguments of generators: declared by the package, written by a model, or found in listed commands."""

import hashlib
import json
import re
import shlex
from dataclasses import asdict, dataclass

from benchmark.models import PackageProgram, Problem, SizedGenerator
from benchmark.suites.recipes import SuiteProgram

FIRST_SIZE = 16
"""The smallest size of a series."""

_LEAST_FOUND = 64
"""The least number in a listed command that may be a size."""

_MOST_FOUND = 4
"""Numbers of listed commands that are tried as sizes, the largest first."""

_NUMBER = re.compile(r"(?P<before>^|[ =])(?P<number>[1-9][0-9]*)(?=$| )")
_SEED = re.compile(r"\{seed(?::[^}]*)?\}")


class NoSizesError(Exception):
    """A problem without a generator that takes a size. The message says what to do."""


@dataclass(frozen=True)
class SizeParameter:
    """An argument of a generator that states the size: its name, the command with `{size}`, and the largest size."""

    name: str
    program: SuiteProgram
    arguments: str
    largest: int
    tried: bool = False
    """Whether the argument is only a number of a listed command, which may have another meaning."""

    def command(self, size: int, number: int = 0) -> tuple[str, ...]:
        """Return the arguments for an input of this size: equal sizes and numbers have equal seeds."""
        seed = (
            int.from_bytes(hashlib.sha256(f"{self.name} {size} {number}".encode()).digest()[:4], "big") >> 1
        )
        filled = _SEED.sub(str(seed), self.arguments.replace("{size}", str(size)))
        return tuple(shlex.split(filled))


@dataclass(frozen=True)
class GrowthRecipe:
    """All data that determine the inputs of a measurement."""

    parameters: tuple[SizeParameter, ...]
    validators: tuple[SuiteProgram, ...]
    problem_hash: str

    @property
    def hash(self) -> str:
        """The sha256 of the JSON document."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()


def growth_recipe(problem: Problem) -> GrowthRecipe:
    """Return the inputs of a problem by size. Raises NoSizesError without a generator that takes a size."""
    parameters = _declared(problem) or _found(problem)
    if not parameters:
        raise NoSizesError(
            f"{problem} has no generator with a size argument, so no growth can be measured. Let a model write one: "
            f"manage.py build_suite {problem.dataset.name}/{problem.external_id} --model PROVIDER:MODEL --sizes"
        )
    validators = problem.package_programs.filter(role=PackageProgram.Role.INPUT_VALIDATOR)
    own = validators.filter(author="") or validators
    return GrowthRecipe(tuple(parameters), tuple(map(_suite_program, own)), problem.content_hash)


def has_sizes(problem: Problem) -> bool:
    """Return whether the growth of the problem's programs can be measured."""
    try:
        growth_recipe(problem)
    except NoSizesError:
        return False
    return True


def _declared(problem: Problem) -> list[SizeParameter]:
    """Return the size arguments that the package states, or those of the newest program that a model wrote."""
    rows = list(problem.sized_generators.all())
    own = [row for row in rows if not row.author]
    return [_parameter(row) for row in own or rows[-1:] if row.files]


def _parameter(row: SizedGenerator) -> SizeParameter:
    return SizeParameter(
        row.parameter, SuiteProgram(row.name, row.language, row.files), row.arguments, row.largest
    )


def _found(problem: Problem) -> list[SizeParameter]:
    """Return numbers of listed commands that may be sizes: for each position in a command, the largest number."""
    generators = {
        one.name: _suite_program(one)
        for one in problem.package_programs.filter(role=PackageProgram.Role.GENERATOR, author="")
    }
    found: dict[tuple[str, int], SizeParameter] = {}
    for test in problem.listed_tests.exclude(generator=""):
        for place, match in enumerate(_NUMBER.finditer(test.arguments)):
            number = int(match["number"])
            if number < _LEAST_FOUND or test.generator not in generators:
                continue
            arguments = (
                f"{test.arguments[: match.start('number')]}{{size}}{test.arguments[match.end('number') :]}"
            )
            key = (test.generator, place)
            if key not in found or found[key].largest < number:
                name = f"argument {place + 1} of {test.generator}"
                found[key] = SizeParameter(name, generators[test.generator], arguments, number, tried=True)
    return sorted(found.values(), key=lambda one: -one.largest)[:_MOST_FOUND]


def _suite_program(one: PackageProgram) -> SuiteProgram:
    return SuiteProgram(one.name, one.language, one.files)
