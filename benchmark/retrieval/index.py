"""BM25Okapi over all documents but some, from one index of all of them.

Leaving a document out changes every score: the number of documents, their mean length, the documents a word is
in, and the mean idf that replaces negative ones. All of it follows from counts kept for the whole collection, so
nothing is rebuilt. The floats are those of rank_bm25 to the last bit, because each sum is taken in its order.
"""

import math
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Number = TypeVar("Number", bound=np.number[Any])


class NothingToRank(ValueError):
    """No document with words is left to search in."""


class Bm25Index:
    """The words of all documents, ready to be searched without any of them.

    Words are numbered as they are first met. An entry is a word in a document; entries are numbered document by
    document, in a document by first occurrence. A posting is the same fact in the order word by word.
    """

    def __init__(self, documents: Iterable[Sequence[str]]) -> None:
        numbers: dict[str, int] = {}
        words, frequencies, lengths, distinct = array("i"), array("i"), array("q"), array("q")
        for document in documents:
            counts = Counter(document)
            words.extend(numbers.setdefault(word, len(numbers)) for word in counts)
            frequencies.extend(counts.values())
            lengths.append(len(document))
            distinct.append(len(counts))
        self._numbers = numbers
        self._words = np.array(words, np.int32)
        self._lengths = np.array(lengths, np.int64)
        self._entry_starts = _starts(np.array(distinct, np.int64))
        entries = np.argsort(self._words, kind="stable")
        documents_of_entries = np.repeat(np.arange(len(lengths), dtype=np.int32), np.diff(self._entry_starts))
        self._posting_documents = documents_of_entries[entries]
        self._posting_frequencies = np.array(frequencies, np.int32)[entries]
        self._document_counts = np.bincount(self._words, minlength=len(numbers))
        self._posting_starts = _starts(self._document_counts)
        self._first_entries = entries[self._posting_starts[:-1]]

    def scores(
        self, query: Iterable[str], *, k1: float, b: float, epsilon: float, left_out: Collection[int] = ()
    ) -> Floats:
        """`BM25Okapi(documents, k1=, b=, epsilon=).get_scores(query)` where `left_out` are not in `documents`.

        Where rank_bm25 divides 0 by 0 (k1 = 0; b = 1 and an empty document), the word adds nothing. Raises
        NothingToRank when no word is left.
        """
        out = self._mask(left_out)
        return self._gains(query, k1, b, epsilon, out).exact_sums(len(out))[~out]

    def best(
        self,
        query: Iterable[str],
        top: int,
        *,
        k1: float,
        b: float,
        epsilon: float,
        left_out: Collection[int] = (),
    ) -> list[tuple[int, float]]:
        """The places and `scores` of the `top` best documents, best first, equal ones in their order.

        Sums in any order find the candidates; only those are summed exactly. Raises NothingToRank.
        """
        out = self._mask(left_out)
        gains = self._gains(query, k1, b, epsilon, out)
        sums = gains.quick_sums(len(out))
        sums[out] = -np.inf
        top = min(top, len(out) - int(np.count_nonzero(out)))
        worst = np.partition(sums, len(sums) - top)[len(sums) - top]
        candidates = sums >= worst - gains.rounding
        exact = gains.of(candidates).exact_sums(len(out))
        places = np.flatnonzero(candidates)
        order = np.argsort(-exact[places], kind="stable")[:top]
        return [(int(place), float(exact[place])) for place in places[order]]

    def _mask(self, places: Collection[int]) -> NDArray[np.bool_]:
        mask = np.zeros(len(self._lengths), bool)
        mask[list(places)] = True
        return mask

    def _gains(
        self, query: Iterable[str], k1: float, b: float, epsilon: float, out: NDArray[np.bool_]
    ) -> "_Gains":
        remaining = len(out) - int(np.count_nonzero(out))
        gone = self._words_of(np.flatnonzero(out))
        document_counts = self._document_counts - np.bincount(gone, minlength=len(self._numbers))
        if not document_counts.any():
            raise NothingToRank("no document with words is left to search in")
        idf = _idf_by_count(remaining)[document_counts]
        weights = np.where(idf < 0, epsilon * self._mean_idf(idf, document_counts, out, gone), idf)
        mean_length = int(self._lengths[~out].sum()) / remaining
        norms = k1 * (1 - b + b * self._lengths / mean_length)

        numbers = [number for word in query if (number := self._numbers.get(word)) is not None]
        asked, turns = np.unique(np.array(numbers, np.int64), return_inverse=True)
        sizes = self._document_counts[asked]
        starts = self._posting_starts[asked]
        documents = _runs(self._posting_documents, starts, sizes)
        frequencies = _runs(self._posting_frequencies, starts, sizes)
        gains = frequencies * (k1 + 1) / (frequencies + norms[documents])
        gains *= np.repeat(weights[asked], sizes)
        most = float(np.abs(weights[numbers]).sum()) * (k1 + 1)
        return _Gains(turns, sizes, documents, gains, 4 * len(numbers) * 2**-52 * most)

    def _words_of(self, documents: Integers) -> NDArray[np.int32]:
        starts = self._entry_starts[documents]
        return _runs(self._words, starts, self._entry_starts[documents + 1] - starts)

    def _entries(self, document_of_word: NDArray[np.int32], documents: NDArray[np.int32]) -> Integers:
        """Of each word its entry in the document named for it; in order, as `documents` are."""
        found = [np.zeros(0, np.int64)]
        for document in documents:
            start, end = self._entry_starts[document : document + 2]
            found.append(start + np.flatnonzero(document_of_word[self._words[start:end]] == document))
        return np.concatenate(found)

    def _mean_idf(
        self, idf: Floats, document_counts: Integers, out: NDArray[np.bool_], gone: NDArray[np.int32]
    ) -> float:
        """The mean over the words that are left, summed in the order in which a rebuilt index first meets them.

        That is the old order, but a word first met in a document left out moves to the next that has it.
        """
        left = document_counts > 0
        first = self._posting_starts[:-1]
        candidates = np.unique(gone)
        moved = candidates[left[candidates] & out[self._posting_documents[first[candidates]]]]
        postings = first[moved]
        while (skipped := out[self._posting_documents[postings]]).any():
            postings = postings + skipped
        next_documents = np.full(len(left), -1, np.int32)
        next_documents[moved] = self._posting_documents[postings]
        entries = self._entries(next_documents, np.unique(next_documents[moved]))
        left[moved] = False
        unmoved = np.flatnonzero(left)
        places = np.searchsorted(self._first_entries[unmoved], entries)
        in_order = np.insert(idf[unmoved], places, idf[self._words[entries]])
        return float(np.cumsum(in_order)[-1]) / len(in_order)  # cumsum adds one by one, sum does not


