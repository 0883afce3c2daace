"""Tests of programs that a model wrote: oracles, generators of their inputs, and candidates."""

from dataclasses import dataclass
from typing import Protocol

from benchmark.growth import Difference, Growth
from benchmark.growth.examples import QUADRATIC
from benchmark.models import Generation
from benchmark.oracles.inputs import InputRecipe
from benchmark.oracles.programs import VerifierPrograms
from benchmark.prompts import OracleCase


@dataclass(frozen=True)
class VerifierScore:
    """The result of the problem's verifier for an answer: tests passed, and failing cases by increasing input size."""

    passed: int
    samples_passed: bool
    accepted: bool
    cases: tuple[OracleCase, ...] = ()


NO_PROGRAM = VerifierScore(-1, samples_passed=False, accepted=False)
"""The score of an answer without a program, which ranks below all others."""


class ProgramTester(Protocol):
    """A tester that runs programs in the judge's sandbox; its results are the same when a chain is resumed."""

    accepts_last: bool
    """Whether the last program that may be requested counts as working."""

    async def oracle_passes(self, oracle: str) -> bool:
        """Return whether the oracle answers every sample of the statement correctly."""
        ...

    async def validator_works(self, programs: VerifierPrograms) -> bool:
        """Return whether the validator accepts the inputs of all samples."""
        ...

    async def makes_inputs(self, programs: VerifierPrograms, kind: str) -> bool:
        """Return whether the function of this kind (generator, batch or tricky) makes a valid input."""
        ...

    async def writes_tests(self, programs: VerifierPrograms) -> bool:
        """Return whether the function for tests with answers returns any."""
        ...

    async def build(self, programs: VerifierPrograms, recipe: InputRecipe) -> None:
        """Store the verifier: inputs, the oracle's answers, and their suite."""
        ...

    async def score(self, answer: Generation) -> VerifierScore:
        """Return the score of the answer by the problem's verifier, which is computed once."""
        ...

    async def growth(self, program: str) -> Growth | None:
        """Return the growth of the program's running time, measured once; None if it cannot be measured."""
        ...

    async def difference(self, slow: str, program: str) -> Difference | None:
        """Return a small input on which the program differs from a slow one; None without any."""
        ...


class DryProgramTester:
    """A `ProgramTester` for estimates: all programs work at once, or none before the last one."""

    accepts_last = True

    def __init__(self, *, passes: bool) -> None:
        self._passes = passes

    async def oracle_passes(self, _oracle: str) -> bool:
        """Return the assumed result."""
        return self._passes

    async def validator_works(self, _programs: VerifierPrograms) -> bool:
        """Return the assumed result."""
        return self._passes

    async def makes_inputs(self, _programs: VerifierPrograms, _kind: str) -> bool:
        """Return the assumed result."""
        return self._passes

    async def writes_tests(self, _programs: VerifierPrograms) -> bool:
        """Return the assumed result."""
        return self._passes

    async def build(self, programs: VerifierPrograms, recipe: InputRecipe) -> None:
        """Store nothing."""

    async def score(self, _answer: Generation) -> VerifierScore:
        """Return the assumed score, with one failing case of 100 characters per text."""
        cases = () if self._passes else (OracleCase("x" * 100, "x" * 100, "x" * 100, "WA"),)
        return VerifierScore(int(self._passes), self._passes, self._passes, cases)

    async def growth(self, _program: str) -> Growth:
        """Return the growth of a quadratic program."""
        return QUADRATIC

    async def difference(self, _slow: str, _program: str) -> Difference:
        """Return an example with 100 characters per text."""
        return Difference("x" * 100, "x" * 100, "x" * 100)
