"""The types of a language's entry: `Language`, and `Family` for what related languages share."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path


class ToolMissingError(Exception):
    """The compiler or interpreter of a language is not installed; the message says how to install it."""


@dataclass(frozen=True)
class ProgramShape:
    """The marks by which extraction recognizes a complete program in a language with braces.

    `main` matches the head of the main function; None for a language whose programs start at the first statement.
    `reading` and `writing` match input and output. `foreign` matches text that no program of the language holds,
    but programs of similar languages do. `definition` matches functions and types that the usual pattern misses.
    `literals` matches strings and comments where they differ from C's.
    """

    main: re.Pattern[str] | None
    reading: re.Pattern[str]
    writing: re.Pattern[str]
    foreign: re.Pattern[str]
    definition: re.Pattern[str] | None = None
    literals: re.Pattern[str] | None = None
    has_triple_quotes: bool = False


@dataclass(frozen=True)
class Family:
    """Languages that Markdown, highlighting and extraction treat alike, such as all standards of C++.

    `name` is the tag of a Markdown fence, `title` the label over highlighted code. `tags` are the names that replies
    use, without version numbers. `lexer` is the name of Pygments' lexer. `headers` are suffixes of files that belong
    to programs but are not compiled by themselves. Tags in `ambiguous_tags` are English words too: extraction
    accepts them only behind a fence. `shape` is None where extraction parses programs or cannot recognize them.
    """

    name: str
    title: str
    tags: tuple[str, ...]
    lexer: str
    headers: tuple[str, ...] = ()
    ambiguous_tags: tuple[str, ...] = ()
    shape: ProgramShape | None = None


@dataclass(frozen=True)
class Language:
    """The entry of one language: everything that the project has to know about it.

    `title` is the name for people, `description` the compiler or interpreter with its options for the documentation.
    A file belongs to the first language with its suffix in `extensions`. A single source is stored as
    `source_name`; of several sources the first of `start_names` is started, else the first by name. `package_code`
    is the name in the problem package format. References and suites prefer the language with the lowest
    `speed_rank`. `time_multiplier` is the factor of scaled limits.

    `find_tool` and `find_machine` return the compiler or interpreter and the virtual machine, or None. In
    `compile`, `run`, `version` and the values of `environment`, `{tool}` stands for the compiler or interpreter,
    `{libraries}` for all archives in its folder, `{machine}` for the virtual machine, `{driver}` for the project's
    program that calls the compiler, `{sources}` for all source files, `{start}` for the source to start,
    `{program}` for the compiler's result, and `{memory}` for the problem's memory limit in MiB.

    `makes_program` is False where compiling only checks the sources, which are then run themselves.
    `uses_fork_server` is True where the sandbox can fork programs from a running interpreter; the compiler's result is
    then the code that it loads, empty for a program that it cannot run. `allowance` is memory
    in bytes for the run-time system, on top of the problem's limit. `out_of_memory` is a regular expression that is
    searched in the stripped standard error of a program that failed: a match means MLE. `precompiled` is a header
    that is compiled once for all programs. `readable` are globs of system files that the toolchain reads besides its
    own folders.
    """

    name: str
    title: str
    description: str
    family: Family
    extensions: tuple[str, ...]
    source_name: str
    find_tool: Callable[[], Path | None]
    install: str
    compile: tuple[str, ...]
    run: tuple[str, ...]
    time_multiplier: float
    speed_rank: int
    out_of_memory: str
    package_code: str = ""
    start_names: tuple[str, ...] = ()
    makes_program: bool = True
    uses_fork_server: bool = False
    precompiled: str | None = None
    find_machine: Callable[[], Path | None] | None = None
    driver: Path | None = None
    allowance: int = 0
    environment: Mapping[str, str] = field(default_factory=dict)
    readable: tuple[str, ...] = ()
    version: tuple[str, ...] = ("{tool}", "--version")

    def tool(self) -> Path:
        """Return the compiler or interpreter. Raises ToolMissingError."""
        return self._found(self.find_tool)

    def machine(self) -> Path | None:
        """Return the virtual machine that runs the programs, None where they need none. Raises ToolMissingError."""
        return self._found(self.find_machine) if self.find_machine else None

    def _found(self, find: Callable[[], Path | None]) -> Path:
        found = find()
        if found is None:
            raise ToolMissingError(f"{self.title} programs cannot be judged here. {self.install}")
        return found
