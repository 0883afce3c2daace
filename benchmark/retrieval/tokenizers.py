"""Named tokenizers. Every result records the name of its tokenizer."""

import re
from collections.abc import Callable

_WORD = re.compile(r"\w+")


def usaco_split(text: str) -> list[str]:
    """Split at single spaces only, so that case, punctuation and line ends remain part of the words.

    The USACO paper's figures use this tokenizer (docs/spec.md 1.2).
    """
    return text.split(" ")


def words(text: str) -> list[str]:
    """Return the sequences of letters, digits and underscores, in lower case."""
    return _WORD.findall(text.lower())


TOKENIZERS: dict[str, Callable[[str], list[str]]] = {"usaco_split": usaco_split, "words": words}
