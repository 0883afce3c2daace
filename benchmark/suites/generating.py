"""Generation of a suite's tests: distinct valid inputs from generators and packages, answers from solutions."""

from __future__ import annotations

import hashlib
import re
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import chain, count, islice
from typing import TYPE_CHECKING, Any

import judge
from benchmark.models import SuiteTest, blobs
from benchmark.suites.recipes import FixedTest, Generator, Recipe, SuiteProgram
from benchmark.suites.running import ProgramInput, Workers, run_on_all

if TYPE_CHECKING:
    from benchmark.datasets.records import TestKind

GENERATOR_LIMITS = judge.Limits(time=10.0, memory=2**30)
"""Limits of one run of a generator or a validator."""

VALID, INVALID = 42, 43

INPUT_FILE, ANSWER_FILE = "testcase.in", "testcase.ans"
"""Files into which a generator may write a test instead of printing its input (BAPCtools)."""

FIRST_SEED = 1
"""The seed with which listed commands get the same seeds as in BAPCtools."""

_SEED = re.compile(r"\{seed(?::([^}]*))?\}")
_LINES_SHOWN, _SHOWN = 3, 300
_ORIGINS: dict[str, SuiteTest.Origin] = {
    "random": SuiteTest.Origin.RANDOM,
    "corner": SuiteTest.Origin.CORNER,
    "stress": SuiteTest.Origin.STRESS,
    "": SuiteTest.Origin.HANDWRITTEN,
}

OnStage = Callable[[str, int], Callable[[], None]]
"""A callback with a stage's name and number of runs; it returns a callback for each finished run."""


@dataclass(frozen=True)
class GeneratedTest:
    """A test of the recipe. `command` is empty for a handwritten test. `answered` means that `answer` is known."""

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
    """A test of the recipe that the suite does not contain, and whether it blocks the suite's release."""

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
    def from_json(cls, document: Mapping[str, Any]) -> MissingTest:
        """Return the entry that `to_json` stored."""
        return cls(document["test"], document["command"], document["reason"], document["withholds"])


@dataclass
class GeneratedTests:
    """The tests, the numbers of dropped inputs by reason, and the missing tests."""

    tests: list[GeneratedTest] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    missing: list[MissingTest] = field(default_factory=list)

    def add_missing(self, test: GeneratedTest, reason: str, *, blocks_release: bool | None = None) -> None:
        """Record a test that cannot be generated. Listed tests block the release unless `blocks_release` is given."""
        blocks = test.listed if blocks_release is None else blocks_release
        self.missing.append(MissingTest(test.name, test.command, reason, blocks))


@dataclass(frozen=True)
class _PlannedTest:
    """A test before its generation: its input, or the generator's call."""

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
    """Return the recipe's tests in a fixed order, without duplicates and without `known_inputs`.

    `limits` apply to the solutions that compute answers. Raises the errors of `run_on_all`.
    """
    generated = GeneratedTests(
        missing=[MissingTest(name, "", reason, blocks_release=True) for name, reason in recipe.faults]
    )
    with ThreadPoolExecutor(jobs) as pool:
        workers = Workers(pool, jobs)
        generated.tests = _inputs(recipe, known_inputs, generated, workers, on_stage)
        _drop_invalid(recipe, known_inputs, generated, workers, on_stage)
        _answer(recipe, limits, generated, workers, on_stage)
    return generated


def _inputs(
    recipe: Recipe,
    known_inputs: Collection[bytes],
    generated: GeneratedTests,
    workers: Workers,
    on_stage: OnStage,
) -> list[GeneratedTest]:
    planned = [*_listed(recipe), *chain.from_iterable(_drawn(recipe, kind) for kind in recipe.counts)]
    on_done = on_stage("inputs", sum(one.generator is not None for one in planned))
    executions: dict[int, judge.ProgramOutput] = {}
    for generator in recipe.generators:
        indices = [index for index, one in enumerate(planned) if one.generator is generator]
        runs = [(b"", planned[index].arguments) for index in indices]
        try:
            results = run_on_all(
                generator.program, runs, GENERATOR_LIMITS, workers, on_done, collect=(INPUT_FILE, ANSWER_FILE)
            )
        except judge.CompilationError as error:
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
    one: _PlannedTest, execution: judge.ProgramOutput, generated: GeneratedTests
) -> GeneratedTest | None:
    """Return the test with the generator's input, from its file or its output; None without one."""
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
    """Return the tests whose input differs from earlier ones and from the known inputs."""
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
    """Return the tests; unlisted tests get a number within their kind."""
    numbers: Counter[str] = Counter()
    named = []
    for test in tests:
        if test.listed:
            named.append(test)
        else:
            numbers[test.name] += 1
            named.append(replace(test, name=f"{test.name}-{numbers[test.name]:03}"))
    return named


