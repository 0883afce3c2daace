"""Compilation of a program in the sandbox or from the cache, and the command that then runs it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from judge.cache import load_program, store_program
from judge.compilation.compiler import (
    COMPILE_IDLE,
    COMPILE_LIMITS,
    DRIVERS,
    Files,
    compile_key,
    environment,
    files_to_run,
    filled,
    run_compiler,
)
from judge.compilation.precompiled_headers import precompiled_headers
from judge.compilation.preloading import modules_to_import
from judge.compilation.sources import Sources, UnusableSourceError, read_sources
from judge.records import MEBIBYTE, Limits, printable
from judge.sandbox import PROGRAM_FOLDER, Mounts, Preload, RunOutcome, Sandbox, SandboxFaultError, Termination
from judge.toolchains import Language

_SHOWN = 4_000
_PROGRAM_NAME = "program"
_SCRATCH = 64 * MEBIBYTE  # the most that a program can write to files

COMPILER_STOPPED = "The compiler was stopped: "
"""The beginning of the messages about a compiler that exceeded a limit of this judge."""

_PROBLEMS = {
    Termination.CPU: COMPILER_STOPPED + "it used more than {time:g} s of CPU.",
    Termination.IDLE: COMPILER_STOPPED + "it waited for more than {idle:g} s.",
    Termination.MEMORY: COMPILER_STOPPED + "it used more than {memory} MiB of memory.",
    Termination.OUTPUT: "The compiled program is larger than {output} MiB.",
}


@dataclass(frozen=True)
class CompiledProgram:
    """A program ready to run: its mounts, and its command inside the sandbox.

    `out_of_memory` is that of its language. `preload` is what a fork server loads once for all runs; None for a
    program that a fork server cannot run.
    """

    mounts: Mounts
    command: tuple[str, ...]
    out_of_memory: str
    preload: Preload | None

    def without_fork_server(self) -> "CompiledProgram":
        """Return the same program with a normal start for each run."""
        return replace(self, preload=None)


@dataclass(frozen=True)
class Compilation:
    """The program, or None if it does not compile, and the beginning of the compiler's messages."""

    program: CompiledProgram | None
    output: str


def compile_program(
    sandbox: Sandbox,
    language: Language,
    source: str | Mapping[str, str],
    limits: Limits,
    *,
    compile_time: float = COMPILE_LIMITS.time,
) -> Compilation:
    """Compile a program (for an interpreted language, check it), or take it from the cache.

    `source` is its text, or the texts of its files by name (see `judge.compilation.sources`). `limits` are those of
    its runs, which virtual machines get as options. `compile_time` limits the compiler's CPU seconds. Raises
    SandboxFaultError, OSError, and ToolMissingError where there is no compiler.
    """
    try:
        sources = read_sources(source, language)
    except UnusableSourceError as error:
        return Compilation(None, str(error))
    files = (*sources.files, *_driver(language))
    key = compile_key(language, "program", files)
    found = load_program(key)
    if found is None:
        applied = replace(COMPILE_LIMITS, time=compile_time)
        outcome = _compiled(sandbox, language, files, sources.programs, applied)
        if failed := _failure(outcome, applied):
            return failed
        found = outcome.stdout, outcome.stderr
        store_program(key, *found)
    result, messages = found
    program = _program(language, sources, limits, result)
    return Compilation(program, printable(messages, _SHOWN))


def _program(language: Language, sources: Sources, limits: Limits, result: bytes) -> CompiledProgram:
    files = ((_PROGRAM_NAME, result),) if language.makes_program else sources.files
    file = f"{PROGRAM_FOLDER}/{_PROGRAM_NAME}" if language.makes_program else ""
    memory = limits.memory - language.allowance
    return CompiledProgram(
        mounts=Mounts(
            files,
            files_to_run(language),
            file_size=_SCRATCH,
            scratch=_SCRATCH,
            environment=environment(language, memory),
        ),
        command=filled(language, language.run, sources.programs, file, memory),
        out_of_memory=language.out_of_memory,
        preload=_preload(sources, result) if language.uses_fork_server else None,
    )


def _preload(sources: Sources, code: bytes) -> Preload | None:
    modules = modules_to_import(dict(sources.files))
    return Preload(code, modules) if code and modules is not None else None


def _driver(language: Language) -> Files:
    if language.driver:
        yield f"{DRIVERS}/{language.driver.name}", language.driver.read_bytes()


def _compiled(
    sandbox: Sandbox, language: Language, files: Files, programs: tuple[str, ...], limits: Limits
) -> RunOutcome:
    if headers := precompiled_headers(sandbox, language, files):
        try:
            outcome = run_compiler(sandbox, language, files, programs, headers=headers, limits=limits)
        except SandboxFaultError:
            pass  # another judge may have removed the headers from the cache
        else:
            stopped = outcome.termination in (Termination.CPU, Termination.IDLE, Termination.OUTPUT)
            if outcome.exit_status == 0 or stopped:
                return outcome
    # After a failure too: neither the messages nor the result may depend on the precompiled header.
    return run_compiler(sandbox, language, files, programs, limits=limits)


def _failure(outcome: RunOutcome, limits: Limits) -> Compilation | None:
    messages = printable(outcome.stderr, _SHOWN)
    if problem := _PROBLEMS.get(outcome.termination):
        reason = problem.format(
            time=limits.time,
            idle=COMPILE_IDLE,
            memory=limits.memory // MEBIBYTE,
            output=limits.output // MEBIBYTE,
        )
        return Compilation(None, f"{reason}\n{messages}"[:_SHOWN])
    return Compilation(None, messages) if outcome.exit_status != 0 else None
