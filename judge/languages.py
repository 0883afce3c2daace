"""The languages as a table: how a program is named, compiled and run, and how much more time it gets."""

import functools
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

OLDEST_PYTHON = (3, 8)


class UnknownLanguage(LookupError):
    """No such language; the message names those there are."""


class ToolMissing(Exception):
    """The compiler or interpreter of a language is not installed; the message says how to get it."""


@dataclass(frozen=True)
class Language:
    """One row of the table.

    In `compile` and `run`, `{tool}` stands for the compiler or interpreter, `{source}` for the source file and
    `{program}` for what the compiler writes. `makes_program` is false where compiling only checks the source,
    which is then itself what runs. `precompiled` is a header of g++'s worth compiling once for all programs.
    """

    name: str
    title: str
    extensions: tuple[str, ...]
    source_name: str
    find_tool: Callable[[], Path | None]
    install: str
    compile: tuple[str, ...]
    makes_program: bool
    run: tuple[str, ...]
    time_multiplier: float
    precompiled: str | None = None

    def tool(self) -> Path:
        """The compiler or interpreter. Raises ToolMissing."""
        found = self.find_tool()
        if found is None:
            raise ToolMissing(f"{self.title} programs cannot be judged here. {self.install}")
        return found


@functools.cache
def python_interpreter() -> Path | None:
    """The system's CPython where it is recent enough, else the one below the running virtual environment.

    Never what PATH says: that may be a shim which starts ten times slower and reads the user's home.
    """
    running = Path(getattr(sys, "_base_executable", sys.executable))
    return next((path.resolve() for path in (Path("/usr/bin/python3"), running) if _recent(path)), None)


def _recent(python: Path) -> bool:
    command = [str(python), "-I", "-c", f"import sys; sys.exit(sys.version_info < {OLDEST_PYTHON})"]
    return python.is_file() and subprocess.run(command, check=False, capture_output=True).returncode == 0


@functools.cache
def cpp_compiler() -> Path | None:
    """The system's g++, else the first on PATH, without symbolic links."""
    found = shutil.which("g++", path="/usr/bin") or shutil.which("g++")
    return Path(found).resolve() if found else None


PYTHON = Language(
    name="python",
    title="Python 3",
    extensions=(".py", ".py3"),
    source_name="main.py",
    find_tool=python_interpreter,
    install="Install Python 3.8 or newer, on Debian and Ubuntu: sudo apt install python3",
    compile=("{tool}", "-I", "-c", "compile(open('{source}', 'rb').read(), '{source}', 'exec')"),
    makes_program=False,
    run=("{tool}", "-B", "{source}"),
    time_multiplier=2.0,
)

CPP = Language(
    name="cpp",
    title="C++ 20",
    extensions=(".cpp", ".cc", ".cxx", ".c++"),
    source_name="main.cpp",
    find_tool=cpp_compiler,
    install="Install g++, on Debian and Ubuntu: sudo apt install g++",
    compile=("{tool}", "-std=gnu++20", "-O2", "-pipe", "-DONLINE_JUDGE", "-o", "{program}", "{source}"),
    makes_program=True,
    run=("{program}",),
    time_multiplier=1.0,
    precompiled="bits/stdc++.h",
)

LANGUAGES: dict[str, Language] = {language.name: language for language in (PYTHON, CPP)}


def get_language(name: str) -> Language:
    """The language of that name. Raises UnknownLanguage."""
    try:
        return LANGUAGES[name]
    except KeyError:
        known = ", ".join(sorted(LANGUAGES))
        raise UnknownLanguage(f"no language is called {name!r}; there are: {known}") from None


def language_of(path: Path | str) -> str:
    """The name of the language of a file, by its suffix (or a bare suffix such as ".py").

    Raises UnknownLanguage.
    """
    text = str(path)
    suffix = text if text.startswith(".") and "/" not in text else Path(text).suffix
    for language in LANGUAGES.values():
        if suffix.lower() in language.extensions:
            return language.name
    known = ", ".join(suffix for language in LANGUAGES.values() for suffix in language.extensions)
    raise UnknownLanguage(f"no language has files named like {text!r}; known endings: {known}")


@functools.cache
def compiler_version(language: str) -> str:
    """The first line of what the compiler or interpreter says about itself.

    Raises UnknownLanguage, or ToolMissing where it is not installed.
    """
    command = [str(get_language(language).tool()), "--version"]
    finished = subprocess.run(command, check=True, capture_output=True, text=True)
    return (finished.stdout or finished.stderr).splitlines()[0].strip()
