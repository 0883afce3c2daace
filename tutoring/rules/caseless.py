"""Patterns that ignore the case of letters, in half the time of re.IGNORECASE."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

_ESCAPE_OR_LETTERS = re.compile(r"\\.|[^\\]+", re.DOTALL)
_PART = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[()|]|[^\\\[()|]+", re.DOTALL)
"""An escaped character, a set of characters, a parenthesis, a bar, or other characters of a pattern."""

_WORD_BEGINS = r"\b"


class CaselessPattern:
    """A pattern that is compared with texts in lower case.

    Python compares the letters of alternatives one by one if it ignores case, and skips alternatives by their first
    letter if it does not. The positions of a match are those of the text, its groups are in lower case.
    """

    def __init__(self, pattern: str) -> None:
        lowered = _ESCAPE_OR_LETTERS.sub(
            lambda part: part[0] if part[0].startswith("\\") else part[0].lower(), pattern
        )
        self._pattern = re.compile(_grouped(lowered))

    def search(self, text: str, start: int = 0) -> re.Match[str] | None:
        """Return the first match from `start` on."""
        return self._pattern.search(_lowered(text), start)

    def match(self, text: str) -> re.Match[str] | None:
        """Return the match at the beginning of the text."""
        return self._pattern.match(_lowered(text))

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        """Return all matches."""
        return self._pattern.finditer(_lowered(text))


def _grouped(pattern: str) -> str:
    r"""Return the pattern with neighbouring alternatives `\ba|\bb` written as `\b(?:a|b)`.

    Otherwise Python tries each alternative at each letter inside a word, if other alternatives begin differently.
    """
    grouped = []
    for word_begins, alternatives in groupby(
        _alternatives(pattern), lambda one: one.startswith(_WORD_BEGINS)
    ):
        if word_begins:
            rest = "|".join(one.removeprefix(_WORD_BEGINS) for one in alternatives)
            grouped.append(f"{_WORD_BEGINS}(?:{rest})")
        else:
            grouped += alternatives
    return "|".join(grouped)


def _alternatives(pattern: str) -> list[str]:
    """Return the alternatives of the pattern, without those inside parentheses."""
    alternatives, depth = [""], 0
    for part in _PART.findall(pattern):
        depth += (part == "(") - (part == ")")
        if part == "|" and depth == 0:
            alternatives.append("")
        else:
            alternatives[-1] += part
    return alternatives


def _lowered(text: str) -> str:
    """Return the text in lower case, with the same length."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else "".join(letter.lower()[0] for letter in text)
