"""Running a compiler inside the sandbox, and what its results depend on besides the source."""

import hashlib
import platform
from collections.abc import Iterable
from pathlib import Path

from judge.languages import Language, compiler_version
from judge.limits import MEBIBYTE, Limits
from judge.sandbox import (
    PROGRAM_FOLDER,
    SCRATCH_FOLDER,
    Outcome,
    Run,
    Sandbox,
    Surroundings,
    compiler_files,
    interpreter_files,
    run_with_retries,
    runtime_files,
    virtual_machine_files,
)

Files = Iterable[tuple[str, bytes]]
"""Names, with `/` between folders, and contents."""

COMPILE_LIMITS = Limits(time=60, memory=2048 * MEBIBYTE, output=256 * MEBIBYTE)
ENVIRONMENT_VERSION = "2"
"""Raised whenever a change to this package may change what a compiler makes of the same source and flags."""

DRIVERS = ".drivers"
"""The folder beside the sources with the language's driver. No source can have such a name."""

# Changed when headers are installed or upgraded.
_INCLUDES = (Path("/usr/include"), Path("/usr/local/include"))
_SMALLEST_HEAP = 8  # MiB; a virtual machine refuses to start with less than two
_HEADERS = "/headers"  # where the compiler sees a folder of precompiled headers
_WALL = 30.0  # seconds beyond the CPU limit; a compiler that waits is reading something it should not
_RESULT = f"{SCRATCH_FOLDER}/program"

# The compiler's words go to standard error and the finished program to standard output, so that no folder of
# the host need be writable. $0 is the program, "$@" the compiler's command.
_COMPILE_AND_PRINT = '"$@" >&2 && cat "$0"'


def run_compiler(
    sandbox: Sandbox,
    language: Language,
    folder: Path,
    sources: tuple[str, ...],
    *,
    options: tuple[str, ...] = (),
    headers: Path | None = None,
) -> Outcome:
    """Run the language's compile command on the sources of the folder, named by it, `options` before all others.

    What it made is the outcome's standard output, what it said the standard error. `headers` is a folder searched
    for included files before those of the system. Raises SandboxFault, and ToolMissing where there is no compiler.
    """
    if headers:
        options = (*options, "-I", _HEADERS)
    first, *others = filled(language, language.compile, sources, _RESULT)
    command = (first, *options, *others)
    if language.makes_program:
        command = ("/bin/sh", "-c", _COMPILE_AND_PRINT, _RESULT, *command)
    surroundings = Surroundings(
        folder=folder,
        readable=_files_to_compile(language),
        file_size=COMPILE_LIMITS.output,
        scratch=2 * COMPILE_LIMITS.output,
        mounted=((headers, _HEADERS),) if headers else (),
    )
    with sandbox.open(surroundings) as container:
        return run_with_retries(container, Run(command, COMPILE_LIMITS, COMPILE_LIMITS.time + _WALL))


def compile_key(language: Language, kind: str, files: Files) -> str:
    """A name for all that decides what compiling these files makes: two compilations of one name are equal.

    Raises ToolMissing where there is no compiler, OSError where it cannot be looked at.
    """
    tool = language.tool()
    status = tool.stat()  # a compiler replaced while this process runs says its version anew only to the next
    parts = (
        ENVIRONMENT_VERSION,
        kind,
        *language.compile,
        str(tool),
        str(language.machine()),
        f"{status.st_size} {status.st_mtime_ns}",
        *(str(folder.stat().st_mtime_ns) for folder in _INCLUDES if folder.is_dir()),
        compiler_version(language.name),
        platform.machine(),
    )
    digest = hashlib.sha256(repr(parts).encode())
    for name, content in files:
        digest.update(repr((name, len(content))).encode())
        digest.update(content)
    return digest.hexdigest()


def stored(folder: Path, files: Files) -> Path:
    """A new folder with these files, all readable by the user the program runs as, whatever our umask is."""
    folder.mkdir()
    folder.chmod(0o755)
    for name, content in files:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        for parent in path.parents:
            if parent == folder:
                break
            parent.chmod(0o755)
        path.write_bytes(content)
        path.chmod(0o755)
    return folder


def filled(
    language: Language, command: tuple[str, ...], sources: tuple[str, ...], program: str, memory: int = 0
) -> tuple[str, ...]:
    """A command of the language's row with its places filled. Raises ToolMissing.

    `sources` are names in the program's folder, `program` is a path in the sandbox, `memory` the problem's limit in
    bytes.
    """
    places = {
        "tool": language.tool(),
        "libraries": language.tool().parent / "*",
        "machine": language.machine(),
        "driver": f"{PROGRAM_FOLDER}/{DRIVERS}/{language.driver.name}" if language.driver else "",
        "start": f"{PROGRAM_FOLDER}/{sources[0]}",
        "program": program,
        "memory": max(memory // MEBIBYTE, _SMALLEST_HEAP),
    }
    words: list[str] = []
    for word in command:
        if word == "{sources}":
            words += (f"{PROGRAM_FOLDER}/{name}" for name in sources)
        else:
            words.append(word.format_map(places))
    return tuple(words)


def _files_to_compile(language: Language) -> tuple[Path, ...]:
    if not language.makes_program:
        return interpreter_files(language.tool())
    machine = language.machine()
    return (*compiler_files(language.tool()), *(virtual_machine_files(machine) if machine else ()))


def files_to_run(language: Language) -> tuple[Path, ...]:
    """What a program of this language needs of the system when it runs. Raises ToolMissing."""
    if not language.makes_program:
        return interpreter_files(language.tool())
    machine = language.machine()
    return virtual_machine_files(machine) if machine else runtime_files()
