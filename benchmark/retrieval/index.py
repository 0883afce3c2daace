"""BM25Okapi without some documents, computed from one index of all documents.

Excluding a document changes every score: the number of documents, their mean length, the document frequencies, and
the mean idf that replaces negative ones. All of them follow from counts of the whole collection, so nothing is
rebuilt. The scores equal those of rank_bm25 to the last bit, because each sum uses the same order.
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
"""Entries per sort, so that building needs little more memory than the index."""
COMMON = 4
"""A word in more than a COMMON-th of the documents is common: a table holds its share of each document's score."""
BLOCK = 2**12
"""Documents per exact summation."""


class NothingToRankError(ValueError):
    """No document with words remains to search in."""


class Bm25Index:
    """An inverted index of all documents whose searches can exclude any of them.

    Words are numbered by first occurrence. An entry is a word in a document; entries are numbered by document, then
    by first occurrence in it. A posting is the same pair, numbered by word, then by document.
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
        """Create the postings from the entries, chunk by chunk."""
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
        excluded: Collection[int] = (),
    ) -> Floats:
        """Return `BM25Okapi(documents, k1=, b=, epsilon=).get_scores(query)` for the documents not excluded.

        `formula` selects one of FORMULAS. If rank_bm25 divides 0 by 0 (k1 = 0; b = 1 and an empty document), the word
        adds nothing. Raises NothingToRankError if no word remains.
        """
        out = self._mask(excluded)
        weighted = self._weigh(query, FORMULAS[formula], out, k1=k1, b=b, epsilon=epsilon)
        documents, gains = self._gains(weighted, np.arange(len(weighted.words)))
        sizes = self._document_counts[weighted.words]
        starts, sizes = _starts(sizes)[weighted.sequence], sizes[weighted.sequence]
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
        excluded: Collection[int] = (),
    ) -> list[tuple[int, float]]:
        """Return the indices and `scores` of the `top` best documents, best first, ties by index.

        Approximate sums select the candidates; only these are summed exactly. Raises NothingToRankError.
        """
        out = self._mask(excluded)
        weighted = self._weigh(query, FORMULAS[formula], out, k1=k1, b=b, epsilon=epsilon)
        sums, error = self._approximate_sums(weighted)
        sums[out] = -np.inf
        top = min(top, len(out) - int(np.count_nonzero(out)))
        worst = np.partition(sums, len(sums) - top)[len(sums) - top]
        candidates = np.flatnonzero(sums >= worst - 2 * error)
        blocks = [candidates[start : start + BLOCK] for start in range(0, len(candidates), BLOCK)]
        exact = np.concatenate([self._exact_sums(weighted, block) for block in blocks])
        order = np.argsort(-exact, kind="stable")[:top]
        return [(int(candidates[number]), float(exact[number])) for number in order]

    def _mask(self, indices: Collection[int]) -> NDArray[np.bool_]:
        mask = np.zeros(len(self._lengths), bool)
        mask[list(indices)] = True
        return mask

    def _weigh(
        self,
        query: Iterable[str],
        formula: Formula,
        out: NDArray[np.bool_],
        *,
        k1: float,
        b: float,
        epsilon: float,
    ) -> "_Query":
        remaining = len(out) - int(np.count_nonzero(out))
        removed = self._words_of(np.flatnonzero(out))
        document_counts = self._document_counts - np.bincount(removed, minlength=len(self._numbers))
        if not document_counts.any():
            raise NothingToRankError("no document with words is left to search in")
        weights = formula.weights(remaining)[document_counts]
        if formula.floor:
            floor = epsilon * self._mean_idf(weights, document_counts, out, removed)
            weights[weights < 0] = floor
        numbers = [number for word in query if (number := self._numbers.get(word)) is not None]
        words, sequence = np.unique(np.array(numbers, np.int64), return_inverse=True)
        repeats = np.bincount(sequence, minlength=len(words))
        mean_length = int(self._lengths[~out].sum()) / remaining
        query_weights: Floats = weights[words]
        if formula.cosine:
            norms = self._vector_lengths(weights)
            length = float(np.linalg.norm(repeats * query_weights)) or 1.0
            query_weights = query_weights * query_weights / length
        else:
            norms = np.asarray(k1 * (1 - b + b * self._lengths / mean_length), np.float64)
        return _Query(formula, k1, b, words, sequence, repeats, query_weights, norms, mean_length)

    def _vector_lengths(self, weights: Floats) -> Floats:
        """Return the length of each document's vector of weighted frequencies, and 1 for an empty document."""
        products = self._posting_frequencies * np.repeat(weights, self._document_counts)
        squares = np.bincount(self._posting_documents, np.square(products), len(self._lengths))
        return np.sqrt(np.where(squares > 0, squares, 1.0))

    def _gains(self, query: "_Query", chosen: Integers) -> tuple[NDArray[np.int32], Floats]:
        """Return, concatenated over the chosen words, the documents that contain each and its gain in them."""
        words = query.words[chosen]
        sizes, starts = self._document_counts[words], self._posting_starts[words]
        documents = _runs(self._posting_documents, starts, sizes)
        frequencies = _runs(self._posting_frequencies, starts, sizes)
        gains = query.formula.gain(frequencies, query.norms[documents], query.k1)
        gains *= np.repeat(query.weights[chosen], sizes)
        return documents, gains

    def _approximate_sums(self, query: "_Query") -> tuple[Floats, float]:
        """Return approximate scores and an upper bound of their errors.

        A repeated word of the query is added once, multiplied by its count. The gains of common words come from the
        table, which uses the mean length of all documents. Exclusions change the mean length, and each gain changes by
        at most the same fraction of the largest gain.
        """
        most = float((query.repeats * np.abs(query.weights)).sum()) * query.formula.most(query.k1)
        error = 2 * len(query.sequence) * 2**-52 * most
        sums = np.zeros(len(self._lengths))
        rare = np.arange(len(query.words))
        if query.formula.proportional:
            table = self._shares(query.k1, query.b)
            rows = table.rows[query.words]
            common, rare = np.flatnonzero(rows >= 0), np.flatnonzero(rows < 0)
            weights = np.zeros(len(table.shares), np.float32)
            weights[rows[common]] = (
                query.formula.most(query.k1) * query.repeats[common] * query.weights[common]
            )
            sums += weights @ table.shares
            means = sorted((table.mean_length, query.mean_length))
            error += most * (means[1] / means[0] - 1 + (len(weights) + 4) * 2**-23)
        documents, gains = self._gains(query, rare)
        gains *= np.repeat(query.repeats[rare], self._document_counts[query.words[rare]])
        return sums + _sums(documents, gains, len(sums)), error

    def _shares(self, k1: float, b: float) -> "_Shares":
        """Return the table for these parameters. The last table is cached."""
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

    def _exact_sums(self, query: "_Query", documents: Integers) -> Floats:
        """Return the scores of `documents`, summed in the order of the query's words as rank_bm25 does."""
        frequencies = self._frequencies(query.words, documents)
        rows, columns = np.nonzero(frequencies)
        gains = np.zeros(frequencies.shape)
        gain = query.formula.gain(frequencies[rows, columns], query.norms[documents[columns]], query.k1)
        gains[rows, columns] = gain * query.weights[rows]
        sums = np.zeros(len(documents))
        for row in query.sequence:
            sums += gains[row]
        return sums

    def _frequencies(self, words: Integers, documents: Integers) -> NDArray[Any]:
        """Return the frequencies, shape (words, documents), by one bisection in all postings."""
        low, end = (self._posting_starts[words + shift][:, None] for shift in (0, 1))
        low, high = np.repeat(low, len(documents), 1), np.repeat(end, len(documents), 1)
        for _ in range(int(self._document_counts[words].max(initial=0)).bit_length()):
            middle = np.minimum((low + high) // 2, len(self._words) - 1)
            before = (self._posting_documents[middle] < documents) & (low < high)
            low, high = np.where(before, middle + 1, low), np.where(before, high, np.minimum(middle, high))
        posting = np.minimum(low, len(self._words) - 1)
        found = (low < end) & (self._posting_documents[posting] == documents)
        return np.where(found, self._posting_frequencies[posting], 0)

    def _words_of(self, documents: Integers) -> NDArray[np.int32]:
        starts = self._entry_starts[documents]
        return _runs(self._words, starts, self._entry_starts[documents + 1] - starts)

    def _entries(self, document_of_word: NDArray[np.int32], documents: NDArray[np.int32]) -> Integers:
        """Return the entry of each word in its document of `document_of_word`, ordered like `documents`."""
        found = [np.zeros(0, np.int64)]
        for document in documents:
            start, end = self._entry_starts[document : document + 2]
            found.append(start + np.flatnonzero(document_of_word[self._words[start:end]] == document))
        return np.concatenate(found)

    def _mean_idf(
        self, idf: Floats, document_counts: Integers, out: NDArray[np.bool_], removed: NDArray[np.int32]
    ) -> float:
        """Return the mean idf of the remaining words, summed in the word order of a rebuilt index.

        That order differs from this index only for words that first occur in an excluded document: their first
        occurrence moves to the next document that contains them.
        """
        left = document_counts > 0
        first = self._posting_starts[:-1]
        candidates = np.unique(removed)
        moved = candidates[left[candidates] & out[self._posting_documents[first[candidates]]]]
        postings = first[moved]
        while (skipped := out[self._posting_documents[postings]]).any():
            postings = postings + skipped
        next_documents = np.full(len(left), -1, np.int32)
        next_documents[moved] = self._posting_documents[postings]
        entries = self._entries(next_documents, np.unique(next_documents[moved]))
        left[moved] = False
        unmoved = np.flatnonzero(left)
        positions = np.searchsorted(self._first_entries[unmoved], entries)
        in_order = np.insert(idf[unmoved], positions, idf[self._words[entries]])
        return float(np.cumsum(in_order)[-1]) / len(in_order)  # cumsum adds one by one, sum does not


@dataclass(frozen=True)
class _Query:
    """A query weighted for the remaining documents, as arrays."""

    formula: Formula
    k1: float
    b: float
    words: Integers
    """The numbers of its distinct words."""
    sequence: Integers
    """The query as indices into `words`."""
    repeats: Integers
    """The count of each distinct word."""
    weights: Floats
    """The weight of each distinct word."""
    norms: Floats
    """The norm n of each document of the index."""
    mean_length: float


@dataclass(frozen=True)
class _Shares:
    """f / (f + n) of the common words in every document, for these parameters and the mean length of all documents."""

    k1: float
    b: float
    mean_length: float
    rows: NDArray[np.int32]
    """The row of each word, or -1."""
    shares: NDArray[np.float32]


def _sums(documents: NDArray[np.int32], gains: Floats, count: int) -> Floats:
    """Return the sum of the gains of each of `count` documents, added in the given order."""
    sums = np.bincount(documents, gains, count)
    return sums.astype(np.float64, copy=False)  # bincount of no gains returns integers


def _starts(sizes: Integers) -> Integers:
    """Return the start of each of consecutive runs of these sizes, and the end of the last run."""
    return np.concatenate(([0], np.cumsum(sizes)))


def _runs(array: NDArray[Number], starts: Integers, sizes: Integers) -> NDArray[Number]:
    """Return the concatenated runs of the array that begin at `starts` and have `sizes` elements."""
    runs = [array[start : start + size] for start, size in zip(starts.tolist(), sizes.tolist(), strict=True)]
    return np.concatenate([array[:0], *runs])
