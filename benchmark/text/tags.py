"""Tags of problems: spellings that differ only in case, hyphens, underscores or spaces are one tag.

Tags are stored in the spelling of their source. Code that compares, counts or filters them uses `tag_key`.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

_SEPARATORS = re.compile(r"[\s_\-\u2010-\u2015\u2212]+")


@lru_cache(maxsize=4096)  # question sets compare each pair of problems
def tag_key(tag: str) -> str:
    """Return the normal form of a tag, in which all spellings of it are equal."""
    folded = unicodedata.normalize("NFKC", tag).casefold()
    return _SEPARATORS.sub("", unicodedata.normalize("NFKC", folded)) or folded


def tag_keys(tags: Iterable[str]) -> frozenset[str]:
    """Return the normal forms of several tags."""
    return frozenset(map(tag_key, tags))


def distinct_tags(tags: Iterable[str]) -> list[str]:
    """Return the tags in their order, each once in its first spelling."""
    found: dict[str, str] = {}
    for tag in tags:
        found.setdefault(tag_key(tag), tag)
    return list(found.values())


def readable_tags(tags: Iterable[str]) -> dict[str, str]:
    """Return the most frequent spelling of each normal form.

    Ties are broken by the fewest hyphens and underscores, then alphabetically.
    """
    spellings: dict[str, Counter[str]] = {}
    for tag in tags:
        spellings.setdefault(tag_key(tag), Counter())[tag] += 1
    return {
        key: min(counts, key=lambda tag: (-counts[tag], sum(map(tag.count, "-_")), tag))
        for key, counts in spellings.items()
    }


def in_words(tag: str) -> str:
    """Return the tag with spaces between its words, so that names can be searched in it."""
    return _SEPARATORS.sub(" ", tag).strip()
