"""JSON files read as streams: memory holds one entry of the outermost list or object at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, TextIO

from django.conf import settings

from benchmark.datasets.records import SourceError

Kind = Literal["list", "object"]

_OPENING: dict[str, Kind] = {"[": "list", "{": "object"}
_CLOSING: dict[Kind, str] = {"list": "]", "object": "}"}
_SPACE = " \t\n\r"

_CHUNK = 2**18
"""Minimum number of characters per read."""

_LONGEST_TOKEN = 16
"""Characters at the end of the text in which a decoder may fail because an escape or a word is cut."""


def read_list(path: Path) -> Iterator[Any]:
    """Yield the entries of a JSON list. Raises SourceError, also for a value that is not a list."""
    return (value for _, value in read_entries(path, "list"))


def read_object(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield the keys and values of a JSON object. Raises SourceError, also for a value that is not an object."""
    return ((str(key), value) for key, value in read_entries(path, "object"))


def read_entries(path: Path, *kinds: Kind) -> Iterator[tuple[str | None, Any]]:
    """Yield the entries of a JSON value of one of these kinds: (None, entry) of a list, (key, value) of an object.

    Raises SourceError for another value, and with line, column and character where invalid or incomplete JSON begins.
    An entry may have at most `settings.IMPORT_MAXIMUM_ROW` characters.
    """
    try:
        with path.open("rb") as file:
            encoding = json.detect_encoding(file.read(4))
        with path.open(encoding=encoding, errors="surrogatepass", newline="") as file:
            text = _Text(file)
            kind = _OPENING.get(text.next_character())
            if kind not in kinds:
                found = kind or type(text.value()).__name__
                raise SourceError(
                    f"{path} must contain a JSON {' or '.join(kinds)}, not a value of type {found}"
                )
            yield from text.entries(kind)
    except _LongEntryError:
        bound = settings.IMPORT_MAXIMUM_ROW // 2**20
        raise SourceError(
            f"{path} has an entry longer than {bound} MiB. IMPORT_ROW_MB raises this bound."
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise SourceError(
            f"{path} is not valid JSON ({error}). It may be incomplete: fetch it again."
        ) from error


_LONGEST_CUT = 2
"""Maximum number of characters of a cut number after its longest valid prefix, as in 1e+5."""


class _LongEntryError(Exception):
    """An entry is longer than the bound."""


class _Text:
    """The text of a file from the current position on, kept as long as the decoder needs it.

    Positions in errors count from the beginning of the file.
    """

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._text = ""
        self._at = 0
        self._dropped = 0
        self._dropped_lines = 0
        self._column = 0
        """Number of characters that were dropped from the first line of the text."""
        self._decoder = json.JSONDecoder()

    def entries(self, kind: Kind) -> Iterator[tuple[str | None, Any]]:
        """Yield the entries of the list or object that begins here, and check that nothing follows it."""
        self._at += 1
        if self.next_character() != _CLOSING[kind]:
            while True:
                yield (self._key() if kind == "object" else None), self.value()
                if self.next_character() != ",":
                    break
                self._at += 1
            if self.next_character() != _CLOSING[kind]:
                raise self._error("Expecting ',' delimiter")
        self._at += 1
        if self.next_character():
            raise self._error("Extra data")

    def _key(self) -> str:
        if self.next_character() != '"':
            raise self._error("Expecting property name enclosed in double quotes")
        key: str = self.value()
        if self.next_character() != ":":
            raise self._error("Expecting ':' delimiter")
        self._at += 1
        return key

    def next_character(self) -> str:
        """Return the next character that is not white space, without consuming it; "" at the end."""
        while True:
            while self._at < len(self._text):
                if self._text[self._at] not in _SPACE:
                    return self._text[self._at]
                self._at += 1
            if not self._read():
                return ""

    def value(self) -> Any:
        """Consume the JSON value that begins here, and return it."""
        self.next_character()
        while True:
            begin = self._at  # a read shifts the text
            try:
                value, end = self._decoder.raw_decode(self._text, begin)
            except json.JSONDecodeError as error:
                if not self._may_be_cut(error) or not self._read():
                    raise self._error(error.msg, self._at + error.pos - begin) from None
            else:
                if end + _LONGEST_CUT < len(self._text) or not self._read():
                    self._at += end - begin
                    return value

    def _may_be_cut(self, error: json.JSONDecodeError) -> bool:
        """Return whether more text may resolve the error."""
        near_end = error.pos >= len(self._text) - _LONGEST_TOKEN
        return near_end or error.msg.startswith("Unterminated string")

    def _read(self) -> bool:
        """Add at least as much text as remains; return False at the end of the file."""
        passed, self._text = self._text[: self._at], self._text[self._at :]
        self._dropped += len(passed)
        if newlines := passed.count("\n"):
            self._dropped_lines += newlines
            self._column = len(passed) - passed.rindex("\n") - 1
        else:
            self._column += len(passed)
        self._at = 0
        if len(self._text) > settings.IMPORT_MAXIMUM_ROW:
            raise _LongEntryError
        more = self._file.read(max(_CHUNK, len(self._text)))
        self._text += more
        return bool(more)

    def _error(self, reason: str, at: int | None = None) -> ValueError:
        """Return the error with its position in the whole file, in the form of `json`."""
        at = self._at if at is None else at
        newlines = self._text.count("\n", 0, at)
        column = at - self._text.rindex("\n", 0, at) if newlines else self._column + at + 1
        line = self._dropped_lines + newlines + 1
        return ValueError(f"{reason}: line {line} column {column} (char {self._dropped + at})")
