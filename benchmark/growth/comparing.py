"""Comparison of a program with a slow one on small generated inputs; the input of the first difference is reduced."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

import judge
from benchmark.growth.curves import limits_of
from benchmark.growth.measuring import generating
from benchmark.growth.sizes import GrowthRecipe, growth_recipe
from benchmark.judging import checker_for, program_files
from benchmark.models import Judgement, SlowComparison, Submission
from benchmark.oracles.minimizing import minimize
from benchmark.suites import NoRecipeError
from benchmark.suites.generating import GENERATOR_LIMITS, VALID
from benchmark.suites.recipes import reference_of
from benchmark.suites.running import runnable
from judge import CheckResult, Policy, Test, Verdict

Check = Callable[[Test, bytes], CheckResult]

SIZES = (1, 2, 3, 4, 5, 6, 8, 10, 16, 32)
"""Sizes of the inputs on which programs are compared."""

_SEEDS = 6
"""Inputs of each size."""

_MOST_SHOWN = 2_000
"""Characters of the longest input."""


@dataclass(frozen=True)
class Difference:
    """An input on which two programs differ, and their outputs. A failed program has its fault as output."""

    input: str
    slow: str
    candidate: str


def compare(slow: Submission, candidate: Submission) -> SlowComparison | None:
    """Return the stored comparison of two programs for a problem, and compute it if there is none.

    None if the slow program fails a sample, so that it is not an oracle, or if the candidate does not compile.
    Raises NoSizesError and the errors of the sandbox.
    """
    recipe = growth_recipe(slow.problem)
    key = {
        "slow": slow,
        "candidate": candidate,
        "recipe_hash": recipe.hash,
        "judge_version": judge.JUDGE_VERSION,
    }
    stored = SlowComparison.objects.filter(**key).first()
    if stored is not None:
        return stored
    if not passes_samples(slow):
        return None
    try:
        compared, difference, wrong = _compared(slow, candidate, recipe)
    except judge.CompilationError:
        return None
    found = asdict(difference) if difference else None
    row, _ = SlowComparison.objects.get_or_create(
        **key, defaults={"compared": compared, "difference": found, "slow_is_wrong": wrong}
    )
    return row


def difference_of(comparison: SlowComparison) -> Difference | None:
    """Return the stored difference; None if the programs agree on all inputs."""
    return Difference(**comparison.difference) if comparison.difference else None


def passes_samples(submission: Submission) -> bool:
    """Return whether a stored judgement says that the program passes all samples."""
    for row in submission.judgements.filter(state=Judgement.State.DONE, counts=True).exclude(result=None):
        samples = [test for test in (row.result or {})["tests"] if test["sample"]]
        if samples and all(test["verdict"] == Verdict.AC for test in samples):
            return True
    return False


def _compared(
    slow: Submission, candidate: Submission, recipe: GrowthRecipe
) -> tuple[int, Difference | None, bool | None]:
    """Return the number of inputs, the first difference on a reduced input, and whether the slow program is wrong."""
    problem = slow.problem
    limits = judge.Limits(time=problem.time_limit, memory=problem.memory_limit)
    compared = 0
    with ExitStack() as opened:
        runs = [opened.enter_context(_open(one)) for one in (slow, candidate)]
        check = opened.enter_context(judge.open_checker(checker_for(problem, Policy.FAIR), limits))
        folder = opened.enter_context(judge.temporary_folder("compare"))
        validators = [
            opened.enter_context(judge.open_program(*runnable(one), GENERATOR_LIMITS))
            for one in recipe.validators
        ]

        def differs(given: bytes) -> Difference | None:
            expected, output = (run.run(given) for run in runs)
            if expected.fault is not None:
                return None
            if output.fault is None:
                (folder / "in").write_bytes(given)
                (folder / "ans").write_bytes(expected.output)
                if check(Test("small", folder / "in", folder / "ans"), output.output).accepted:
                    return None
            return Difference(_text(given), _text(expected.output), output.fault or _text(output.output))

        def fails(options: Sequence[str]) -> list[bool]:
            return [
                all(one.run(option.encode()).exit_status == VALID for one in validators)
                and differs(option.encode()) is not None
                for option in options
            ]

        for given in _inputs(recipe):
            compared += 1
            found = differs(given)
            if found is not None:
                small = minimize(found.input, fails, values=False) if validators else found.input
                reduced = differs(small.encode()) or found
                return compared, reduced, _slow_is_wrong(slow, reduced, check, folder)
    return compared, None, None


def _text(output: bytes) -> str:
    return output.decode("utf-8", "replace")


def _open(submission: Submission) -> AbstractContextManager[judge.OpenProgram]:
    files = program_files(submission.problem, submission.source, submission.language)
    return judge.open_program(files, submission.language, limits_of(submission))


def _slow_is_wrong(slow: Submission, difference: Difference, check: Check, folder: Path) -> bool | None:
    """Return whether the fastest reference solution contradicts the slow program; None without a reference."""
    try:
        reference = reference_of(slow.problem)
        with judge.open_program(*runnable(reference), GENERATOR_LIMITS) as run:
            answer = run.run(difference.input.encode())
    except (NoRecipeError, judge.CompilationError, judge.ToolMissingError):
        return None
    if answer.fault is not None:
        return None
    (folder / "in").write_text(difference.input)
    (folder / "ans").write_bytes(answer.output)
    return not check(Test("small", folder / "in", folder / "ans"), difference.slow.encode()).accepted


def _inputs(recipe: GrowthRecipe) -> Iterator[bytes]:
    """Yield distinct small valid inputs, the smallest sizes first."""
    seen: set[bytes] = set()
    with ExitStack() as opened:
        makers = [opened.enter_context(generating(one, recipe.validators, {})) for one in recipe.parameters]
        for size, seed in product(SIZES, range(_SEEDS)):
            for make in makers:
                given = make(size, seed)
                if given is not None and len(given) <= _MOST_SHOWN and given not in seen:
                    seen.add(given)
                    yield given
