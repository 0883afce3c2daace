"""Where a method tries programs that a model wrote: oracles, what makes their inputs, and candidates."""

from dataclasses import dataclass
from typing import Protocol

from benchmark.models import Generation
from benchmark.oracles.inputs import InputRecipe
from benchmark.oracles.programs import VerifierPrograms
from benchmark.prompts import OracleCase


@dataclass(frozen=True)
class Score:
    """What the problem's verifier says of an answer: tests passed, and failing cases, the smallest inputs first."""

    passed: int
    samples_passed: bool
    accepted: bool
    cases: tuple[OracleCase, ...] = ()


NO_PROGRAM = Score(-1, samples_passed=False, accepted=False)
"""Of an answer without a program, which ranks below all others."""


class Bench(Protocol):
    """Runs programs in the judge's sandbox; its answers are the same whenever a chain is continued."""

    takes_the_last: bool
    """Whether the last program that may be asked for counts as one that works."""

    async def oracle_passes(self, oracle: str) -> bool:
        """Whether it answers every sample of the statement rightly."""
        ...

    async def validator_works(self, programs: VerifierPrograms) -> bool:
        """Whether it accepts the inputs of all samples."""
        ...

    async def makes_inputs(self, programs: VerifierPrograms, kind: str) -> bool:
        """Whether the generator, the batch or the tricky function (`kind`) makes an input that is valid."""
        ...

    async def writes_tests(self, programs: VerifierPrograms) -> bool:
        """Whether the function that returns tests with answers returns any."""
        ...

    async def build(self, programs: VerifierPrograms, recipe: InputRecipe) -> None:
        """Store the verifier: inputs, the oracle's answers, and the suite of them."""
        ...

    async def score(self, answer: Generation) -> Score:
        """What the problem's verifier says of the answer, found once and then remembered."""
        ...


class AssumedBench:
    """`benchmark.methods.Bench` for an estimate: everything works at once, or nothing before the last time."""

    takes_the_last = True

    def __init__(self, *, passes: bool) -> None:
        self._passes = passes

    async def oracle_passes(self, oracle: str) -> bool:
        """As assumed."""
        return self._passes

    async def validator_works(self, programs: VerifierPrograms) -> bool:
        """As assumed."""
        return self._passes

    async def makes_inputs(self, programs: VerifierPrograms, kind: str) -> bool:
        """As assumed."""
        return self._passes

    async def writes_tests(self, programs: VerifierPrograms) -> bool:
        """As assumed."""
        return self._passes

    async def build(self, programs: VerifierPrograms, recipe: InputRecipe) -> None:
        """Nothing."""

    async def score(self, answer: Generation) -> Score:
        """Accepted or failed, as assumed."""
        cases = () if self._passes else (OracleCase("x" * 100, "x" * 100, "x" * 100, "WA"),)
        return Score(int(self._passes), self._passes, self._passes, cases)
