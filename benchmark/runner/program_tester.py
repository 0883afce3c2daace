"""The bench of a run: programs for verifiers and candidates, tried in the judge's threads."""

from collections.abc import Callable
from typing import TypeVar

from benchmark import judging
from benchmark.methods import Score
from benchmark.models import Generation, WorkItem
from benchmark.oracles import store, verifications
from benchmark.oracles.inputs import InputRecipe, accepts_all, makes_valid_inputs, written_tests
from benchmark.oracles.programs import VerifierPrograms
from benchmark.prompts import OracleCase
from benchmark.runner.judges import JudgeFault, Judges
from judge import SandboxFault, SandboxUnavailable

T = TypeVar("T")


class StoredBench:
    """`benchmark.methods.Bench` for the problem of a work item."""

    takes_the_last = False

    def __init__(self, item: WorkItem, judges: Judges, language: str) -> None:
        self._item = item
        self._problem = item.problem
        self._judges = judges
        self._language = language
        self._rejected: list[str] = []

    async def oracle_passes(self, oracle: str) -> bool:
        """See `benchmark.methods.Bench`. Raises JudgeFault, as all of these."""
        fault = await self._tried(lambda: store.oracle_fault(self._problem, oracle))
        if fault:
            self._rejected.append(f"oracle {len(self._rejected) + 1}: {fault}")
        return not fault

    async def validator_works(self, programs: VerifierPrograms) -> bool:
        """See `benchmark.methods.Bench`."""

        def works() -> bool:
            inputs = [case.input for case in store.samples_of(self._problem)]
            return accepts_all(store.input_functions_of(self._problem, programs), inputs)

        return await self._tried(works)

    async def makes_inputs(self, programs: VerifierPrograms, kind: str) -> bool:
        """See `benchmark.methods.Bench`."""
        function, cap, several = {
            "generator": ("gen_input", 0, False),
            "batch": ("random_test", InputRecipe.caps[0], True),
            "tricky": ("special_tricky_test_inputs", 0, True),
        }[kind]
        functions = store.input_functions_of(self._problem, programs)
        return await self._tried(lambda: makes_valid_inputs(functions, function, cap, several=several))

    async def writes_tests(self, programs: VerifierPrograms) -> bool:
        """See `benchmark.methods.Bench`."""
        return await self._tried(
            lambda: bool(written_tests(store.input_functions_of(self._problem, programs)))
        )

    async def build(self, programs: VerifierPrograms, recipe: InputRecipe) -> None:
        """See `benchmark.methods.Bench`."""
        rejected = tuple(self._rejected)
        await self._tried(lambda: store.build(self._problem, programs, recipe, self._item.run, rejected))

    async def score(self, answer: Generation) -> Score:
        """See `benchmark.methods.Bench`. Raises NoVerifierError."""

        def score() -> Score:
            verifier = verifications.latest_verifier(self._problem, before=self._item.run.started_at)
            submission = judging.store_submission(self._problem, answer.code, self._language)
            said = verifications.verification_of(verifier, submission, minimized=True)
            cases = tuple(
                OracleCase(one["input"], one["expected"], one["output"], one["fault"])
                for one in verifications.smallest_failures(said)
            )
            return Score(said.passed, said.samples_passed, said.accepted, cases)

        return await self._tried(score)

    async def _tried(self, work: Callable[[], T]) -> T:
        try:
            return await self._judges.work(work)
        except (SandboxFault, SandboxUnavailable) as error:
            raise JudgeFault(str(error)) from error
