"""Running a compiler inside the sandbox, and what its results depend on besides the source."""

import hashlib
import platform
from pathlib import Path

from judge.languages import Language, compiler_version
from judge.limits import MEBIBYTE, Limits
from judge.sandbox import (
    PROGRAM_FOLDER,
    SCRATCH_FOLDER,
    Job,
    Outcome,
    Sandbox,
    compiler_files,
    interpreter_files,
    run_with_retries,
)

COMPILE_LIMITS = Limits(time=60, memory=2048 * MEBIBYTE, output=256 * MEBIBYTE)
ENVIRONMENT_VERSION = "1"
"""Raised whenever a change to this package may change what a compiler makes of the same source and flags."""

_INCLUDES = (
    Path("/usr/include"),
    Path("/usr/local/include"),
)  # changed when headers are installed or upgraded
_HEADERS = "/headers"  # where the compiler sees a folder of precompiled headers
_WALL = 30.0  # seconds beyond the CPU limit; a compiler that waits is reading something it should not
_RESULT = f"{SCRATCH_FOLDER}/program"

# The compiler's words go to standard error and the finished program to standard output, so that no folder of
# the host need be writable. $0 is the program, "$@" the compiler's command.
_COMPILE_AND_PRINT = '"$@" >&2 && cat "$0"'


def run_compiler(
    sandbox: Sandbox,
    language: Language,
    sources: Path,
    *,
    options: tuple[str, ...] = (),
    headers: Path | None = None,
) -> Outcome:
    """Run the language's compile command on the source in the folder `sources`, `options` before all others.

    What it made is the outcome's standard output, what it said the standard error. `headers` is a folder searched
    for included files before those of the system. Raises SandboxFault, and ToolMissing where there is no compiler.
    """
    tool = language.tool()
    if headers:
        options = (*options, "-I", _HEADERS)
    first, *others = filled(language.compile, tool, language, _RESULT)
    command = (first, *options, *others)
    if language.makes_program:
        command = ("/bin/sh", "-c", _COMPILE_AND_PRINT, _RESULT, *command)
    return run_with_retries(
        sandbox,
        Job(
            command=command,
            folder=sources,
            readable=compiler_files(tool) if language.makes_program else interpreter_files(tool),
            input=None,
            limits=COMPILE_LIMITS,
            wall=COMPILE_LIMITS.time + _WALL,
            file_size=COMPILE_LIMITS.output,
            scratch=2 * COMPILE_LIMITS.output,
            mounted=((headers, _HEADERS),) if headers else (),
        ),
    )


def compile_key(language: Language, kind: str, source: bytes) -> str:
    """A name for all that decides what compiling this source makes: two compilations of one name are equal.

    Raises ToolMissing where there is no compiler, OSError where it cannot be looked at.
    """
    tool = language.tool()
    status = tool.stat()  # a compiler replaced while this process runs says its version anew only to the next
    parts = (
        ENVIRONMENT_VERSION,
        kind,
        language.source_name,
        *language.compile,
        str(tool),
        f"{status.st_size} {status.st_mtime_ns}",
        *(str(folder.stat().st_mtime_ns) for folder in _INCLUDES if folder.is_dir()),
        compiler_version(language.name),
        platform.machine(),
    )
    digest = hashlib.sha256(repr(parts).encode())
    digest.update(source)
    return digest.hexdigest()


def stored(folder: Path, name: str, content: bytes) -> Path:
    """A new folder with one file, both readable by the user the program runs as, whatever our umask is."""
    folder.mkdir()
    (folder / name).write_bytes(content)
    for path in (folder, folder / name):
        path.chmod(0o755)
    return folder


def filled(command: tuple[str, ...], tool: Path, language: Language, program: str) -> tuple[str, ...]:
    """A command of the language's row with its places filled; `program` is the program's path in the sandbox."""
    places = {"tool": str(tool), "source": f"{PROGRAM_FOLDER}/{language.source_name}", "program": program}
    return tuple(word.format_map(places) for word in command)