def _drop_invalid(
    recipe: Recipe,
    known_inputs: Collection[bytes],
    generated: GeneratedTests,
    workers: Workers,
    on_stage: OnStage,
) -> None:
    """Drop the tests that a validator rejects.

    A validator that does not compile or that rejects a known input is itself wrong and is not used.
    """
    for validator in recipe.validators:
        on_done = on_stage("validation", len(known_inputs) + len(generated.tests))
        calls: list[ProgramInput] = [
            (given, ()) for given in (*known_inputs, *(test.input for test in generated.tests))
        ]
        try:
            executions = run_on_all(validator, calls, GENERATOR_LIMITS, workers, on_done)
        except judge.CompilationError as error:
            generated.dropped[f"{validator.name} does not compile and is not used: {_start(error)}"] += 1
            continue
        if broken := _broken(executions, len(known_inputs)):
            generated.dropped[f"{validator.name} {broken} and is not used"] += 1
            continue
        kept, refused = [], f"{validator.name} refuses it"
        generated.dropped[refused] += 0
        for test, execution in zip(generated.tests, executions[len(known_inputs) :], strict=True):
            if execution.exit_status == VALID:
                kept.append(test)
                continue
            generated.dropped[refused] += 1
            if test.listed:
                reason = f"{validator.name} refuses its input ({execution.message})"
                generated.add_missing(test, reason, blocks_release=not test.command)
        generated.tests = kept


def _broken(executions: Sequence[judge.ProgramOutput], samples: int) -> str:
    """Return the reason why a validator is unusable, or "".

    It is unusable if it rejects a sample, or ends on every input with a status other than 42 and 43.
    """
    wrong = next((one for one in executions[:samples] if one.exit_status != VALID), None)
    if wrong is not None and wrong.exit_status == INVALID:
        return "refuses a sample"
    if wrong is not None or (
        executions and all(one.exit_status not in (VALID, INVALID) for one in executions)
    ):
        return f"fails ({_why(wrong or executions[0])})"
    return ""


def _answer(
    recipe: Recipe,
    limits: judge.Limits,
    generated: GeneratedTests,
    workers: Workers,
    on_stage: OnStage,
) -> None:
    """Compute missing answers with the solution that the test names, otherwise with the reference."""
    solutions = {one.name: one for one in recipe.solutions}
    answering = [
        None if test.answered else solutions.get(test.solution, recipe.reference) for test in generated.tests
    ]
    on_done = on_stage("answers", sum(program is not None for program in answering))
    answered: dict[int, judge.ProgramOutput] = {}
    for program in _each_once(answering):
        indices = [index for index, one in enumerate(answering) if one is program]
        calls: list[ProgramInput] = [(generated.tests[index].input, ()) for index in indices]
        answered |= dict(zip(indices, run_on_all(program, calls, limits, workers, on_done), strict=True))
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


def _why(execution: judge.ProgramOutput) -> str:
    """Return the reason why a run is unsuccessful, with the first lines of its standard error."""
    ended = execution.message or f"exit status {execution.exit_status}"
    printed = _start(execution.errors)
    return f"{ended}; it printed: {printed}" if printed and printed not in ended else ended


def _start(output: object) -> str:
    """Return the first lines of an output, joined to one line."""
    lines = [line.strip() for line in str(output).splitlines() if line.strip()]
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
    """Return the arguments of a listed command. With the first seed, its seed is that of BAPCtools."""
    salted = ("" if seed == FIRST_SEED else f"{seed}:") + one.salt + one.command
    value = int(hashlib.sha512(salted.encode()).hexdigest(), 16) % 2**31
    return tuple(shlex.split(_SEED.sub(str(value), one.arguments)))


def _drawn(recipe: Recipe, kind: TestKind) -> list[_PlannedTest]:
    """Return the calls of this kind that complete the wanted number; commands without a seed occur once.

    Listed tests count towards that number. If there are listed tests, they include all commands without a seed.
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
    """Return the arguments with a 31-bit seed derived from the recipe's seed, the salt and the call's number."""

    def replaced(match: re.Match[str]) -> str:
        digest = hashlib.sha256(f"{seed} {match[1] or ''} {number} {arguments}".encode()).digest()
        return str(int.from_bytes(digest[:4], "big") >> 1)

    return tuple(shlex.split(_SEED.sub(replaced, arguments)))
