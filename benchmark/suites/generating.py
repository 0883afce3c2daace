"""Inputs from generators and packages, valid and without repetition, and their answers from the references."""

import hashlib
import re
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import chain, count, islice
from typing import Any

import judge
from benchmark.datasets.records import TestKind
from benchmark.models import SuiteTest, blobs
from benchmark.suites.recipes import FixedTest, Generator, Recipe, SuiteProgram
from benchmark.suites.running import ProgramInput, run_on_all

GENERATOR_LIMITS = judge.Limits(time=10.0, memory=2**30)
"""What one run of a generator or a validator may use."""

VALID, INVALID = 42, 43

INPUT_FILE, ANSWER_FILE = "testcase.in", "testcase.ans"
"""Files in which a generator may leave a test instead of printing its input (BAPCtools)."""

FIRST_SEED = 1
"""With it, listed commands get the seeds that BAPCtools gives them."""

_SEED = re.compile(r"\{seed(?::([^}]*))?\}")
_LINES_SHOWN, _SHOWN = 3, 300
_ORIGINS: dict[str, SuiteTest.Origin] = {
    "random": SuiteTest.Origin.RANDOM,
    "corner": SuiteTest.Origin.CORNER,
    "stress": SuiteTest.Origin.STRESS,
    "": SuiteTest.Origin.HANDWRITTEN,
}

OnStage = Callable[[str, int], Callable[[], None]]
"""Told a stage's name and its runs; gives what is called after each."""


@dataclass(frozen=True)
class GeneratedTest:
    """A test that the recipe gives. `command` is empty for a test written by hand; `answered`: it has its answer."""

    name: str
    origin: SuiteTest.Origin
    group: str
    input: bytes
    answer: bytes = b""
    command: str = ""
    solution: str = ""
    listed: bool = False
    answered: bool = False


