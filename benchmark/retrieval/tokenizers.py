"""Named ways to cut a text into words; the name is recorded with every result that depends on it."""

import re
from collections.abc import Callable

_WORD = re.compile(r"\w+")


def usaco_split(text: str) -> list[str]:
    """Cut at single blanks only, so that case, punctuation and line ends stay part of the words.

    What the USACO paper's figures were made with (docs/spec.md 1.2).
    """
    return text.split(" ")


def words(text: str) -> list[str]:
    """Runs of letters, digits and underscores, in lower case."""
    return _WORD.findall(text.lower())


TOKENIZERS: dict[str, Callable[[str], list[str]]] = {"usaco_split": usaco_split, "words": words}
