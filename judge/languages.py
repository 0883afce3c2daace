"""The languages as a table: how a program is named, compiled and run, and how much more time it gets."""

import functools
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from judge.tools import (
    gnu_compiler,
    java_compiler,
    java_machine,
    kotlin_compiler,
    pypy_interpreter,
    python_interpreter,
)

_MEBIBYTE = 2**20
_DRIVERS = Path(__file__).parent / "drivers"


class UnknownLanguage(LookupError):
    """No such language; the message names those there are."""


class ToolMissing(Exception):
    """The compiler or interpreter of a language is not installed; the message says how to get it."""


@dataclass(frozen=True)
class Language:
    """One row of the table. Where rows share an ending of file names, it means the first of them.

    `title` is what a person reads, `family` what Markdown calls programs of this and related rows. A single source is
    called `source_name`. In `compile`, `run` and `version`, `{tool}` stands for the compiler or
    interpreter, `{libraries}` for all archives beside it, `{machine}` for the virtual machine, `{driver}` for a file
    of ours that drives the compiler, `{sources}` for all source files, `{start}` for the one that is started,
    `{program}` for what the compiler writes, and `{memory}` for the problem's memory limit in MiB.

    `makes_program` is false where compiling only checks the sources, which are then themselves what runs;
    `has_warm_start` says that the sandbox may fork its programs from an interpreter that runs already.
    `allowance` is memory in bytes that the virtual machine needs for itself. The last line a program without
    memory says matches `out_of_memory`. `precompiled` is a header of g++'s worth compiling once for all programs.
    """

    name: str
    title: str
    family: str
    extensions: tuple[str, ...]
    source_name: str
    find_tool: Callable[[], Path | None]
    install: str
    compile: tuple[str, ...]
    run: tuple[str, ...]
    time_multiplier: float
    out_of_memory: str
    makes_program: bool = True
    has_warm_start: bool = False
    precompiled: str | None = None
    find_machine: Callable[[], Path | None] | None = None
    driver: Path | None = None
    allowance: int = 0
    version: tuple[str, ...] = ("{tool}", "--version")

    def tool(self) -> Path:
        """The compiler or interpreter. Raises ToolMissing."""
        return self._found(self.find_tool)

    def machine(self) -> Path | None:
        """The virtual machine that runs the programs, None where they need none. Raises ToolMissing."""
        return self._found(self.find_machine) if self.find_machine else None

    def _found(self, find: Callable[[], Path | None]) -> Path:
        found = find()
        if found is None:
            raise ToolMissing(f"{self.title} programs cannot be judged here. {self.install}")
        return found


_CHECK_PYTHON = "import sys\nfor name in sys.argv[1:]: compile(open(name, 'rb').read(), name, 'exec')"

PYTHON = Language(
    name="python",
    title="Python 3",
    family="python",
    extensions=(".py", ".py3"),
    source_name="main.py",
    find_tool=python_interpreter,
    install="Install Python 3.8 or newer, on Debian and Ubuntu: sudo apt install python3",
    compile=("{tool}", "-I", "-c", _CHECK_PYTHON, "{sources}"),
    makes_program=False,
    has_warm_start=True,
    run=("{tool}", "-B", "{start}"),
    time_multiplier=2.0,
    out_of_memory=r"[\w.]*MemoryError(:.*)?",
)

PYPY = replace(
    PYTHON,
    name="pypy",
    title="Python 3 (PyPy)",
    find_tool=pypy_interpreter,
    install="Install PyPy 3, on Debian and Ubuntu: sudo apt install pypy3",
    has_warm_start=False,
    version=(
        "{tool}",
        "-I",
        "-c",
        "import sys; print('PyPy %d.%d.%d' % sys.pypy_version_info[:3], sys.version)",
    ),
)

CPP = Language(
    name="cpp",
    title="C++ 20",
    family="cpp",
    extensions=(".cpp", ".cc", ".cxx", ".c++"),
    source_name="main.cpp",
    find_tool=functools.partial(gnu_compiler, "g++", "gnu++20"),
    install="Install g++ 10 or newer, on Debian and Ubuntu: sudo apt install g++",
    compile=("{tool}", "-std=gnu++20", "-O2", "-pipe", "-DONLINE_JUDGE", "-o", "{program}", "{sources}"),
    run=("{program}",),
    time_multiplier=1.0,
    out_of_memory=r"\s*what\(\):\s+std::bad_alloc",
    precompiled="bits/stdc++.h",
)


