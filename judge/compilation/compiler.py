"""A compiler's run in the sandbox, and the cache key of its result."""

import hashlib
import os
import platform
from collections.abc import Iterable
from pathlib import Path

from judge.records import MEBIBYTE, Limits
from judge.sandbox import (
    PROGRAM_FOLDER,
    SCRATCH_FOLDER,
    Mounts,
    RunOutcome,
    Sandbox,
    SandboxRun,
    compiler_files,
    interpreter_files,
    run_with_retries,
    runtime_files,
    virtual_machine_files,
)
from judge.toolchains import Language, compiler_version

Files = Iterable[tuple[str, bytes]]
"""Names, with `/` between folders, and contents."""

COMPILE_LIMITS = Limits(time=60, memory=2048 * MEBIBYTE, output=256 * MEBIBYTE)
"""The limits of compilers of trusted programs, such as validators; those of submissions have less time."""

COMPILE_IDLE = 2.0
"""Seconds; a compiler that waits longer reads something that it should not, such as its own messages."""

ENVIRONMENT_VERSION = "2"
"""A part of every cache key. Increment it if a change to this package may change a compiler's result."""

DRIVERS = ".drivers"
"""The folder with the language's driver, next to the sources. No source can have such a name."""

# Their modification times change when headers are installed or upgraded.
_INCLUDES = (Path("/usr/include"), Path("/usr/local/include"))
_SMALLEST_HEAP = 8  # MiB; a virtual machine refuses to start with less than two
_HEADERS = "/headers"  # the mount point of precompiled headers
_RESULT = f"{SCRATCH_FOLDER}/program"

# The compiler's messages go to standard error and its result to standard output, so no folder of the host needs to
# be writable. $0 is the result's path, "$@" the compiler's command.
_COMPILE_AND_PRINT = '"$@" >&2 && cat "$0"'


def run_compiler(
    sandbox: Sandbox,
    language: Language,
    files: Files,
    programs: tuple[str, ...],
    *,
    options: tuple[str, ...] = (),
    headers: Path | None = None,
    limits: Limits = COMPILE_LIMITS,
) -> RunOutcome:
    """Run the language's compile command on `programs`, the source files among `files`.

    `options` precede all others. Standard output of the outcome is the compiler's result, standard error its messages.
    `headers` is a folder that precedes the system's include folders. Raises SandboxFaultError, and ToolMissingError
    where there is no compiler.
    """
    if headers:
        options = (*options, "-I", _HEADERS)
    first, *others = filled(language, language.compile, programs, _RESULT)
    command = (first, *options, *others)
    if language.makes_program:
        command = ("/bin/sh", "-c", _COMPILE_AND_PRINT, _RESULT, *command)
    mounts = Mounts(
        files=tuple(files),
        readable=_files_to_compile(language),
        file_size=limits.output,
        scratch=2 * limits.output,
        mounted=((headers, _HEADERS),) if headers else (),
        environment=environment(language, limits.memory),
        random_devices=False,  # an included device is an endless source
    )
    with sandbox.open(mounts) as container:
        return run_with_retries(container, SandboxRun(command, limits, idle=COMPILE_IDLE))


def compile_key(language: Language, kind: str, files: Files) -> str:
    """Return the cache key of a compilation; compilations with the same key have the same result.

    Raises ToolMissingError where there is no compiler, OSError where the compiler's file cannot be read.
    """
    tool = language.tool()
    status = tool.stat()  # detects a compiler that is replaced while `compiler_version` is cached
    parts = (
        ENVIRONMENT_VERSION,
        kind,
        *language.compile,
        *(f"{name}={value}" for name, value in language.environment.items()),
        str(tool),
        str(language.machine()),
        f"{status.st_size} {status.st_mtime_ns}",
        *map(_modified, _INCLUDES),
        compiler_version(language.name),
        platform.machine(),
    )
    digest = hashlib.sha256(repr(parts).encode())
    for name, content in files:
        digest.update(repr((name, len(content))).encode())
        digest.update(content)
    return digest.hexdigest()


def _modified(folder: Path) -> str:
    try:
        return str(os.stat(folder).st_mtime_ns)
    except OSError:
        return ""


def filled(
    language: Language, command: tuple[str, ...], sources: tuple[str, ...], program: str, memory: int = 0
) -> tuple[str, ...]:
    """Return a command of the language's entry with its placeholders filled. Raises ToolMissingError.

    `sources` are names in the program's folder, `program` is a path in the sandbox, `memory` the problem's limit in
    bytes.
    """
    tool = language.tool()
    places = {
        "tool": tool,
        "libraries": f"{os.path.dirname(tool)}/*",
        "machine": language.machine(),
        "driver": f"{PROGRAM_FOLDER}/{DRIVERS}/{language.driver.name}" if language.driver else "",
        "start": f"{PROGRAM_FOLDER}/{sources[0]}",
        "program": program,
        "memory": _heap(memory),
    }
    words: list[str] = []
    for word in command:
        if word == "{sources}":
            words += (f"{PROGRAM_FOLDER}/{name}" for name in sources)
        else:
            words.append(word.format_map(places))
    return tuple(words)


def environment(language: Language, memory: int) -> dict[str, str]:
    """Return the language's environment variables. `memory` is the problem's limit in bytes."""
    return {name: value.format(memory=_heap(memory)) for name, value in language.environment.items()}


def _heap(memory: int) -> int:
    return max(memory // MEBIBYTE, _SMALLEST_HEAP)


def _files_to_compile(language: Language) -> tuple[Path, ...]:
    if not language.makes_program:
        return files_to_run(language)
    machine = language.machine()
    return (
        *compiler_files(language.tool()),
        *(virtual_machine_files(machine) if machine else ()),
        *_readable(language),
    )


def files_to_run(language: Language) -> tuple[Path, ...]:
    """Return the system files that a program of this language needs when it runs. Raises ToolMissingError."""
    if not language.makes_program:
        return (*interpreter_files(language.tool()), *_readable(language))
    machine = language.machine()
    return virtual_machine_files(machine) if machine else runtime_files()


def _readable(language: Language) -> tuple[Path, ...]:
    """Return the existing paths of the globs in `Language.readable`."""
    return tuple(path for glob in language.readable for path in sorted(Path("/").glob(glob.lstrip("/"))))