@dataclass(frozen=True)
class MissingTest:
    """A test that the recipe asks for and the suite does not hold. `blocks_release`: it may not be released without it."""

    test: str
    command: str
    reason: str
    blocks_release: bool

    def __str__(self) -> str:
        command = f" ({self.command})" if self.command else ""
        return f"{self.test}{command} is missing: {self.reason}"

    def to_json(self) -> dict[str, Any]:
        """Return the entry that `--json` prints and a suite's provenance stores."""
        return {
            "test": self.test,
            "command": self.command,
            "reason": self.reason,
            "withholds": self.blocks_release,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> "MissingTest":
        """Return the entry that `to_json` stored."""
        return cls(document["test"], document["command"], document["reason"], document["withholds"])


@dataclass
class GeneratedTests:
    """The tests, how many inputs were dropped for which reason, and which tests are missing."""

    tests: list[GeneratedTest] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    missing: list[MissingTest] = field(default_factory=list)

    def add_missing(self, test: GeneratedTest, reason: str, *, blocks_release: bool | None = None) -> None:
        """Note that a test cannot be had. A listed one blocks_release the release unless this says otherwise."""
        blocks = test.listed if blocks_release is None else blocks_release
        self.missing.append(MissingTest(test.name, test.command, reason, blocks))


@dataclass(frozen=True)
class _PlannedTest:
    """A test before it is made: its input, or the generator's call that makes it."""

    test: GeneratedTest
    generator: Generator | None = None
    arguments: tuple[str, ...] = ()


def generate_tests(
    recipe: Recipe,
    limits: judge.Limits,
    known_inputs: Collection[bytes],
    jobs: int,
    on_stage: OnStage,
) -> GeneratedTests:
    """Return the tests that the recipe gives, in a fixed order; none repeats another or one of `known_inputs`.

    `limits` are those of the solutions that answer. Raises what `run_on_all` raises, with the program's name before it.
    """
    generated = GeneratedTests(
        missing=[MissingTest(name, "", reason, blocks_release=True) for name, reason in recipe.faults]
    )
    with ThreadPoolExecutor(jobs) as pool:
        generated.tests = _inputs(recipe, known_inputs, generated, pool, jobs, on_stage)
        _drop_invalid(recipe, known_inputs, generated, pool, jobs, on_stage)
        _answer(recipe, limits, generated, pool, jobs, on_stage)
    return generated


def _inputs(
    recipe: Recipe,
    known_inputs: Collection[bytes],
    generated: GeneratedTests,
    pool: ThreadPoolExecutor,
    jobs: int,
    on_stage: OnStage,
) -> list[GeneratedTest]:
    planned = [*_listed(recipe), *chain.from_iterable(_drawn(recipe, kind) for kind in recipe.counts)]
    on_done = on_stage("inputs", sum(one.generator is not None for one in planned))
    executions: dict[int, judge.Execution] = {}
    for generator in recipe.generators:
        indices = [index for index, one in enumerate(planned) if one.generator is generator]
        runs = [(b"", planned[index].arguments) for index in indices]
        try:
            results = run_on_all(
                generator.program, runs, GENERATOR_LIMITS, pool, jobs, on_done, (INPUT_FILE, ANSWER_FILE)
            )
        except judge.CannotCompile as error:
            generated.dropped[f"{generator.program.name} does not compile"] += len(runs)
            for index in indices:
                generated.add_missing(
                    planned[index].test, f"{generator.program.name} does not compile: {_start(error)}"
                )
        else:
            executions |= dict(zip(indices, results, strict=True))
    candidates = []
    for index, one in enumerate(planned):
        if one.generator is None:
            candidates.append(one.test)
        elif index in executions and (test := _generated(one, executions[index], generated)) is not None:
            candidates.append(test)
    return _numbered(_different(candidates, known_inputs, generated))


def _generated(
    one: _PlannedTest, execution: judge.Execution, generated: GeneratedTests
) -> GeneratedTest | None:
    """The test with the generator's input, which a file may hold instead of the output; None where there is none."""
    assert one.generator is not None
    name = one.generator.program.name
    given = execution.files.get(INPUT_FILE, execution.output)
    if execution.fault is not None:
        generated.dropped[f"{name} gets {execution.fault.value}"] += 1
        generated.add_missing(one.test, _why(execution))
        return None
    if not given.strip():
        generated.dropped[f"{name} prints nothing"] += 1
        generated.add_missing(one.test, f"{name} prints nothing. {_start(execution.errors)}".strip())
        return None
    answer = execution.files.get(ANSWER_FILE)
    if answer is None or one.test.answered:
        return replace(one.test, input=given)
    return replace(one.test, input=given, answer=answer, answered=True)


def _different(
    candidates: Iterable[GeneratedTest], known_inputs: Collection[bytes], generated: GeneratedTests
) -> list[GeneratedTest]:
    """The tests whose input no earlier one and no known input has."""
    seen, kept = {hashlib.sha256(given).digest() for given in known_inputs}, []
    for test in candidates:
        digest = hashlib.sha256(test.input).digest()
        if digest in seen:
            generated.dropped["equal to another input"] += 1
        else:
            seen.add(digest)
            kept.append(test)
    return kept


def _numbered(tests: Iterable[GeneratedTest]) -> list[GeneratedTest]:
    """The tests, the drawn ones with numbers for each kind."""
    numbers: Counter[str] = Counter()
    named = []
    for test in tests:
        if not test.listed:
            numbers[test.name] += 1
            test = replace(test, name=f"{test.name}-{numbers[test.name]:03}")
        named.append(test)
    return named


def _drop_invalid(
    recipe: Recipe,
    known_inputs: Collection[bytes],
    generated: GeneratedTests,
    pool: ThreadPoolExecutor,
    jobs: int,
    on_stage: OnStage,
) -> None:
    """A validator that refuses a known input, or does not compile, is wrong itself and decides nothing."""
    for validator in recipe.validators:
        on_done = on_stage("validation", len(known_inputs) + len(generated.tests))
        calls: list[ProgramInput] = [
            (given, ()) for given in (*known_inputs, *(test.input for test in generated.tests))
        ]
        try:
            said = run_on_all(validator, calls, GENERATOR_LIMITS, pool, jobs, on_done)
        except judge.CannotCompile as error:
            generated.dropped[f"{validator.name} does not compile and is not used: {_start(error)}"] += 1
            continue
        if broken := _broken(said, len(known_inputs)):
            generated.dropped[f"{validator.name} {broken} and is not used"] += 1
            continue
        kept, refused = [], f"{validator.name} refuses it"
        generated.dropped[refused] += 0
        for test, execution in zip(generated.tests, said[len(known_inputs) :], strict=True):
            if execution.exit_status == VALID:
                kept.append(test)
                continue
            generated.dropped[refused] += 1
            if test.listed:
                reason = f"{validator.name} refuses its input ({execution.message})"
                generated.add_missing(test, reason, blocks_release=not test.command)
        generated.tests = kept


def _broken(said: Sequence[judge.Execution], samples: int) -> str:
    """Why a validator cannot be relied on; empty where it can.

    It refuses a sample, or there is no input on which it ends as a validator does (status 42 or 43).
    """
    wrong = next((one for one in said[:samples] if one.exit_status != VALID), None)
    if wrong is not None and wrong.exit_status == INVALID:
        return "refuses a sample"
    if wrong is not None or (said and all(one.exit_status not in (VALID, INVALID) for one in said)):
        return f"fails ({_why(wrong or said[0])})"
    return ""


def _answer(
    recipe: Recipe,
    limits: judge.Limits,
    generated: GeneratedTests,
    pool: ThreadPoolExecutor,
    jobs: int,
    on_stage: OnStage,
) -> None:
    """Let each test without an answer be answered by the solution it names, else by the reference."""
    solutions = {one.name: one for one in recipe.solutions}
    answering = [
        None if test.answered else solutions.get(test.solution, recipe.reference) for test in generated.tests
    ]
    on_done = on_stage("answers", sum(program is not None for program in answering))
    answered: dict[int, judge.Execution] = {}
    for program in _each_once(answering):
        indices = [index for index, one in enumerate(answering) if one is program]
        calls: list[ProgramInput] = [(generated.tests[index].input, ()) for index in indices]
        answered |= dict(zip(indices, run_on_all(program, calls, limits, pool, jobs, on_done), strict=True))
    kept = []
    for index, test in enumerate(generated.tests):
        execution = answered.get(index)
        if execution is None:
            kept.append(test)
        elif execution.fault is None:
            kept.append(replace(test, answer=execution.output, answered=True))
        else:
            generated.dropped[f"the reference gets {execution.fault.value}"] += 1
            if test.listed:
                name = solutions.get(test.solution, recipe.reference).name
                generated.add_missing(test, f"{name} cannot answer it: {_why(execution)}")
    generated.tests = kept


def _each_once(programs: Iterable[SuiteProgram | None]) -> list[SuiteProgram]:
    found: list[SuiteProgram] = []
    for program in programs:
        if program is not None and not any(program is one for one in found):
            found.append(program)
    return found


def _why(execution: judge.Execution) -> str:
    """Why a run did not end well, with the first lines of its standard error."""
    ended = execution.message or f"exit status {execution.exit_status}"
    said = _start(execution.errors)
    return f"{ended}; it printed: {said}" if said and said not in ended else ended


def _start(said: object) -> str:
    """The first lines of an output, on one line."""
    lines = [line.strip() for line in str(said).splitlines() if line.strip()]
    return " / ".join(lines[:_LINES_SHOWN])[:_SHOWN]


def _listed(recipe: Recipe) -> list[_PlannedTest]:
    generators = {one.program.name: one for one in recipe.generators}
    planned = []
    for one in recipe.tests:
        test = GeneratedTest(
            one.name,
            _ORIGINS[one.kind],
            one.command[:200],
            blobs.read(one.input) if one.input else b"",
            blobs.read(one.answer) if one.answer else b"",
            one.command,
            one.solution,
            listed=True,
            answered=bool(one.answer),
        )
        generator = generators.get(one.generator) if not one.input else None
        planned.append(
            _PlannedTest(test, generator, _listed_arguments(one, recipe.seed) if generator else ())
        )
    return planned


def _listed_arguments(one: FixedTest, seed: int) -> tuple[str, ...]:
    """The arguments of a listed command, with the seed that BAPCtools gives it where the recipe's seed is the first."""
    salted = ("" if seed == FIRST_SEED else f"{seed}:") + one.salt + one.command
    value = int(hashlib.sha512(salted.encode()).hexdigest(), 16) % 2**31
    return tuple(shlex.split(_SEED.sub(str(value), one.arguments)))


def _drawn(recipe: Recipe, kind: TestKind) -> list[_PlannedTest]:
    """As many further calls of this kind as the recipe wants: each command in turn, those without a seed once.

    Listed tests count among the wanted ones, and commands without a seed are all listed where there are listed tests.
    """
    commands = [
        (generator, arguments)
        for generator in recipe.generators
        for own, arguments in generator.calls
        if own == kind
    ]
    repeated = [command for command in commands if _SEED.search(command[1])]
    once = [] if recipe.tests else [(0, command) for command in commands]
    again = ((number, command) for number in count(1) for command in repeated) if repeated else iter(())
    wanted = max(0, recipe.counts[kind] - sum(one.kind == kind for one in recipe.tests))
    planned = []
    for number, (generator, arguments) in islice(chain(once, again), wanted):
        filled = _filled(arguments, recipe.seed, number)
        command = " ".join((generator.program.name, *filled))
        test = GeneratedTest(kind, _ORIGINS[kind], command[:200], b"", command=command)
        planned.append(_PlannedTest(test, generator, filled))
    return planned


def _filled(arguments: str, seed: int, number: int) -> tuple[str, ...]:
    """The arguments with a seed of 31 bits that depends on the recipe's, the call's salt and its number."""

    def replaced(match: re.Match[str]) -> str:
        digest = hashlib.sha256(f"{seed} {match[1] or ''} {number} {arguments}".encode()).digest()
        return str(int.from_bytes(digest[:4], "big") >> 1)

    return tuple(shlex.split(_SEED.sub(replaced, arguments)))