def _cpp(name: str, title: str, standard: str, oldest: int) -> Language:
    return replace(
        CPP,
        name=name,
        title=title,
        find_tool=functools.partial(gnu_compiler, "g++", standard),
        install=f"Install g++ {oldest} or newer, which knows {standard}, on Debian and Ubuntu: sudo apt install g++",
        compile=tuple(word.replace("gnu++20", standard) for word in CPP.compile),
    )


CPP17 = _cpp("cpp17", "C++ 17", "gnu++17", 8)
CPP23 = _cpp("cpp23", "C++ 23", "gnu++2b", 11)

C = replace(
    CPP,
    name="c",
    title="C",
    family="c",
    extensions=(".c",),
    source_name="main.c",
    find_tool=functools.partial(gnu_compiler, "gcc", "gnu17"),
    install="Install gcc 8 or newer, on Debian and Ubuntu: sudo apt install gcc",
    compile=("{tool}", "-std=gnu17", "-O2", "-pipe", "-DONLINE_JUDGE", "-o", "{program}", "{sources}", "-lm"),
    precompiled=None,
)

_JVM = ("{machine}", "-XX:+UseSerialGC", "-XX:ActiveProcessorCount=1", "-XX:-UsePerfData")
# No long-running program is compiled: the first of the two just-in-time compilers is the faster choice.
_JVM_COMPILER = (*_JVM, "-XX:TieredStopAtLevel=1", "-Xmx1g", "-Xss64m")
_JVM_STACK = 64  # MiB
_JVM_UNWINDING = 6 * _JVM_STACK
"""What the machine takes, measured, to unwind such a stack when it overflows in compiled code."""

JAVA = Language(
    name="java",
    title="Java",
    family="java",
    extensions=(".java",),
    source_name="Main.java",
    find_tool=java_compiler,
    find_machine=java_machine,
    install="Install a JDK 11 or newer, on Debian and Ubuntu: sudo apt install default-jdk-headless",
    compile=(*_JVM_COMPILER, "{driver}", "{program}", "{sources}"),
    driver=_DRIVERS / "CompileJava.java",
    run=(
        *_JVM,
        # The error is the machine's last word even where the program would catch it or print a long trace.
        "-XX:+ExitOnOutOfMemoryError",
        "-XX:+DisplayVMOutputToStderr",
        f"-Xss{_JVM_STACK}m",
        "-Xms{memory}m",
        "-Xmx{memory}m",
        "-jar",
        "{program}",
    ),
    time_multiplier=2.0,
    out_of_memory=r"Terminating due to java\.lang\.OutOfMemoryError.*",
    allowance=(64 + _JVM_STACK + _JVM_UNWINDING) * _MEBIBYTE,
)

KOTLIN = replace(
    JAVA,
    name="kotlin",
    title="Kotlin",
    family="kotlin",
    extensions=(".kt",),
    source_name="main.kt",
    find_tool=kotlin_compiler,
    install=(
        "Install a JDK and the Kotlin compiler, on Debian and Ubuntu: sudo apt install default-jdk-headless kotlin; "
        "a newer one than theirs: unpack kotlin-compiler-*.zip of the Kotlin project to /opt/kotlinc"
    ),
    compile=(*_JVM_COMPILER, "-cp", "{libraries}", "{driver}", "{tool}", "{program}", "{sources}"),
    driver=_DRIVERS / "CompileKotlin.java",
    version=(*_JVM_COMPILER, "-cp", "{libraries}", "org.jetbrains.kotlin.cli.jvm.K2JVMCompiler", "-version"),
)

LANGUAGES: dict[str, Language] = {
    language.name: language for language in (PYTHON, PYPY, CPP, CPP17, CPP23, C, JAVA, KOTLIN)
}


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
    known = dict.fromkeys(suffix for language in LANGUAGES.values() for suffix in language.extensions)
    raise UnknownLanguage(f"no language has files named like {text!r}; known endings: {', '.join(known)}")


@functools.cache
def compiler_version(language: str) -> str:
    """The first line of what the compiler or interpreter says about itself.

    Raises UnknownLanguage, or ToolMissing where it is not installed or does not work.
    """
    row = get_language(language)
    places = {"tool": row.tool(), "libraries": row.tool().parent / "*", "machine": row.machine()}
    command = [word.format_map(places) for word in row.version]
    try:
        finished = subprocess.run(command, check=True, capture_output=True, text=True)
        return (finished.stdout or finished.stderr).splitlines()[0].strip()
    except (OSError, subprocess.CalledProcessError, IndexError) as error:
        said = (
            f"{row.title} programs cannot be judged here: {command[0]} does not work ({error}). {row.install}"
        )
        raise ToolMissing(said) from error
