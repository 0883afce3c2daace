"""CPU time to build and use verifiers without the model, for the 35 LeetCode problems that ALGO released.

    python -m benchmarks.verifiers FOLDER [PROBLEM …]

FOLDER holds leetcode_data and leetcode_results. For each problem in turn, the script generates inputs, answers them
with the stored oracle, runs the stored candidate and minimizes its failing input, with default settings and storage.
The column limit is separate: whether an accepted candidate is too slow for uncapped inputs takes up to the time limit
of the problem. The floor is the CPU time of the oracle and the candidate themselves. Target: 5 s per problem
(docs/architecture.md); the exit status is 1 if a problem misses it. Seconds are CPU seconds of this process and of the
programs in the sandbox, which do not depend on other load; wall time is printed too.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmark.models import Verifier

TARGET = 5.0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder")
    parser.add_argument("problems", nargs="*", metavar="PROBLEM")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hintbench-verifiers-") as var:
        os.environ["HINTBENCH_VAR"] = var
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
        (Path(var) / "static").mkdir()
        import django

        django.setup()
        return measure(options.folder, options.problems)


def measure(folder: str, names: Sequence[str]) -> int:
    """Import, build and verify each problem and print the table; return 1 if one misses the target."""
    from django.core.management import call_command

    from benchmark.models import Verifier

    call_command("migrate", verbosity=0)
    call_command("import_problems", "algo", folder, dataset="algo", verbosity=0)
    imported = Verifier.objects.select_related("problem__dataset").order_by("problem__external_id")
    if names:
        imported = imported.filter(problem__external_id__in=names)
    floor = Floor()
    measure_sandbox()
    print("problem   making  verifying  shrinking    all    wall   floor  limit  tests  without an answer")
    rows = [row(one, floor) for one in imported]
    for name, of in (("median", statistics.median), ("largest", max)):
        columns = zip(zip(*rows, strict=True), WIDTHS, strict=True)
        print(f"{name:<8}" + "".join(f"{of(column):{width}.2f}" for column, width in columns))
    return int(max(used for _, _, _, used, *_ in rows) > TARGET)


WIDTHS = (8, 11, 11, 7, 8, 8, 7)


def row(imported: Verifier, floor: Floor) -> tuple[float, ...]:
    """Return CPU seconds of the three steps and in all, wall time, the floor, and the seconds of uncapped inputs."""
    from benchmark.models import Candidate
    from benchmark.oracles.inputs import InputRecipe
    from benchmark.oracles.store import build_imported
    from benchmark.oracles.verifications import verification_of

    candidate = Candidate.objects.filter(problem=imported.problem).order_by("name")[0]
    floor.seconds = floor.limit = floor.wall = 0.0
    begun = time.monotonic()
    marks = [cpu()]
    [built] = build_imported([imported], InputRecipe(), jobs=1)
    if isinstance(built, Exception):
        raise built
    marks.append(cpu())
    verification_of(built, candidate.submission)
    marks.append(cpu() - floor.limit)
    verification_of(built, candidate.submission, minimized=True)
    marks.append(cpu() - floor.limit)
    steps = [after - before for before, after in pairwise(marks)]
    found = (*steps, marks[-1] - marks[0], time.monotonic() - begun - floor.wall, floor.seconds, floor.limit)
    columns = "".join(f"{value:{width}.2f}" for value, width in zip(found, WIDTHS, strict=True))
    dropped = " ".join(f"{number} {fault}" for fault, number in built.record["dropped"].items())
    tests = built.suite.tests.count() if built.suite else 0
    print(f"{imported.problem.external_id:<8}{columns}{tests:7}  {dropped}", flush=True)
    return found


class Floor:
    """The sum of the programs' own CPU seconds, as their driver in the sandbox reports them.

    `limit` and `wall` are the seconds of uncapped inputs, which the sum leaves out.
    """

    def __init__(self) -> None:
        from benchmark.oracles import running, verifications, verifying

        self.seconds = self.limit = self.wall = 0.0
        run_on, too_slow = running.run_on, verifications.too_slow

        def counted(*arguments: Any) -> list[running.ProgramResult]:
            answers = run_on(*arguments)
            self.seconds += sum(answer.seconds for answer in answers)
            return answers

        def left_out(*arguments: Any) -> int:
            before, begun, used = self.seconds, time.monotonic(), cpu()
            found = too_slow(*arguments)
            self.seconds = before
            self.wall, self.limit = time.monotonic() - begun, cpu() - used
            return found

        for module in (verifications, verifying):
            vars(module)["run_on"] = counted
        vars(verifications)["too_slow"] = left_out


sandboxed: list[float] = []
"""CPU seconds of each run in the sandbox. Its processes are not children of this one."""


def measure_sandbox() -> None:
    """Have every run in the sandbox add its CPU time to `sandboxed`."""
    from judge.sandbox.container import ContainerProcess

    run = ContainerProcess.run

    def measured(*arguments: Any) -> Any:
        outcome, clean = run(*arguments)
        sandboxed.append(outcome.time)
        return outcome, clean

    ContainerProcess.run = measured  # type: ignore[method-assign,assignment]


def cpu() -> float:
    """Return the CPU seconds of this process, of its finished children and of the programs in the sandbox."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used) + sum(sandboxed)


if __name__ == "__main__":
    sys.exit(main())
