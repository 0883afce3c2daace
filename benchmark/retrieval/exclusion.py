"""Exclusion of documents that may reveal the solution: the same problem of another contest, and later problems."""

import re
from collections.abc import Collection
from functools import lru_cache
from typing import TypedDict, Unpack

from benchmark.models.problems import Tier
from benchmark.retrieval.documents import Document, SearchCorpus, shingles_of
from benchmark.retrieval.tokenizers import words

NEAR_DUPLICATE = 0.8
"""Least Jaccard similarity of the shingles of near duplicates (docs/spec.md 15)."""

_TIER_SUFFIX = re.compile(rf" \((?:{'|'.join(Tier.values)})(?: level)?\)$")
"""A division at the end of a title, as in "Cow Photography (Bronze Level)"; 13 USACO problems have one."""


class NoDateError(ValueError):
    """The problem has no contest date, so earlier problems cannot be determined."""


class Exclusions(TypedDict, total=False):
    """Documents that a search excludes by comparison with the problem (docs/spec.md 15)."""

    exclude_same_name: bool
    """Documents with the same title, ignoring case, whitespace and a division in brackets.

    16 of 49 retrievals of the USACO paper's Figure 9 have the title of their problem (docs/spec.md 1.4).
    """
    exclude_near_duplicates: bool
    """Documents whose statements share nearly all shingles."""
    exclude_not_earlier: bool
    """Documents whose contest was not earlier. A missing date counts as not earlier."""
    only: Collection[str] | None
    """If given, all documents with other ids."""


def excluded_indices(corpus: SearchCorpus, without: str | None, **exclusions: Unpack[Exclusions]) -> set[int]:
    """Return the indices of the document `without` and of the documents excluded with it.

    Raises NoDateError if `exclude_not_earlier` is set and `without` has no date.
    """
    excluded = set()
    if (only := exclusions.get("only")) is not None:
        excluded = {index for index, document in enumerate(corpus.documents) if document.id not in only}
    for index, document in enumerate(corpus.documents):
        if document.id == without:
            excluded.add(index)
            if exclusions.get("exclude_same_name"):
                excluded |= _same_name(corpus, document)
            if exclusions.get("exclude_near_duplicates"):
                excluded |= _near_duplicates(corpus, document)
            if exclusions.get("exclude_not_earlier"):
                excluded |= _not_earlier(corpus, document)
    return excluded


def has_statement(document: Document, statement: str) -> bool:
    """Return whether the statement of the document equals `statement` or is a near duplicate of it.

    Divisions of a contest share problems whose statements differ only in the first line.
    """
    return document.problem is not None and _is_duplicate(document.problem.statement, statement)


# Cached because every prompt of a chain compares the same few pairs.
@lru_cache(maxsize=8_192)
def _is_duplicate(one: str, other: str) -> bool:
    return words(one) == words(other) or _jaccard(_shingles(one), _shingles(other)) >= NEAR_DUPLICATE


_shingles = lru_cache(maxsize=64)(shingles_of)


def _same_name(corpus: SearchCorpus, document: Document) -> set[int]:
    title = _normalized(document.title)
    return {index for index, other in enumerate(corpus.documents) if _normalized(other.title) == title}


def _normalized(title: str) -> str:
    return _TIER_SUFFIX.sub("", " ".join(title.casefold().split()))


def _near_duplicates(corpus: SearchCorpus, document: Document) -> set[int]:
    return {
        index
        for index, other in enumerate(corpus.documents)
        if _jaccard(document.shingles, other.shingles) >= NEAR_DUPLICATE
    }


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the Jaccard similarity, or its upper bound if the sizes alone rule out a near duplicate."""
    fewer, more = sorted((len(one), len(other)))
    if fewer < NEAR_DUPLICATE * more or not fewer:
        return fewer / more if more else 0.0
    common = len(one & other)
    return common / (fewer + more - common)


def _not_earlier(corpus: SearchCorpus, document: Document) -> set[int]:
    own = document.contest_date
    if own is None:
        raise NoDateError(f"{document.id} has no contest date, so earlier problems cannot be determined")
    dates = [other.contest_date for other in corpus.documents]
    return {index for index, date in enumerate(dates) if date is None or date >= own}
