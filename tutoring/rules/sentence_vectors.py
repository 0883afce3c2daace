"""Vectors of sentences and of their tokens: texts of similar meaning in 16 languages have similar vectors.

The encoder is Google's Universal Sentence Encoder, multilingual (Yang et al., ACL 2020, demo 12). Its weights are in
the package; nothing is downloaded. The first use in a process takes about 1.5 s of processor time and 100 MB.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tutoring.rules.texts import sentences

if TYPE_CHECKING:
    from tutoring.rules.sentence_encoder import CachedEncoder, Encoded

Vectors = npt.NDArray[np.float32]
TokenVectors = npt.NDArray[np.float16]

DIMENSIONS = 512

_LONGEST = 600
"""Characters of a sentence that are encoded."""

_MOST_KNOWN = 4_000
"""Sentences that are cached, about 10 kB each, because a draft is checked at every pause in typing."""

_known: dict[str, Encoded] = {}
_lock = Lock()


@cache
def _encoder() -> CachedEncoder:
    from tutoring.rules.sentence_encoder import TOKEN_COMPONENTS, CachedEncoder  # takes 1.5 s

    return CachedEncoder(np.load(TOKEN_COMPONENTS).astype(np.float32))


def encoded_sentences(sentences: Sequence[str]) -> list[Encoded]:
    """Return the vector, of length 1, and the tokens of each sentence."""
    texts = [sentence[:_LONGEST] for sentence in sentences]
    with _lock:
        if missing := sorted({text for text in texts if text not in _known}):
            if len(_known) + len(missing) > _MOST_KNOWN:
                _known.clear()
                missing = sorted(set(texts))
            _known.update(zip(missing, _encoder().encode(missing), strict=True))
        return [_known[text] for text in texts]


def sentence_vectors(sentences: Sequence[str]) -> Vectors:
    """Return a row of length 1 for each sentence."""
    rows = [one.vector for one in encoded_sentences(sentences)]
    return np.array(rows, dtype=np.float32).reshape(len(rows), DIMENSIONS)


@lru_cache(maxsize=64)
def paragraph_vectors(text: str) -> Vectors:
    """Return the vectors of the first _MOST_SENTENCES sentences of a text of the problem."""
    found = [one.text.strip() for one in sentences(text) if len(one.text.strip()) > _SHORTEST]
    return sentence_vectors(found[:_MOST_SENTENCES])


_SHORTEST = 20
"""Characters of the shortest sentence of a problem that says something."""

_MOST_SENTENCES = 80
