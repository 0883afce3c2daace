"""Multi-line strings and comments of a program."""

from __future__ import annotations

import re

from judge import FAMILIES, ProgramShape

_PYTHON = re.compile(
    r'"""|\'\'\'|"(?:\\.|[^"\\\n])*+"?|\'(?:\\.|[^\'\\\n])*+\'?|\#[^\n]*',
)
_BRACES = re.compile(
    r'/\*|//[^\n]*|"""|R"\(|"(?:\\.|[^"\\\n])*+"?|\'(?:\\[^\n\']{1,8}|[^\'\\\n]{1,4}|\\.)\'',
)
_END = {"/*": "*/", 'R"(': ')"'}


class Literals:
    """The open string or comment of a program that is read line by line."""

    def __init__(self, language: str) -> None:
        self.open = ""
        """The delimiter that closes the open string or comment."""
        shape = FAMILIES[language].shape if language in FAMILIES else None
        self._pattern = _PYTHON if language == "python" else _BRACES if shape else None
        self._has_triple_quotes = language == "python" or (shape is not None and shape.has_triple_quotes)

    def read(self, line: str) -> None:
        self._read(line, None)

    def holds(self, line: str, position: int) -> bool:
        """Return whether the position is inside a string or comment that begins in or before this line."""
        opened = self.open
        held = self._read(line, position)
        self.open = opened
        return held

    def _read(self, line: str, position: int | None) -> bool:
        if self._pattern is None:
            return False
        at = 0
        while True:
            if self.open:
                end = line.find(self.open, at)
                if end < 0 or (position is not None and position < end):
                    return True
                at = end + len(self.open)
                self.open = ""
            found = self._pattern.search(line, at)
            if not found or (position is not None and position < found.start()):
                return False
            at = found.end()
            opens = found[0] in ("/*", 'R"(', '"""', "'''") and not (
                found[0] == '"""' and not self._has_triple_quotes
            )
            if opens:
                self.open = _END.get(found[0], found[0])
            elif position is not None and found.start() <= position < at:
                return True


def without_literals(code: str, shape: ProgramShape) -> str:
    """Return a program in a language with braces without its strings and comments, with the same number of lines."""
    pattern = shape.literals or _BRACE_LITERALS
    return pattern.sub(lambda literal: "\n" * literal[0].count("\n") or " ", code)


_BRACE_LITERALS = re.compile(
    r'/\*[^*]*+(?:\*(?!/)[^*]*+)*+(?:\*/|$)|//[^\n]*|"""(?:[^"]|"(?!""))*+(?:"""|$)|R"\((?:[^)]|\)(?!"))*+(?:\)"|$)'
    r'|"(?:\\.|[^"\\\n])*+"?|\'(?:\\[^\n\']{1,8}|[^\'\\\n]{1,4}|\\.)\''
)
