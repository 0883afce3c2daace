"""Which files of the system a program may read. Everything else of the host does not exist for it.

/usr as a whole is not among them: containers keep projects, and so hidden tests, below it.
"""

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
    """What a compiled program needs: the shared libraries."""
    return _LIBRARIES


def interpreter_files(interpreter: Path) -> tuple[Path, ...]:
    """What an interpreter needs: itself, its standard library, the shared libraries."""
    prefix = interpreter.parent.parent
    return (*_LIBRARIES, prefix / "lib", prefix / "lib64", interpreter)


def compiler_files(compiler: Path) -> tuple[Path, ...]:
    """What a compiler needs: its programs, headers and libraries."""
    prefix = compiler.parent.parent
    elsewhere = () if prefix in (Path("/usr"), Path("/usr/local"), Path("/")) else (prefix,)
    return (*_LIBRARIES, *_TOOLS, *elsewhere)
