"""Runs of one program on many inputs in the sandbox, on all cores."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import judge
from benchmark.suites.recipes import SuiteProgram

ProgramInput = tuple[bytes, tuple[str, ...]]
"""Standard input and arguments of a run."""


@dataclass(frozen=True)
class Workers:
    """The threads that run programs. At most `jobs` of them work at once."""

    pool: ThreadPoolExecutor
    jobs: int


def run_on_all(
    program: SuiteProgram,
    calls: Sequence[ProgramInput],
    limits: judge.Limits,
    workers: Workers,
    on_done: Callable[[], None] = lambda: None,
    *,
    collect: Sequence[str] = (),
) -> list[judge.ProgramOutput]:
    """Run the program on each input and return the executions in order. Each thread has its own container.

    `on_done` is called in the calling thread. `collect` names files that the program may write. Raises
    CompilationError, ToolMissingError, SandboxFaultError and SandboxUnavailableError.
    """
    done: list[judge.ProgramOutput | None] = [None] * len(calls)
    slices = [range(first, len(calls), workers.jobs) for first in range(min(workers.jobs, len(calls)))]
    futures = [
        workers.pool.submit(_run_slice, program, [calls[index] for index in part], limits, collect)
        for part in slices
    ]
    for part, results in zip(slices, _finished(futures), strict=True):
        for index, execution in zip(part, results, strict=True):
            done[index] = execution
            on_done()
    return [execution for execution in done if execution is not None]


def _finished(futures: Sequence[Future[list[judge.ProgramOutput]]]) -> Iterator[list[judge.ProgramOutput]]:
    try:
        for future in futures:
            yield future.result()
    finally:  # start no more runs after an error or an interruption
        for future in futures:
            future.cancel()


def _run_slice(
    program: SuiteProgram, calls: Sequence[ProgramInput], limits: judge.Limits, collect: Sequence[str]
) -> list[judge.ProgramOutput]:
    with judge.open_program(*runnable(program), limits) as opened:
        return [opened.run(given, arguments, collect) for given, arguments in calls]


def runnable(program: SuiteProgram) -> tuple[str | Mapping[str, str], str]:
    """Return source and language for the judge."""
    if program.language == judge.CHECKTESTDATA:
        return judge.checktestdata_program(next(iter(program.files.values()))), "python"
    return program.files.get("") or program.files, program.language
