"""The measured growth of the practice packages' programs."""

from pathlib import Path

import judge
from benchmark.datasets.icpc_sizes import sized_generators
from benchmark.growth.measuring import Growth, MeasuredProgram, measure
from benchmark.growth.sizes import GrowthRecipe, SizeParameter
from benchmark.providers.practice import PRACTICE_PROBLEMS
from benchmark.suites.recipes import SuiteProgram

SLOW = sorted(PRACTICE_PROBLEMS.glob("*/submissions/time_limit_exceeded/*"))
ACCEPTED = sorted(PRACTICE_PROBLEMS.glob("*/submissions/accepted/*"))


def growth(path: Path) -> Growth:
    package = path.parents[2]
    records, notes = sized_generators(package)
    assert not notes
    validator = {"main.py": (package / "input_validators" / "validate.py").read_text()}
    recipe = GrowthRecipe(
        tuple(
            SizeParameter(
                one.parameter, SuiteProgram(one.name, one.language, one.files), one.arguments, one.largest
            )
            for one in records
        ),
        (SuiteProgram("validate.py", "python", validator),),
        "",
    )
    language = judge.language_of(path)
    limits = judge.limits_for(judge.Limits(time=1.0, memory=256 * 2**20), language, judge.Policy.FAIR)
    return measure(MeasuredProgram(path.read_text(), language), recipe, limits, budget=10.0)


def looks_slow(found: Growth) -> bool:
    slope = found.steepest.fit.slope if found.steepest.fit else 0.0
    return slope >= 1.6 or found.slow
