"""Inputs from generators, valid and without repetition, and their answers from the reference."""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import chain, count, islice

import judge
from benchmark.datasets.records import TestKind
from benchmark.models import SuiteTest
from benchmark.suites.recipes import Generator, Recipe
from benchmark.suites.running import Call, run_on_all

GENERATOR_LIMITS = judge.Limits(time=10.0, memory=2**30)
"""What one run of a generator or a validator may use."""

VALID = 42

_SEED = re.compile(r"\{seed(?::([^}]*))?\}")
_ORIGINS: dict[TestKind, SuiteTest.Origin] = {
    "random": SuiteTest.Origin.RANDOM,
    "corner": SuiteTest.Origin.CORNER,
    "stress": SuiteTest.Origin.STRESS,
}


@dataclass(frozen=True)
class MadeTest:
    """A test that a generator and the reference made."""

    name: str
    origin: SuiteTest.Origin
    group: str
    input: bytes
    answer: bytes = b""


@dataclass
class Made:
    """The tests, and how many inputs were dropped for which reason."""

    tests: list[MadeTest] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class _Call:
    generator: Generator
    kind: TestKind
    arguments: tuple[str, ...]


def make_tests(
    recipe: Recipe,
    limits: judge.Limits,
    known_inputs: Collection[bytes],
    jobs: int,
    on_stage: Callable[[str, int], Callable[[], None]],
) -> Made:
    """The tests that the recipe gives, in a fixed order; none repeats another or one of `known_inputs`.

    `limits` are those of the reference. `on_stage` is told a stage's name and its runs, and gives what is called
    after each. Raises what `run_on_all` raises, with the program's name before it.
    """
    made = Made()
    with ThreadPoolExecutor(jobs) as pool:
        made.tests = _inputs(recipe, known_inputs, made.dropped, pool, jobs, on_stage)
        _drop_invalid(recipe, known_inputs, made, pool, jobs, on_stage)
        on_done = on_stage("answers", len(made.tests))
        calls = [(test.input, ()) for test in made.tests]
        answered = run_on_all(recipe.reference, calls, limits, pool, jobs, on_done)
    kept = []
    for test, execution in zip(made.tests, answered, strict=True):
        if execution.fault is None:
            kept.append(MadeTest(test.name, test.origin, test.group, test.input, execution.output))
        else:
            made.dropped[f"the reference gets {execution.fault.value}"] += 1
    made.tests = kept
    return made


def _inputs(
    recipe: Recipe,
    known_inputs: Collection[bytes],
    dropped: Counter[str],
    pool: ThreadPoolExecutor,
    jobs: int,
    on_stage: Callable[[str, int], Callable[[], None]],
) -> list[MadeTest]:
    calls = [call for kind in recipe.counts for call in _calls(recipe, kind)]
    on_done = on_stage("inputs", len(calls))
    results: dict[int, judge.Execution] = {}
    for generator in recipe.generators:
        places = [place for place, call in enumerate(calls) if call.generator is generator]
        runs = [(b"", calls[place].arguments) for place in places]
        try:
            executions = run_on_all(generator.program, runs, GENERATOR_LIMITS, pool, jobs, on_done)
        except judge.CannotCompile:
            dropped[f"{generator.program.name} does not compile"] += len(runs)
        else:
            results |= dict(zip(places, executions, strict=True))
    tests: list[MadeTest] = []
    seen = {hashlib.sha256(given).digest() for given in known_inputs}
    numbers: Counter[TestKind] = Counter()
    for place, execution in sorted(results.items()):
        call = calls[place]
        digest = hashlib.sha256(execution.output).digest()
        if execution.fault is not None:
            dropped[f"{call.generator.program.name} gets {execution.fault.value}"] += 1
        elif not execution.output.strip():
            dropped[f"{call.generator.program.name} prints nothing"] += 1
        elif digest in seen:
            dropped["equal to another input"] += 1
        else:
            seen.add(digest)
            numbers[call.kind] += 1
            group = " ".join((call.generator.program.name, *call.arguments))[:200]
            name = f"{call.kind}-{numbers[call.kind]:03}"
            tests.append(MadeTest(name, _ORIGINS[call.kind], group, execution.output))
    return tests


def _drop_invalid(
    recipe: Recipe,
    known_inputs: Collection[bytes],
    made: Made,
    pool: ThreadPoolExecutor,
    jobs: int,
    on_stage: Callable[[str, int], Callable[[], None]],
) -> None:
    """A validator that refuses a known input, or does not compile, is wrong itself and decides nothing."""
    for validator in recipe.validators:
        on_done = on_stage("validation", len(known_inputs) + len(made.tests))
        calls: list[Call] = [(given, ()) for given in (*known_inputs, *(test.input for test in made.tests))]
        try:
            said = run_on_all(validator, calls, GENERATOR_LIMITS, pool, jobs, on_done)
        except judge.CannotCompile:
            made.dropped[f"{validator.name} does not compile and is not used"] += 1
            continue
        valid = [execution.exit_status == VALID for execution in said]
        if not all(valid[: len(known_inputs)]):
            made.dropped[f"{validator.name} refuses a sample and is not used"] += 1
            continue
        valid = valid[len(known_inputs) :]
        made.dropped[f"{validator.name} refuses it"] += valid.count(False)
        made.tests = [test for test, good in zip(made.tests, valid, strict=True) if good]


def _calls(recipe: Recipe, kind: TestKind) -> list[_Call]:
    """As many calls of this kind as the recipe wants: each command in turn, those without a seed once."""
    commands = [
        (generator, arguments)
        for generator in recipe.generators
        for own, arguments in generator.calls
        if own == kind
    ]
    repeated = [command for command in commands if _SEED.search(command[1])]
    once = [(0, command) for command in commands]
    again = ((number, command) for number in count(1) for command in repeated) if repeated else iter(())
    return [
        _Call(generator, kind, _filled(arguments, recipe.seed, number))
        for number, (generator, arguments) in islice(chain(once, again), recipe.counts[kind])
    ]


def _filled(arguments: str, seed: int, number: int) -> tuple[str, ...]:
    """The arguments with a seed of 31 bits that depends on the recipe's, the call's salt and its number."""

    def replaced(match: re.Match[str]) -> str:
        digest = hashlib.sha256(f"{seed} {match[1] or ''} {number} {arguments}".encode()).digest()
        return str(int.from_bytes(digest[:4], "big") >> 1)

    return tuple(_SEED.sub(replaced, arguments).split())
