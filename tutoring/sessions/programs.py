"""Comparison of the programs of a session."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rapidfuzz.distance import Levenshtein

_STRINGS = r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
_WORDS_AND_OPERATORS = rf"(?P<token>{_STRINGS}|\w+|[^\w\s])"
_PYTHON = re.compile(
    rf"(?P<comment>#[^\n]*)|(?P<indent>^[ \t]+(?=[^\s#]))|{_WORDS_AND_OPERATORS}", re.MULTILINE
)
_OTHERS = re.compile(rf"(?P<comment>//[^\n]*|/\*[\s\S]*?(?:\*/|\Z))|{_WORDS_AND_OPERATORS}")


def program_tokens(code: str, language: str) -> list[str]:
    """Return names, numbers, strings and operators, in Python also indentation, without comments and other space."""
    pattern = _PYTHON if language == "python" else _OTHERS
    return [found[0] for found in pattern.finditer(code) if found.lastgroup != "comment"]


def distance(one: Sequence[str], other: Sequence[str]) -> float:
    """Return the Levenshtein distance in tokens as a share of the longer program, 0 to 1."""
    return float(Levenshtein.normalized_distance(one, other))


def unchanged(code: str, before: str, language: str) -> bool:
    """Return whether the programs are equal apart from comments and white space."""
    return program_tokens(code, language) == program_tokens(before, language)