@dataclass(frozen=True)
class _Gains:
    """What each word of a query adds to the score of each document it is in."""

    turns: Integers
    """The query as numbers of its different words."""
    sizes: Integers
    """In how many documents each different word is."""
    documents: NDArray[np.int32]
    """Those documents, word by word."""
    gains: Floats
    """What the word adds to the score of each, once."""
    rounding: float
    """More than two sums of the same gains can differ by, whatever their orders."""

    def exact_sums(self, count: int) -> Floats:
        """The scores of `count` documents, added up in the order of the query as rank_bm25 does."""
        starts, sizes = _starts(self.sizes)[self.turns], self.sizes[self.turns]
        documents, gains = _runs(self.documents, starts, sizes), _runs(self.gains, starts, sizes)
        return _sums(documents, gains, count)

    def quick_sums(self, count: int) -> Floats:
        """The scores up to rounding: a word that the query repeats is taken once, times its number."""
        repeats = np.bincount(self.turns, minlength=len(self.sizes))
        return _sums(self.documents, self.gains * np.repeat(repeats, self.sizes), count)

    def of(self, documents: NDArray[np.bool_]) -> "_Gains":
        """The gains of some documents only."""
        chosen = documents[self.documents]
        words = np.repeat(np.arange(len(self.sizes)), self.sizes)[chosen]
        sizes = np.bincount(words, minlength=len(self.sizes))
        return replace(self, sizes=sizes, documents=self.documents[chosen], gains=self.gains[chosen])


@lru_cache(maxsize=4)
def _idf_by_count(documents: int) -> Floats:
    """idf of a word by the number of documents it is in; math.log and NumPy's may differ in the last bit."""
    return np.array(
        [math.log(documents - count + 0.5) - math.log(count + 0.5) for count in range(documents + 1)]
    )


def _sums(documents: NDArray[np.int32], gains: Floats, count: int) -> Floats:
    """The gains of each of `count` documents, added one by one in the order given."""
    sums = np.bincount(documents, gains, count)
    return sums.astype(np.float64, copy=False)  # where there is nothing to add, bincount gives integers


def _starts(sizes: Integers) -> Integers:
    """Where each of consecutive runs of these sizes begins, and where the last one ends."""
    return np.concatenate(([0], np.cumsum(sizes)))


def _runs(array: NDArray[Number], starts: Integers, sizes: Integers) -> NDArray[Number]:
    """The runs of the array that begin at `starts` and have `sizes` elements, one after the other."""
    runs = [array[start : start + size] for start, size in zip(starts.tolist(), sizes.tolist(), strict=True)]
    return np.concatenate([array[:0], *runs])
