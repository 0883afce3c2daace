"""Compiling a program inside the sandbox, unless the cache has it, and the command that then runs it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from judge import compiler
from judge.compiled_programs import load_program, store_program
from judge.compiler import DRIVERS, Files, compile_key, files_to_run, filled, run_compiler, stored
from judge.judgement import printable
from judge.languages import Language
from judge.limits import MEBIBYTE, Limits
from judge.precompiled_headers import precompiled_headers
from judge.sandbox import PROGRAM_FOLDER, Ending, Outcome, Sandbox, SandboxFault, Surroundings
from judge.sources import Sources, UnusableSource, read_sources
from judge.warm_start import modules_to_import

_SHOWN = 4_000
_PROGRAM_NAME = "program"
_SCRATCH = 64 * MEBIBYTE  # what a program may write to files

_PROBLEMS = {
    Ending.CPU: "The compiler was stopped: it used more than {time:.0f} s.",
    Ending.WALL: "The compiler was stopped: it took too long.",
    Ending.MEMORY: "The compiler was stopped: it used more than {memory} MiB of memory.",
    Ending.OUTPUT: "The compiled program is larger than {output} MiB.",
}


@dataclass(frozen=True)
class Program:
    """A program ready to run: what it needs around it, and the command inside the sandbox.

    The last line it says for lack of memory matches `out_of_memory`. `warm` are the modules of a Python program
    that can be imported once for all of its runs; None where there is no such way to start it.
    """

    surroundings: Surroundings
    command: tuple[str, ...]
    out_of_memory: str
    warm: tuple[str, ...] | None

    def started_afresh(self) -> "Program":
        """The same program, whose interpreter starts anew for each run."""
        return replace(self, warm=None)


@dataclass(frozen=True)
class Compilation:
    """The program, or None where it does not compile, and the beginning of what the compiler said."""

    program: Program | None
    output: str


def compile_program(
    sandbox: Sandbox,
    language: Language,
    source: str | Mapping[str, str],
    limits: Limits,
    folder: Path,
) -> Compilation:
    """Compile (or, for an interpreted language, check) a program, keeping everything in the empty `folder`.

    `source` is its text, or the texts of its files by name (see `judge.sources`). `limits` are those it will run
    under, which virtual machines must be told. A program that was compiled before comes from the cache. Raises
    SandboxFault, OSError, and ToolMissing where there is no compiler.
    """
    try:
        sources = read_sources(source, language)
    except UnusableSource as error:
        return Compilation(None, str(error))
    files = (*sources.files, *_driver(language))
    key = compile_key(language, "program", files)
    found = load_program(key)
    written = folder / "source"
    if found is None or not language.makes_program:
        stored(written, files)
    if found is None:
        outcome = _compiled(sandbox, language, files, sources.programs, written)
        if failed := _failure(outcome):
            return failed
        found = outcome.stdout, outcome.stderr
        store_program(key, *found)
    made, said = found
    if language.makes_program:
        written = stored(folder / "compiled", [(_PROGRAM_NAME, made)])
    program = _program(language, sources, limits, written)
    return Compilation(program, printable(said, _SHOWN))


def _program(language: Language, sources: Sources, limits: Limits, folder: Path) -> Program:
    file = f"{PROGRAM_FOLDER}/{_PROGRAM_NAME}" if language.makes_program else ""
    memory = limits.memory - language.allowance
    return Program(
        surroundings=Surroundings(folder, files_to_run(language), file_size=_SCRATCH, scratch=_SCRATCH),
        command=filled(language, language.run, sources.programs, file, memory),
        out_of_memory=language.out_of_memory,
        warm=modules_to_import(dict(sources.files)) if language.has_warm_start else None,
    )


def _driver(language: Language) -> Files:
    if language.driver:
        yield f"{DRIVERS}/{language.driver.name}", language.driver.read_bytes()


def _compiled(
    sandbox: Sandbox, language: Language, files: Files, names: tuple[str, ...], folder: Path
) -> Outcome:
    if headers := precompiled_headers(sandbox, language, files):
        try:
            outcome = run_compiler(sandbox, language, folder, names, headers=headers)
        except SandboxFault:
            pass  # another judge may just have removed the headers from the cache
        else:
            if outcome.exit_status == 0 or outcome.ending in (Ending.CPU, Ending.WALL, Ending.OUTPUT):
                return outcome
    # So that what a program is told and whether it compiles never hang on the precompiled header.
    return run_compiler(sandbox, language, folder, names)


def _failure(outcome: Outcome) -> Compilation | None:
    output = printable(outcome.stderr, _SHOWN)
    if problem := _PROBLEMS.get(outcome.ending):
        limits = compiler.COMPILE_LIMITS
        said = problem.format(
            time=limits.time, memory=limits.memory // MEBIBYTE, output=limits.output // MEBIBYTE
        )
        return Compilation(None, f"{said}\n{output}"[:_SHOWN])
    return Compilation(None, output) if outcome.exit_status != 0 else None
