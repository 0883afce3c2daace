"""The program tester of a run: programs for verifiers and candidates, run by the judge of the run."""

import asyncio
from dataclasses import asdict
from typing import Any

from benchmark.growth import Difference, Growth, growth_of
from benchmark.methods import VerifierScore
from benchmark.models import Generation, GrowthCurve, WorkItem
from benchmark.oracles.inputs import InputRecipe
from benchmark.oracles.programs import VerifierPrograms
from benchmark.prompts import OracleCase
from benchmark.runner.judges import RunJudge

_POLL_SECONDS = 0.2
"""Seconds between two polls of a growth curve that another process measures."""


class JudgedProgramTester:
    """A `benchmark.methods.ProgramTester` for the problem of a work item. All methods raise JudgeFaultError."""

    accepts_last = False

    def __init__(self, item: WorkItem, judge: RunJudge, language: str) -> None:
        self._item = item
        self._judge = judge
        self._language = language
        self._rejected: list[str] = []

    async def oracle_passes(self, oracle: str) -> bool:
        """See `benchmark.methods.ProgramTester`."""
        fault = await self._run("oracle_fault", program=oracle)
        if fault:
            self._rejected.append(f"oracle {len(self._rejected) + 1}: {fault}")
        return not fault

    async def validator_works(self, programs: VerifierPrograms) -> bool:
        """See `benchmark.methods.ProgramTester`."""
        works: bool = await self._run("validator_works", programs=asdict(programs))
        return works

    async def makes_inputs(self, programs: VerifierPrograms, kind: str) -> bool:
        """See `benchmark.methods.ProgramTester`."""
        makes: bool = await self._run("makes_inputs", programs=asdict(programs), kind=kind)
        return makes

    async def writes_tests(self, programs: VerifierPrograms) -> bool:
        """See `benchmark.methods.ProgramTester`."""
        writes: bool = await self._run("writes_tests", programs=asdict(programs))
        return writes

    async def build(self, programs: VerifierPrograms, recipe: InputRecipe) -> None:
        """See `benchmark.methods.ProgramTester`."""
        await self._run("build", programs=asdict(programs), recipe=asdict(recipe), rejected=self._rejected)

    async def score(self, answer: Generation) -> VerifierScore:
        """See `benchmark.methods.ProgramTester`. Raises NoVerifierError."""
        found = await self._run("score", program=answer.code)
        return VerifierScore(**found | {"cases": tuple(OracleCase(**case) for case in found["cases"])})

    async def growth(self, program: str) -> Growth | None:
        """See `benchmark.methods.ProgramTester`."""
        while True:
            pk = await self._run("growth", program=program)
            curve = await self._judge.read(lambda: GrowthCurve.objects.get(pk=pk))  # noqa: B023  (read before the next pass)
            if curve.finished_at is not None:
                return growth_of(curve)
            await asyncio.sleep(_POLL_SECONDS)

    async def difference(self, slow: str, program: str) -> Difference | None:
        """See `benchmark.methods.ProgramTester`."""
        found = await self._run("difference", slow=slow, program=program)
        return Difference(**found) if found else None

    async def _run(self, operation: str, **arguments: Any) -> Any:
        return await self._judge.operate(self._item, self._language, operation, arguments)
