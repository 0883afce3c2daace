"""Compiling a program inside the sandbox, unless the cache has it, and the command that then runs it."""

from dataclasses import dataclass
from pathlib import Path

from judge import compiler
from judge.compiled_programs import load_program, store_program
from judge.compiler import compile_key, filled, run_compiler, stored
from judge.judgement import printable
from judge.languages import Language
from judge.limits import MEBIBYTE
from judge.precompiled_headers import precompiled_headers
from judge.sandbox import (
    PROGRAM_FOLDER,
    Ending,
    Outcome,
    Sandbox,
    SandboxFault,
    interpreter_files,
    runtime_files,
)

_SHOWN = 4_000
_PROGRAM_NAME = "program"

_PROBLEMS = {
    Ending.CPU: "The compiler was stopped: it used more than {time:.0f} s.",
    Ending.WALL: "The compiler was stopped: it took too long.",
    Ending.MEMORY: "The compiler was stopped: it used more than {memory} MiB of memory.",
    Ending.OUTPUT: "The compiled program is larger than {output} MiB.",
}


@dataclass(frozen=True)
class Program:
    """A program ready to run: its folder, the command inside the sandbox, the system files it needs."""

    folder: Path
    command: tuple[str, ...]
    readable: tuple[Path, ...]


@dataclass(frozen=True)
class Compilation:
    """The program, or None where it does not compile, and the beginning of what the compiler said."""

    program: Program | None
    output: str


def compile_program(sandbox: Sandbox, language: Language, source: str, folder: Path) -> Compilation:
    """Compile (or, for an interpreted language, check) the source, keeping everything in the empty `folder`.

    A program that was compiled before comes from the cache. Raises SandboxFault, OSError, and ToolMissing where
    there is no compiler.
    """
    # A lone surrogate cannot be encoded properly; the compiler shall be the one to say so.
    content = source.encode("utf-8", "surrogatepass")
    if not language.makes_program:
        sources = stored(folder / "source", language.source_name, content)
        outcome = run_compiler(sandbox, language, sources)
        if failed := _failure(outcome):
            return failed
        tool = language.tool()
        command = filled(language.run, tool, language, "")
        program = Program(sources, command, interpreter_files(tool))
        return Compilation(program, printable(outcome.stderr, _SHOWN))
    key = compile_key(language, "program", content)
    found = load_program(key)
    if found is None:
        sources = stored(folder / "source", language.source_name, content)
        outcome = _compiled(sandbox, language, content, sources)
        if failed := _failure(outcome):
            return failed
        found = outcome.stdout, outcome.stderr
        store_program(key, *found)
    made, said = found
    programs = stored(folder / "compiled", _PROGRAM_NAME, made)
    command = filled(language.run, language.tool(), language, f"{PROGRAM_FOLDER}/{_PROGRAM_NAME}")
    return Compilation(Program(programs, command, runtime_files()), printable(said, _SHOWN))


def _compiled(sandbox: Sandbox, language: Language, content: bytes, sources: Path) -> Outcome:
    if headers := precompiled_headers(sandbox, language, content):
        try:
            outcome = run_compiler(sandbox, language, sources, headers=headers)
        except SandboxFault:
            pass  # another judge may just have removed the headers from the cache
        else:
            if outcome.exit_status == 0 or outcome.ending in (Ending.CPU, Ending.WALL, Ending.OUTPUT):
                return outcome
    # So that what a program is told and whether it compiles never hang on the precompiled header.
    return run_compiler(sandbox, language, sources)


def _failure(outcome: Outcome) -> Compilation | None:
    output = printable(outcome.stderr, _SHOWN)
    if problem := _PROBLEMS.get(outcome.ending):
        limits = compiler.COMPILE_LIMITS
        said = problem.format(
            time=limits.time, memory=limits.memory // MEBIBYTE, output=limits.output // MEBIBYTE
        )
        return Compilation(None, f"{said}\n{output}"[:_SHOWN])
    return Compilation(None, output) if outcome.exit_status != 0 else None
