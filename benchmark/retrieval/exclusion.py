"""Documents that may give the problem asked about away: the same problem of another contest, and later ones."""

import re
from collections.abc import Collection
from functools import lru_cache

from benchmark.models.problems import Tier
from benchmark.retrieval.documents import Corpus, Document, shingles_of
from benchmark.retrieval.tokenizers import words

NEAR_DUPLICATE = 0.8
"""Share of common shingles (Jaccard) from which on statements are near duplicates (docs/spec.md 15)."""

_TIER_BEHIND = re.compile(rf" \((?:{'|'.join(Tier.values)})(?: level)?\)$")
"""As in "Cow Photography (Bronze Level)"; 13 problems of the USACO collection tell divisions apart so."""


class NoDate(ValueError):
    """Nothing is known to be earlier than a problem without a date."""


def places_left_out(
    corpus: Corpus,
    without: str | None,
    *,
    same_name: bool = False,
    near_duplicates: bool = False,
    not_earlier: bool = False,
    only: Collection[str] | None = None,
) -> set[int]:
    """The places of the document `without` and of those excluded by comparison with it (docs/spec.md 15).

    `same_name`: whatever its case and blanks, and a tier in brackets behind it; 16 of 49 retrievals of the USACO
    paper's Figure 9 share the name (docs/spec.md 1.4). `near_duplicates`: the statements share nearly all runs of
    words. `not_earlier`: the contest was not before the document's; a missing date counts as late. `only`: ids
    outside of which everything is left out.
    Raises NoDate when `without` has no date itself.
    """
    left_out = set()
    if only is not None:
        left_out = {place for place, document in enumerate(corpus.documents) if document.id not in only}
    for place, document in enumerate(corpus.documents):
        if document.id == without:
            left_out.add(place)
            if same_name:
                left_out |= _same_name(corpus, document)
            if near_duplicates:
                left_out |= _near_duplicates(corpus, document)
            if not_earlier:
                left_out |= _not_earlier(corpus, document)
    return left_out


def has_statement(document: Document, statement: str) -> bool:
    """Return whether the statement of the document is this one, or a near duplicate of it.

    The divisions of a contest share problems whose statements differ in their first line alone.
    """
    return document.problem is not None and _alike(document.problem.statement, statement)


# Every prompt of a chain asks for the same few pairs.
@lru_cache(maxsize=8_192)
def _alike(one: str, other: str) -> bool:
    return words(one) == words(other) or _jaccard(_shingles(one), _shingles(other)) >= NEAR_DUPLICATE


_shingles = lru_cache(maxsize=64)(shingles_of)


def _same_name(corpus: Corpus, document: Document) -> set[int]:
    title = _plain(document.title)
    return {place for place, other in enumerate(corpus.documents) if _plain(other.title) == title}


def _plain(title: str) -> str:
    return _TIER_BEHIND.sub("", " ".join(title.casefold().split()))


def _near_duplicates(corpus: Corpus, document: Document) -> set[int]:
    return {
        place
        for place, other in enumerate(corpus.documents)
        if _jaccard(document.shingles, other.shingles) >= NEAR_DUPLICATE
    }


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """The share of common members; where sizes alone rule out a near duplicate, the most it can be."""
    fewer, more = sorted((len(one), len(other)))
    if fewer < NEAR_DUPLICATE * more or not fewer:
        return fewer / more if more else 0.0
    common = len(one & other)
    return common / (fewer + more - common)


def _not_earlier(corpus: Corpus, document: Document) -> set[int]:
    own = document.contest_date
    if own is None:
        raise NoDate(f"{document.id} has no contest date, so no problem is known to be earlier")
    dates = [other.contest_date for other in corpus.documents]
    return {place for place, date in enumerate(dates) if date is None or date >= own}
