"""Shared parts of the commands about test suites: options, errors of problems, progress bars, and the table."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from django.core.management.base import CommandError, CommandParser
from tqdm import tqdm

import judge
from benchmark.management.arguments import positive
from benchmark.management.progress import progress_bar
from benchmark.models import Problem
from benchmark.models.suites import Rate
from benchmark.suites import OVERTIME, NoRecipeError, StageProgress, SuiteReport, SuiteValidationError
from judge.management.tables import aligned


class ProblemFailure(NamedTuple):
    """A problem that could not be measured, and the reason."""

    problem: str
    reason: str


def add_judging(parser: CommandParser) -> None:
    """Add the options for judging known programs."""
    parser.add_argument(
        "--jobs",
        type=positive,
        default=len(os.sched_getaffinity(0)),
        metavar="N",
        help="programs run at once; more than the number of cores distorts their times (default: the cores)",
    )
    parser.add_argument(
        "--overtime",
        type=positive,
        default=OVERTIME,
        metavar="SECONDS",
        help="total seconds of tests on which a program exceeds its time limit before its other tests are skipped; "
        "this changes no rate and no release (default: %(default)s)",
    )


def each_problem(
    problems: Sequence[Problem], work: Callable[[Problem], SuiteReport]
) -> tuple[list[SuiteReport], list[ProblemFailure]]:
    """Return the reports, and the problems without one. Raises CommandError if no program can be run."""
    reports, failures = [], []
    for problem in problems:
        try:
            reports.append(work(problem))
        except (
            CommandError,
            NoRecipeError,
            SuiteValidationError,
            judge.CompilationError,
            judge.ToolMissingError,
            judge.SandboxFaultError,
        ) as error:
            failures.append(ProblemFailure(str(problem), str(error)))
        except judge.ValidatorFaultError as error:
            failures.append(ProblemFailure(str(problem), f"its checker fails: {error}"))
        except judge.SandboxUnavailableError as error:
            raise CommandError(str(error)) from None
    return reports, failures


@contextmanager
def stage_bars(name: str) -> Iterator[StageProgress]:
    """Yield a function that shows a progress bar on standard error for each stage of a problem."""
    bars: list[tqdm] = []  # type: ignore[type-arg]

    def on_stage(stage: str, steps: int) -> Callable[[], None]:
        while bars:
            bars.pop().close()
        bars.append(progress_bar(total=steps, desc=f"{name}: {stage}", leave=False))
        bar = bars[-1]

        def step() -> None:
            bar.update()

        return step

    try:
        yield on_stage
    finally:
        while bars:
            bars.pop().close()


def suites_text(reports: Sequence[SuiteReport], failures: Sequence[ProblemFailure]) -> str:
    """Return a line for each suite, then the release blockers, notes and failures."""
    rows = [("problem", "suite", "tests", "TPR", "TNR", "minimal", "released")]
    for report in reports:
        matrix, suite = report.matrix, report.suite
        rows.append(
            (
                str(report.problem),
                str(suite.version) if suite else "imported",
                str(len(matrix.tests)),
                _rate(matrix.true_positive_rate),
                _rate(matrix.true_negative_rate),
                str(len(matrix.minimal_suite())),
                ("yes" if suite.released_at else "no") if suite else "-",
            )
        )
    lines = list(aligned(rows)) if reports else []
    for report in reports:
        lines += [f"{report.problem}: {line}" for line in (*report.release_blockers, *report.notes)]
    lines += [f"{failure.problem}: {failure.reason}" for failure in failures]
    return "\n".join(lines)


def _rate(rate: Rate | None) -> str:
    if rate is None:
        return "-"
    low, high = rate.interval
    return f"{rate.count}/{rate.total} [{low:.2f}, {high:.2f}]"
