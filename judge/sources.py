"""What is handed in: one text or several named ones, checked before any compiler sees them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from judge.languages import Language

MOST_BYTES = 2**20
"""Of all files together. Generated tables make long programs; what is longer is no program."""

MOST_FILES = 100

_NAME = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9_.+-]{0,99}/){0,8}[A-Za-z0-9_][A-Za-z0-9_.+-]{0,99}")
_BYTE_ORDER_MARK = "\ufeff"


class UnusableSource(ValueError):
    """No compiler need look at it; the message says what is wrong, where, and what would be right."""


@dataclass(frozen=True)
class Sources:
    """The files of a program by name, in the order of their names, and which of them are source files.

    The first of `programs` is the one that an interpreted program is started with.
    """

    files: tuple[tuple[str, bytes], ...]
    programs: tuple[str, ...]


def read_sources(given: str | Mapping[str, str], language: Language) -> Sources:
    """The files of a program: `given` is its text, or the texts of its files by name.

    Names are relative, with `/` between folders. Raises UnusableSource.
    """
    texts = {language.source_name: given} if isinstance(given, str) else given
    if len(texts) > MOST_FILES:
        raise UnusableSource(f"There are {len(texts)} files; at most {MOST_FILES} are allowed.")
    # First by characters: a text that is far too long is not even encoded.
    if sum(map(len, texts.values())) > MOST_BYTES:
        raise _too_long()
    for name in texts:
        if not _NAME.fullmatch(name):
            raise UnusableSource(
                f"A file cannot be called {name[:100]!r}: names are made of the letters A to Z and a to z, digits "
                "and _ . + -, begin with a letter, digit or _, and have / between folders."
            )
    if nested := {str(parent) for name in texts for parent in PurePosixPath(name).parents} & texts.keys():
        raise UnusableSource(f"{min(nested)} is a file and a folder at once.")
    files = tuple((name, _encoded(name, texts[name])) for name in sorted(texts))
    if sum(len(content) for _, content in files) > MOST_BYTES:
        raise _too_long()
    programs = tuple(name for name, _ in files if PurePosixPath(name).suffix.lower() in language.extensions)
    if not programs:
        raise UnusableSource(
            f"None of the files is a {language.title} source ({', '.join(language.extensions)}): "
            f"{', '.join(sorted(texts)) or 'there are none'}."
        )
    return Sources(files, _in_order(programs))


def _in_order(programs: tuple[str, ...]) -> tuple[str, ...]:
    """The one to start first: main.py, else __main__.py, else the first by name, as the ICPC's rule is."""
    first = next((name for name in ("main.py", "__main__.py") if name in programs), programs[0])
    return first, *(name for name in programs if name != first)


def _encoded(name: str, text: str) -> bytes:
    text = text.removeprefix(_BYTE_ORDER_MARK)  # not every compiler takes it
    if "\r" in text and "\n" not in text:  # to C and C++ that would be a single line
        text = text.replace("\r", "\n")
    if "\0" in text:
        raise UnusableSource(
            f"{_place(name, text, text.index(chr(0)))}: a NUL byte cannot stand in a program."
        )
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        said = "a half of a character (a lone surrogate) cannot be written in UTF-8."
        raise UnusableSource(f"{_place(name, text, error.start)}: {said}") from None


def _place(name: str, text: str, position: int) -> str:
    line = text.count("\n", 0, position) + 1
    return f"{name}, line {line}, character {position - text.rfind(chr(10), 0, position)}"


def _too_long() -> UnusableSource:
    return UnusableSource(f"The program is too long: at most {MOST_BYTES} bytes of source are allowed.")
