"""Dense texts: any encoder that sentence-transformers loads, by its name or the path of a folder."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray


class NoEncoder(Exception):
    """The encoder cannot be used here; the message says what to do."""


def encode(name: str, texts: Sequence[str]) -> NDArray[np.float64]:
    """One vector of length 1 a text, so that products are cosines. The encoder's own pooling is used.

    Raises NoEncoder without the package sentence-transformers, which is large and therefore no requirement.
    """
    try:
        library: Any = import_module("sentence_transformers")
    except ImportError:
        raise NoEncoder(
            f"encoder:{name} needs the package sentence-transformers (about 2 GB with PyTorch): "
            ".venv/bin/pip install sentence-transformers. Without it, bm25 and tfidf can be used"
        ) from None
    try:
        encoder = library.SentenceTransformer(name)
    except (OSError, ValueError) as error:
        raise NoEncoder(f"the encoder {name!r} cannot be loaded: {error}") from error
    vectors = encoder.encode(list(texts), normalize_embeddings=True, show_progress_bar=False)
    return np.asarray(vectors, dtype=np.float64)
