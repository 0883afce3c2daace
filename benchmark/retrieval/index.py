"""BM25Okapi over all documents but some, from one index of all of them.

Leaving a document out changes every score: the number of documents, their mean length, the documents a word is
in, and the mean idf that replaces negative ones. All of it follows from counts kept for the whole collection, so
nothing is rebuilt. The floats are those of rank_bm25 to the last bit, because each sum is taken in its order.
"""

from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from benchmark.retrieval.formulas import FORMULAS, Formula

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Number = TypeVar("Number", bound=np.number[Any])

CHUNK = 2**22
"""Entries that are sorted at once, so that building takes little more memory than the index."""
COMMON = 4
"""Of words in more than a COMMON-th of the documents, the shares in each document's score are kept in a table."""
BLOCK = 2**12
"""Documents that are summed exactly at once."""


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
        self._words = np.frombuffer(words, np.int32)
        self._lengths = np.array(lengths, np.int64)
        self._entry_starts = _starts(np.array(distinct, np.int64))
        self._document_counts = np.bincount(self._words, minlength=len(numbers))
        self._posting_starts = _starts(self._document_counts)
        self._sort(np.frombuffer(frequencies, np.int32))
        self._table: _Shares | None = None

    def _sort(self, frequencies: NDArray[np.int32]) -> None:
        """Make the postings from the entries, a chunk after the other."""
        smallest = np.min_scalar_type(int(frequencies.max(initial=0)))
        self._posting_documents = np.empty(len(frequencies), np.int32)
        self._posting_frequencies = np.empty(len(frequencies), smallest)
        self._first_entries = np.empty(len(self._document_counts), np.int64)
        free = self._posting_starts[:-1].copy()
        for start in range(0, len(frequencies), CHUNK):
            chunk = self._words[start : start + CHUNK]
            order = np.argsort(chunk, kind="stable")
            found, firsts, sizes = np.unique(chunk[order], return_index=True, return_counts=True)
            postings = np.arange(len(chunk)) + np.repeat(free[found] - firsts, sizes)
            entries = start + order
            self._posting_documents[postings] = np.searchsorted(self._entry_starts, entries, "right") - 1
            self._posting_frequencies[postings] = frequencies[entries]
            new = free[found] == self._posting_starts[found]
            self._first_entries[found[new]] = entries[firsts[new]]
            free[found] += sizes

    def scores(
        self,
        query: Iterable[str],
        *,
        k1: float,
        b: float,
        epsilon: float,
        formula: str = "okapi",
        left_out: Collection[int] = (),
    ) -> Floats:
        """`BM25Okapi(documents, k1=, b=, epsilon=).get_scores(query)` where `left_out` are not in `documents`.

        Another of FORMULAS gives other scores. Where rank_bm25 divides 0 by 0 (k1 = 0; b = 1 and an empty document),
        the word adds nothing. Raises NothingToRank when no word is left.
        """
        out = self._mask(left_out)
        asked = self._ask(query, FORMULAS[formula], k1, b, epsilon, out)
        documents, gains = self._gains(asked, np.arange(len(asked.words)))
        sizes = self._document_counts[asked.words]
        starts, sizes = _starts(sizes)[asked.turns], sizes[asked.turns]
        return _sums(_runs(documents, starts, sizes), _runs(gains, starts, sizes), len(out))[~out]

    def best(
        self,
        query: Iterable[str],
        top: int,
        *,
        k1: float,
        b: float,
        epsilon: float,
        formula: str = "okapi",
        left_out: Collection[int] = (),
    ) -> list[tuple[int, float]]:
        """The places and `scores` of the `top` best documents, best first, equal ones in their order.

        Quick sums find the candidates; only those are summed exactly. Raises NothingToRank.
        """
        out = self._mask(left_out)
        asked = self._ask(query, FORMULAS[formula], k1, b, epsilon, out)
        sums, error = self._quick_sums(asked)
        sums[out] = -np.inf
        top = min(top, len(out) - int(np.count_nonzero(out)))
        worst = np.partition(sums, len(sums) - top)[len(sums) - top]
        places = np.flatnonzero(sums >= worst - 2 * error)
        blocks = [places[start : start + BLOCK] for start in range(0, len(places), BLOCK)]
        exact = np.concatenate([self._exact_sums(asked, block) for block in blocks])
        order = np.argsort(-exact, kind="stable")[:top]
        return [(int(places[number]), float(exact[number])) for number in order]

    def _mask(self, places: Collection[int]) -> NDArray[np.bool_]:
        mask = np.zeros(len(self._lengths), bool)
        mask[list(places)] = True
        return mask

    def _ask(
        self,
        query: Iterable[str],
        formula: Formula,
        k1: float,
        b: float,
        epsilon: float,
        out: NDArray[np.bool_],
    ) -> "_Query":
        remaining = len(out) - int(np.count_nonzero(out))
        gone = self._words_of(np.flatnonzero(out))
        document_counts = self._document_counts - np.bincount(gone, minlength=len(self._numbers))
        if not document_counts.any():
            raise NothingToRank("no document with words is left to search in")
        weights = formula.weights(remaining)[document_counts]
        if formula.floor:
            floor = epsilon * self._mean_idf(weights, document_counts, out, gone)
            weights[weights < 0] = floor
        numbers = [number for word in query if (number := self._numbers.get(word)) is not None]
        words, turns = np.unique(np.array(numbers, np.int64), return_inverse=True)
        repeats = np.bincount(turns, minlength=len(words))
        mean_length = int(self._lengths[~out].sum()) / remaining
        worth: Floats = weights[words]
        if formula.cosine:
            norms = self._vector_lengths(weights)
            worth = worth * worth / (float(np.linalg.norm(repeats * worth)) or 1.0)
        else:
            norms = np.asarray(k1 * (1 - b + b * self._lengths / mean_length), np.float64)
        return _Query(formula, k1, b, words, turns, repeats, worth, norms, mean_length)

    def _vector_lengths(self, weights: Floats) -> Floats:
        """Of each document the length of the vector of its frequencies times the weights; 1 of an empty one."""
        products = self._posting_frequencies * np.repeat(weights, self._document_counts)
        squares = np.bincount(self._posting_documents, np.square(products), len(self._lengths))
        return np.sqrt(np.where(squares > 0, squares, 1.0))

    def _gains(self, asked: "_Query", chosen: Integers) -> tuple[NDArray[np.int32], Floats]:
        """Word by word of those chosen the documents it is in, and what it adds to the score of each, once."""
        words = asked.words[chosen]
        sizes, starts = self._document_counts[words], self._posting_starts[words]
        documents = _runs(self._posting_documents, starts, sizes)
        frequencies = _runs(self._posting_frequencies, starts, sizes)
        gains = asked.formula.gain(frequencies, asked.norms[documents], asked.k1)
        gains *= np.repeat(asked.weights[chosen], sizes)
        return documents, gains

    def _quick_sums(self, asked: "_Query") -> tuple[Floats, float]:
        """The scores, and a number that none is further from the exact one.

        A word that the query repeats is taken once, times its number. What common words add comes from the table,
        made for the mean length of all documents: when some are left out the mean moves, and no gain by more than the
        same share of the largest.
        """
        most = float((asked.repeats * np.abs(asked.weights)).sum()) * asked.formula.most(asked.k1)
        error = 2 * len(asked.turns) * 2**-52 * most
        sums = np.zeros(len(self._lengths))
        rare = np.arange(len(asked.words))
        if asked.formula.proportional:
            table = self._shares(asked.k1, asked.b)
            rows = table.rows[asked.words]
            common, rare = np.flatnonzero(rows >= 0), np.flatnonzero(rows < 0)
            weights = np.zeros(len(table.shares), np.float32)
            weights[rows[common]] = (
                asked.formula.most(asked.k1) * asked.repeats[common] * asked.weights[common]
            )
            sums += weights @ table.shares
            means = sorted((table.mean_length, asked.mean_length))
            error += most * (means[1] / means[0] - 1 + (len(weights) + 4) * 2**-23)
        documents, gains = self._gains(asked, rare)
        gains *= np.repeat(asked.repeats[rare], self._document_counts[asked.words[rare]])
        return sums + _sums(documents, gains, len(sums)), error

    def _shares(self, k1: float, b: float) -> "_Shares":
        """The table for these parameters; the last one is kept."""
        if self._table is None or (self._table.k1, self._table.b) != (k1, b):
            mean_length = float(self._lengths.mean())
            norms = k1 * (1 - b + b * self._lengths / mean_length)
            common = np.flatnonzero(self._document_counts * COMMON > len(self._lengths))
            rows = np.full(len(self._document_counts), -1, np.int32)
            rows[common] = np.arange(len(common))
            shares = np.zeros((len(common), len(self._lengths)), np.float32)
            for row, word in zip(shares, common, strict=True):
                postings = slice(*self._posting_starts[word : word + 2])
                documents, frequencies = (
                    self._posting_documents[postings],
                    self._posting_frequencies[postings],
                )
                row[documents] = frequencies / (frequencies + norms[documents])
            self._table = _Shares(k1, b, mean_length, rows, shares)
        return self._table

    def _exact_sums(self, asked: "_Query", places: Integers) -> Floats:
        """The scores of the documents at `places`, added up in the order of the query as rank_bm25 does."""
        frequencies = self._frequencies(asked.words, places)
        rows, columns = np.nonzero(frequencies)
        gains = np.zeros(frequencies.shape)
        gain = asked.formula.gain(frequencies[rows, columns], asked.norms[places[columns]], asked.k1)
        gains[rows, columns] = gain * asked.weights[rows]
        sums = np.zeros(len(places))
        for turn in asked.turns:
            sums += gains[turn]
        return sums

    def _frequencies(self, words: Integers, places: Integers) -> NDArray[Any]:
        """How often each of the words is in each of the documents, found by bisection in all postings at once."""
        low, end = (self._posting_starts[words + shift][:, None] for shift in (0, 1))
        low, high = np.repeat(low, len(places), 1), np.repeat(end, len(places), 1)
        for _ in range(int(self._document_counts[words].max(initial=0)).bit_length()):
            middle = np.minimum((low + high) // 2, len(self._words) - 1)
            before = (self._posting_documents[middle] < places) & (low < high)
            low, high = np.where(before, middle + 1, low), np.where(before, high, np.minimum(middle, high))
        posting = np.minimum(low, len(self._words) - 1)
        found = (low < end) & (self._posting_documents[posting] == places)
        return np.where(found, self._posting_frequencies[posting], 0)

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
class _Query:
    """A query to the documents that are left, as arrays: what `words` are worth, and the norm of each document."""

    formula: Formula
    k1: float
    b: float
    words: Integers
    """The numbers of its different words."""
    turns: Integers
    """The query as places in `words`."""
    repeats: Integers
    """How often it has each."""
    weights: Floats
    norms: Floats
    mean_length: float


@dataclass(frozen=True)
class _Shares:
    """f / (f + n) of the common words in every document, for these parameters and the mean length of all."""

    k1: float
    b: float
    mean_length: float
    rows: NDArray[np.int32]
    """Of each word its row, or -1."""
    shares: NDArray[np.float32]


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
