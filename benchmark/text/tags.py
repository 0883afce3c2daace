"""Tags of problems: spellings that differ in case, hyphens, underscores or spaces are one tag.

Tags are stored as their source spells them; everything that compares, counts or filters them uses `tag_key`.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

_SEPARATORS = re.compile(r"[\s_\-\u2010-\u2015\u2212]+")


@lru_cache(maxsize=4096)  # sets of questions compare each pair of problems
def tag_key(tag: str) -> str:
    """Return the normal form of a tag, in which all spellings of it are equal."""
    folded = unicodedata.normalize("NFKC", tag).casefold()
    return _SEPARATORS.sub("", unicodedata.normalize("NFKC", folded)) or folded


def tag_keys(tags: Iterable[str]) -> frozenset[str]:
    """Return the normal forms of several tags."""
    return frozenset(map(tag_key, tags))


def distinct_tags(tags: Iterable[str]) -> list[str]:
    """Return the tags in their order, each in its first spelling only."""
    found: dict[str, str] = {}
    for tag in tags:
        found.setdefault(tag_key(tag), tag)
    return list(found.values())


def readable_tags(tags: Iterable[str]) -> dict[str, str]:
    """Return the spelling to show for each normal form: the most frequent one.

    Of equally frequent spellings it is the one with the fewest hyphens and underscores, then the first in the alphabet.
    """
    spellings: dict[str, Counter[str]] = {}
    for tag in tags:
        spellings.setdefault(tag_key(tag), Counter())[tag] += 1
    return {
        key: min(counts, key=lambda tag: (-counts[tag], sum(map(tag.count, "-_")), tag))
        for key, counts in spellings.items()
    }


def in_words(tag: str) -> str:
    """Return the tag with spaces between its words, for a search for names in it."""
    return _SEPARATORS.sub(" ", tag).strip()
