"""Overlap of two texts by words: containment of n-grams, longest common subsequence and substring."""

import re
import unicodedata
from collections.abc import Sequence

WORDS_IN_GRAM = 5

_WORD = re.compile(r"\w+")


def words(text: str) -> list[str]:
    """Return the runs of letters, digits and underscores of a text in NFKC, case-folded."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def containment(text: Sequence[str], other: Sequence[str]) -> float:
    """Return the share of the other text's distinct word 5-grams that the text contains (Broder 1997).

    For another text of fewer than five words it is 1 or 0: whether the text contains it. Without words it is 0.
    """
    length = min(WORDS_IN_GRAM, len(other))
    if length == 0:
        return 0.0
    wanted = _grams(other, length)
    return len(wanted & _grams(text, length)) / len(wanted)


def rouge_l(text: Sequence[str], other: Sequence[str]) -> float:
    """Return the longest common subsequence of words over the other text's length (ROUGE-L recall, Lin 2004).

    The length is computed with bit vectors (Hyyrö 2004), a few operations for each word of the text.
    """
    if not other:
        return 0.0
    places: dict[str, int] = {}
    for place, word in enumerate(other):
        places[word] = places.get(word, 0) | 1 << place
    every = (1 << len(other)) - 1
    vector = every
    for word in text:
        matches = vector & places.get(word, 0)
        vector = ((vector + matches) | (vector - matches)) & every
    return (len(other) - vector.bit_count()) / len(other)


def substring(text: Sequence[str], other: Sequence[str]) -> float:
    """Return the longest run of words that both texts have, over the other text's length."""
    if not other:
        return 0.0
    low, high = 0, min(len(text), len(other))
    while low < high:  # two texts with a common run of n words have one of n - 1
        middle = (low + high + 1) // 2
        if _grams(text, middle).isdisjoint(_grams(other, middle)):
            high = middle - 1
        else:
            low = middle
    return low / len(other)


def _grams(text: Sequence[str], length: int) -> set[tuple[str, ...]]:
    return {tuple(text[start : start + length]) for start in range(len(text) - length + 1)}


MEASURES = {"containment": containment, "rouge_l": rouge_l, "substring": substring}
"""All measures by name. Each takes a text and the other text, and returns a share of the other from 0 to 1."""
