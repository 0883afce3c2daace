"""The files of the system that a program can read. All other files of the host are invisible to it.

/usr as a whole is not among them: container images keep projects, and so hidden tests, below it.
"""

import functools
from pathlib import Path

_LIBRARIES = tuple(
    map(
        Path,
        (
            "/lib",
            "/lib32",
            "/lib64",
            "/usr/lib",
            "/usr/lib32",
            "/usr/lib64",
            "/usr/local/lib",
            "/usr/local/lib64",
        ),
    )
)
_TOOLS = tuple(map(Path, ("/bin", "/usr/bin", "/usr/include", "/usr/libexec", "/usr/local/include")))


def runtime_files() -> tuple[Path, ...]:
    """Return the files that a compiled program needs: the shared libraries."""
    return _LIBRARIES


@functools.cache
def interpreter_files(interpreter: Path) -> tuple[Path, ...]:
    """Return the files that an interpreter needs: itself, its standard library, the shared libraries."""
    prefix = interpreter.parent.parent
    return (*_LIBRARIES, prefix / "lib", prefix / "lib64", interpreter)


@functools.cache
def compiler_files(compiler: Path) -> tuple[Path, ...]:
    """Return the files that a compiler needs: programs, headers, libraries, and the targets of links in its folder."""
    prefix = compiler.parent.parent
    elsewhere = () if prefix in (Path("/usr"), Path("/usr/local"), Path("/")) else (prefix,)
    linked = (
        {path.resolve().parent for path in compiler.parent.iterdir() if path.is_symlink()}
        if elsewhere
        else set()
    )
    return (*_LIBRARIES, *_TOOLS, *elsewhere, *sorted(linked))


@functools.cache
def virtual_machine_files(java: Path) -> tuple[Path, ...]:
    """Return the files that a Java virtual machine needs: its installation, and its settings in /etc."""
    home = java.parent.parent
    links = (
        path.resolve()
        for folder in ("conf", "lib")
        for path in (home / folder).rglob("*")
        if path.is_symlink()
    )
    settings = {
        Path(*path.parts[:3]) for path in links if path.parts[1:2] == ("etc",) and "java" in path.parts[2]
    }
    elsewhere = () if any(home.is_relative_to(folder) for folder in _LIBRARIES) else (home,)
    return (*_LIBRARIES, *elsewhere, *sorted(settings))
