"""Finding compilers and interpreters: at fixed places first, and never a version manager's shim.

A shim is a script that looks for the real program each time, which costs many times the program's own start and
reads files that a sandbox does not show. Each tool is looked for once per process.
"""

import functools
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

OLDEST_PYTHON = (3, 8)

_EXECUTABLE = b"\x7fELF"
_JAVA_FOLDERS = (Path("/usr/lib/jvm"), Path("/opt/java"), Path("/usr/java"), Path("/opt"))
_KOTLIN_FOLDERS = (Path("/opt/kotlinc"), Path("/usr/local/kotlinc"))
_DEBIAN_KOTLIN = Path("/usr/share/kotlin/kotlinc")


@functools.cache
def python_interpreter() -> Path | None:
    """The system's CPython where it is recent enough, else the one below the running virtual environment."""
    running = Path(getattr(sys, "_base_executable", sys.executable))
    return next((path.resolve() for path in (Path("/usr/bin/python3"), running) if _recent(path)), None)


def _recent(python: Path) -> bool:
    return python.is_file() and _succeeds(
        python, "-I", "-c", f"import sys; sys.exit(sys.version_info < {OLDEST_PYTHON})"
    )


@functools.cache
def pypy_interpreter() -> Path | None:
    """PyPy 3 of the system, else the first on PATH."""
    return _first_real(
        _named("pypy3", Path("/usr/bin"), Path("/usr/local/bin"), *Path("/opt").glob("pypy3*/bin"))
    )


@functools.cache
def gnu_compiler(program: str, standard: str) -> Path | None:
    """The system's compiler of that name, else the first on PATH; none where it does not know the standard."""
    found = _first_real(_named(program, Path("/usr/bin")))
    if found and _succeeds(found, f"-std={standard}", "-E", "-o", "/dev/null", "/dev/null"):
        return found
    return None


def java_compiler() -> Path | None:
    """`javac` of the system's Java, else of the newest installed, else the first on PATH."""
    return _java("javac")


def java_machine() -> Path | None:
    """`java` of the same installation as `java_compiler`, or the one there is where nothing can compile."""
    compiler = java_compiler()
    return compiler.with_name("java") if compiler else _java("java")


@functools.cache
def _java(program: str) -> Path | None:
    installed = sorted((path for folder in _JAVA_FOLDERS for path in folder.glob("*/bin")), key=_version)
    return _first_real(_named(program, Path("/usr/bin"), *reversed(installed)))


def _version(folder: Path) -> list[int]:
    """The numbers in the name of an installation, so that 21 counts as newer than 9."""
    digits = "".join(character if character.isdigit() else " " for character in folder.parent.name)
    return [int(number) for number in digits.split()[:1]]


@functools.cache
def kotlin_compiler() -> Path | None:
    """The archive of the Kotlin compiler (`lib/kotlin-compiler.jar`): installed by hand, of kotlinc on PATH, Debian's.

    Links of the folder are kept: the compiler looks for its libraries beside the archive.
    """
    kotlinc = shutil.which("kotlinc")
    on_path = [Path(kotlinc).resolve().parent.parent] if kotlinc else []
    homes = (*_KOTLIN_FOLDERS, *on_path, _DEBIAN_KOTLIN)
    archives = (home / "lib" / "kotlin-compiler.jar" for home in homes)
    return next((archive for archive in archives if archive.is_file()), None)


def _named(program: str, *folders: Path) -> Iterable[str]:
    yield from (str(folder / program) for folder in folders)
    if found := shutil.which(program):
        yield found


def _first_real(paths: Iterable[str]) -> Path | None:
    """The first that is a program and no script, without symbolic links."""
    resolved = (Path(path).resolve() for path in paths)
    return next((path for path in resolved if path.is_file() and _is_program(path)), None)


def _is_program(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_EXECUTABLE)) == _EXECUTABLE
    except OSError:
        return False


def _succeeds(*command: Path | str) -> bool:
    return subprocess.run([str(word) for word in command], check=False, capture_output=True).returncode == 0
