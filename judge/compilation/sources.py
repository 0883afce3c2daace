"""Source files of a program, checked before a compiler reads them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from judge.toolchains import Language

MAXIMUM_BYTES = 2**20
"""Bytes of all files together."""

MAXIMUM_FILES = 100

_NAME = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9_.+-]{0,99}/){0,8}[A-Za-z0-9_][A-Za-z0-9_.+-]{0,99}")
_BYTE_ORDER_MARK = "\ufeff"


class UnusableSourceError(ValueError):
    """A source that no compiler needs to read; the message says what is wrong, where, and what is allowed."""


@dataclass(frozen=True)
class Sources:
    """The files of a program by name, ordered by name, and the names of its source files.

    The first of `programs` is the file that an interpreter starts.
    """

    files: tuple[tuple[str, bytes], ...]
    programs: tuple[str, ...]


def read_sources(given: str | Mapping[str, str], language: Language) -> Sources:
    """Return the files of a program: `given` is its text, or the texts of its files by name.

    Names are relative, with `/` between folders. Raises UnusableSourceError.
    """
    texts = {language.source_name: given} if isinstance(given, str) else given
    _check_names(texts)
    files = tuple((name, _encoded(name, texts[name])) for name in sorted(texts))
    if sum(len(content) for _, content in files) > MAXIMUM_BYTES:
        raise _too_long()
    programs = tuple(name for name, _ in files if PurePosixPath(name).suffix.lower() in language.extensions)
    if not programs:
        raise UnusableSourceError(
            f"None of the files is a {language.title} source ({', '.join(language.extensions)}): "
            f"{', '.join(sorted(texts)) or 'there are none'}."
        )
    start = next((name for name in language.start_names if name in programs), programs[0])
    return Sources(files, (start, *(name for name in programs if name != start)))


def _check_names(texts: Mapping[str, str]) -> None:
    """Raise UnusableSourceError for too many files, too much text, or names that cannot be files."""
    if len(texts) > MAXIMUM_FILES:
        raise UnusableSourceError(f"There are {len(texts)} files; at most {MAXIMUM_FILES} are allowed.")
    # Counts characters first, which avoids encoding a text that is far too long.
    if sum(map(len, texts.values())) > MAXIMUM_BYTES:
        raise _too_long()
    for name in texts:
        if not _NAME.fullmatch(name):
            raise UnusableSourceError(
                f"A file cannot be called {name[:100]!r}: names consist of the letters A to Z and a to z, digits "
                "and _ . + -, begin with a letter, digit or _, and have / between folders."
            )
    parents = (parent for name in texts if "/" in name for parent in PurePosixPath(name).parents)
    if nested := set(map(str, parents)) & texts.keys():
        raise UnusableSourceError(f"{min(nested)} is a file and a folder at once.")


def _encoded(name: str, text: str) -> bytes:
    text = text.removeprefix(_BYTE_ORDER_MARK)  # some compilers reject it
    if "\r" in text and "\n" not in text:  # C and C++ would read a single line
        text = text.replace("\r", "\n")
    if "\0" in text:
        raise UnusableSourceError(
            f"{_place(name, text, text.index(chr(0)))}: a program cannot contain a NUL byte."
        )
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        problem = "a half of a character (a lone surrogate) cannot be written in UTF-8."
        raise UnusableSourceError(f"{_place(name, text, error.start)}: {problem}") from None


def _place(name: str, text: str, position: int) -> str:
    line = text.count("\n", 0, position) + 1
    return f"{name}, line {line}, character {position - text.rfind(chr(10), 0, position)}"


def _too_long() -> UnusableSourceError:
    return UnusableSourceError(
        f"The program is too long: at most {MAXIMUM_BYTES} bytes of source are allowed."
    )
