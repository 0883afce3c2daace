"""Search for compilers and interpreters. Each tool is looked up once per process.

A version manager's shim is never returned: a shim looks for the real program at each start, which takes many times
as long as the program's own start, and reads files that the sandbox does not show.
"""

import functools
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

OLDEST_PYTHON = (3, 8)
OLDEST_NODE = 18

_EXECUTABLE = b"\x7fELF"
_SYSTEM = Path("/usr/bin")
_JAVA_FOLDERS = (Path("/usr/lib/jvm"), Path("/opt/java"), Path("/usr/java"), Path("/opt"))
_KOTLIN_FOLDERS = (Path("/opt/kotlinc"), Path("/usr/local/kotlinc"))
_DEBIAN_KOTLIN = Path("/usr/share/kotlin/kotlinc")


@functools.cache
def python_interpreter() -> Path | None:
    """Return the system's CPython if it is recent enough, else the one below the running virtual environment."""
    running = Path(getattr(sys, "_base_executable", sys.executable))
    return next((path.resolve() for path in (_SYSTEM / "python3", running) if _is_recent(path)), None)


def _is_recent(python: Path) -> bool:
    check = f"import sys; sys.exit(sys.version_info < {OLDEST_PYTHON})"
    return python.is_file() and _output(python, "-I", "-c", check) is not None


@functools.cache
def pypy_interpreter() -> Path | None:
    """Return PyPy 3 of the system, else the first on PATH."""
    folders = (_SYSTEM, Path("/usr/local/bin"), *Path("/opt").glob("pypy3*/bin"))
    return _first_executable(_candidates("pypy3", *folders))


@functools.cache
def gnu_compiler(program: str, standard: str) -> Path | None:
    """Return the system's compiler of that name, else the first on PATH; None if it does not support the standard."""
    found = _first_executable(_candidates(program, _SYSTEM))
    if found and _output(found, f"-std={standard}", "-E", "-o", "/dev/null", "/dev/null") is not None:
        return found
    return None


@functools.cache
def rust_compiler() -> Path | None:
    """Return the first `rustc` on PATH, else the system's, that supports edition 2021; None without a linker.

    For rustup's shim, return the compiler that it starts.
    """
    if not (_SYSTEM / "cc").exists():
        return None
    return _installed("rustc", ("--edition=2021", "--print=sysroot"), "bin/rustc")


@functools.cache
def go_compiler() -> Path | None:
    """Return the first `go` on PATH, else the system's."""
    return _installed("go", ("env", "GOROOT"), "bin/go")


@functools.cache
def node_interpreter() -> Path | None:
    """Return the first recent `node` on PATH, else the system's; for a shim, the program that it starts."""
    recent = f"parseInt(process.versions.node) >= {OLDEST_NODE} ? process.execPath : ''"
    return _installed("node", ("-p", recent), "")


def _installed(program: str, query: tuple[str, ...], inside: str) -> Path | None:
    """Return the path `inside` the folder that the program prints for the query; PATH is searched first."""
    candidates = dict.fromkeys(filter(None, (shutil.which(program), str(_SYSTEM / program))))
    answers = (_output(path, *query) for path in candidates if Path(path).is_file())
    return _first_executable(str(Path(answer) / inside) for answer in answers if answer)


def java_compiler() -> Path | None:
    """Return `javac` of the system's Java, else of the newest installed one, else the first on PATH."""
    return _java("javac")


def java_machine() -> Path | None:
    """Return `java` of the same installation as `java_compiler`, or any `java` where there is no compiler."""
    compiler = java_compiler()
    return compiler.with_name("java") if compiler else _java("java")


@functools.cache
def _java(program: str) -> Path | None:
    installed = sorted((path for folder in _JAVA_FOLDERS for path in folder.glob("*/bin")), key=_version)
    return _first_executable(_candidates(program, _SYSTEM, *reversed(installed)))


def _version(folder: Path) -> list[int]:
    """Return the first number in the name of an installation's folder, so that 21 is newer than 9."""
    digits = "".join(character if character.isdigit() else " " for character in folder.parent.name)
    return [int(number) for number in digits.split()[:1]]


@functools.cache
def kotlin_compiler() -> Path | None:
    """Return the archive of the Kotlin compiler (`lib/kotlin-compiler.jar`).

    The order is: one installed by hand, that of kotlinc on PATH, Debian's. Links of the folder are kept: the compiler
    looks for its libraries in the folder of the archive.
    """
    kotlinc = shutil.which("kotlinc")
    on_path = [Path(kotlinc).resolve().parent.parent] if kotlinc else []
    homes = (*_KOTLIN_FOLDERS, *on_path, _DEBIAN_KOTLIN)
    archives = (home / "lib" / "kotlin-compiler.jar" for home in homes)
    return next((archive for archive in archives if archive.is_file()), None)


def _candidates(program: str, *folders: Path) -> Iterable[str]:
    yield from (str(folder / program) for folder in folders)
    if found := shutil.which(program):
        yield found


def _first_executable(paths: Iterable[str]) -> Path | None:
    """Return the first path that is an executable and not a script, with symbolic links resolved."""
    resolved = (Path(path).resolve() for path in paths)
    return next((path for path in resolved if path.is_file() and _is_executable(path)), None)


def _is_executable(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_EXECUTABLE)) == _EXECUTABLE
    except OSError:
        return False


def _output(*command: Path | str) -> str | None:
    """Return the stripped output of the command, or None where it fails."""
    try:
        finished = subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return finished.stdout.strip()
