"""Named formulas that score a document by the words it shares with a query. Every result records the name.

The BM25 forms are those of Kamphuis et al., "Which BM25 Do You Mean?" (ECIR 2020), table 1. N is the number of
documents, df the number that contain the word, f its frequency in one, and n = k1 (1 - b + b length / mean length):

| name | weight of the word | times |
| --- | --- | --- |
| okapi | ln((N - df + 0.5) / (df + 0.5)); where negative, epsilon times the mean of all words | f (k1 + 1) / (f + n) |
| atire | ln(N / df) | f (k1 + 1) / (f + n) |
| lucene | ln(1 + (N - df + 0.5) / (df + 0.5)) | f / (f + n) |
| bm25+ | ln((N + 1) / df) | f (k1 + 1) / (f + n) + 1 |
| tfidf | cosine of the vectors of f (ln((N + 1) / (df + 1)) + 1), the default of scikit-learn | |

rank_bm25, and so the USACO paper, computes okapi.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Formula:
    """A row of the table: `weight` takes N and df, `gain` takes f, n and k1."""

    weight: Callable[[int, int], float]
    gain: Callable[[NDArray[Any], Floats, float], Floats]
    most: Callable[[float], float]
    """The upper bound of the gain; takes k1."""
    floor: bool = False
    """Whether negative weights are replaced."""
    cosine: bool = False
    """Whether n is the length of the document's vector instead."""
    proportional: bool = False
    """Whether gain = most · f / (f + n), which can be tabulated."""

    def weights(self, documents: int) -> Floats:
        """Return the weights for df = 0 … N, shape (N + 1,). The weight of a word in no document is 0."""
        return _weights(self.weight, documents)


@lru_cache(maxsize=8)
def _weights(weight: Callable[[int, int], float], documents: int) -> Floats:
    # math.log, because NumPy's logarithm may differ in the last bit.
    return np.array([0.0, *(weight(documents, count) for count in range(1, documents + 1))])


def _okapi(documents: int, count: int) -> float:
    return math.log(documents - count + 0.5) - math.log(count + 0.5)


def _saturating(frequencies: NDArray[Any], norms: Floats, k1: float) -> Floats:
    gains: Floats = frequencies * (k1 + 1) / (frequencies + norms)
    return gains


FORMULAS: dict[str, Formula] = {
    "okapi": Formula(_okapi, _saturating, lambda k1: k1 + 1, floor=True, proportional=True),
    "atire": Formula(lambda n, df: math.log(n / df), _saturating, lambda k1: k1 + 1, proportional=True),
    "lucene": Formula(
        lambda n, df: math.log(1 + (n - df + 0.5) / (df + 0.5)),
        lambda f, n, _k1: f / (f + n),
        lambda _k1: 1.0,
        proportional=True,
    ),
    "bm25+": Formula(
        lambda n, df: math.log((n + 1) / df), lambda f, n, k1: _saturating(f, n, k1) + 1, lambda k1: k1 + 2
    ),
    "tfidf": Formula(
        lambda n, df: math.log((n + 1) / (df + 1)) + 1, lambda f, n, _k1: f / n, lambda _k1: 1.0, cosine=True
    ),
}
