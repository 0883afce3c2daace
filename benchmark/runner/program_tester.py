"""The program tester of a run: programs for verifiers and candidates, run in the judge's threads."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from benchmark import judging
from benchmark.growth import Difference, Growth, compare, difference_of, growth_of, measured_curve
from benchmark.methods import VerifierScore
from benchmark.models import Generation, Submission, WorkItem
from benchmark.oracles import store, verifications
from benchmark.oracles.inputs import InputRecipe, accepts_all, makes_valid_inputs, written_tests
from benchmark.oracles.programs import VerifierPrograms
from benchmark.prompts import OracleCase
from benchmark.runner.judges import JudgeFaultError, RunJudge
from judge import SandboxFaultError, SandboxUnavailableError

T = TypeVar("T")

_POLL_SECONDS = 0.2
"""Seconds between two looks at a growth curve that another process measures."""


class JudgedProgramTester:
    """A `benchmark.methods.ProgramTester` for the problem of a work item. All methods raise JudgeFaultError."""

    accepts_last = False

    def __init__(self, item: WorkItem, judge: RunJudge, language: str) -> None:
        self._item = item
        self._problem = item.problem
        self._judge = judge
        self._language = language
        self._rejected: list[str] = []

    async def oracle_passes(self, oracle: str) -> bool:
        """See `benchmark.methods.ProgramTester`."""
        fault = await self._run(lambda: store.oracle_fault(self._problem, oracle))
        if fault:
            self._rejected.append(f"oracle {len(self._rejected) + 1}: {fault}")
        return not fault

    async def validator_works(self, programs: VerifierPrograms) -> bool:
        """See `benchmark.methods.ProgramTester`."""

        def works() -> bool:
            inputs = [case.input for case in store.samples_of(self._problem)]
            return accepts_all(store.input_functions_of(self._problem, programs), inputs)

        return await self._run(works)

    async def makes_inputs(self, programs: VerifierPrograms, kind: str) -> bool:
        """See `benchmark.methods.ProgramTester`."""
        function, cap, several = {
            "generator": ("gen_input", 0, False),
            "batch": ("random_test", InputRecipe.caps[0], True),
            "tricky": ("special_tricky_test_inputs", 0, True),
        }[kind]
        functions = store.input_functions_of(self._problem, programs)
        return await self._run(lambda: makes_valid_inputs(functions, function, cap, several=several))

    async def writes_tests(self, programs: VerifierPrograms) -> bool:
        """See `benchmark.methods.ProgramTester`."""
        return await self._run(lambda: bool(written_tests(store.input_functions_of(self._problem, programs))))

    async def build(self, programs: VerifierPrograms, recipe: InputRecipe) -> None:
        """See `benchmark.methods.ProgramTester`."""
        rejected = tuple(self._rejected)
        await self._run(lambda: store.build(self._problem, programs, recipe, self._item.run, rejected))

    async def score(self, answer: Generation) -> VerifierScore:
        """See `benchmark.methods.ProgramTester`. Raises NoVerifierError."""

        def score() -> VerifierScore:
            verifier = verifications.latest_verifier(self._problem, before=self._item.run.started_at)
            said = verifications.verification_of(verifier, self._submission(answer.code), minimized=True)
            cases = tuple(
                OracleCase(one["input"], one["expected"], one["output"], one["fault"])
                for one in verifications.smallest_failures(said)
            )
            return VerifierScore(said.passed, said.samples_passed, said.accepted, cases)

        return await self._run(score)

    async def growth(self, program: str) -> Growth | None:
        """See `benchmark.methods.ProgramTester`."""
        while True:
            curve = await self._run(lambda: measured_curve(self._submission(program)))
            if curve.finished_at is not None:
                return growth_of(curve)
            await asyncio.sleep(_POLL_SECONDS)

    async def difference(self, slow: str, program: str) -> Difference | None:
        """See `benchmark.methods.ProgramTester`."""

        def found() -> Difference | None:
            comparison = compare(self._submission(slow), self._submission(program))
            return difference_of(comparison) if comparison else None

        return await self._run(found)

    def _submission(self, program: str) -> Submission:
        return judging.store_submission(self._problem, program, self._language)

    async def _run(self, work: Callable[[], T]) -> T:
        try:
            return await self._judge.work(work)
        except (SandboxFaultError, SandboxUnavailableError) as error:
            raise JudgeFaultError(str(error)) from error
