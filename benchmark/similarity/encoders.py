"""Embeddings by any encoder that sentence-transformers loads, by its name or the path of a folder."""

import hashlib
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from django.conf import settings
from numpy.typing import NDArray

from benchmark.blob_stores.folder import write_atomically

_PROBE = "Given n numbers, print the largest sum of neighbours."

Vectors = NDArray[np.float64]


class NoEncoderError(Exception):
    """An encoder that cannot be loaded or run; the message says what to do."""


@dataclass(frozen=True)
class Encoding:
    """Options of encoding, which do not affect results.

    `device` is PyTorch's name of the device, None the best available. `trusted` allows code of the encoder to run in
    this process. `progress` is called with the numbers of done and of all texts.
    """

    device: str | None = None
    batch_size: int = 32
    trusted: bool = False
    progress: Callable[[int, int], object] = lambda _done, _total: None


DEFAULT = Encoding()


class Encoder:
    """An encoder with its own pooling, which returns vectors of length 1, so that products are cosines.

    Each vector is cached in a file by its text and the encoder. The vector of a probe identifies the encoder, because
    the encoder behind a name may change. Raises NoEncoderError without the package sentence-transformers, which is
    large and therefore optional.
    """

    def __init__(self, name: str, encoding: Encoding = DEFAULT) -> None:
        self._name, self._encoding = name, encoding
        try:
            library: Any = import_module("sentence_transformers")
        except ImportError:
            raise NoEncoderError(
                f"encoder:{name} needs the package sentence-transformers (about 2 GB with PyTorch): "
                ".venv/bin/pip install sentence-transformers. Without it, bm25 and tfidf can be used"
            ) from None
        try:
            self._model = library.SentenceTransformer(
                name, device=encoding.device, trust_remote_code=encoding.trusted
            )
        except Exception as error:  # whatever PyTorch, the loader and the encoder's own code raise
            raise NoEncoderError(_cannot_load(name, error)) from error
        self._identity = hashlib.sha256(self._encode([_PROBE]).astype(np.float32).tobytes()).hexdigest()

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """Return a vector for each text, in their order. Raises NoEncoderError."""
        paths = [self._path(text) for text in texts]
        missing = {path: text for path, text in zip(paths, texts, strict=True) if not path.exists()}
        # Texts of a batch are padded to the longest, so similar lengths belong together.
        left = sorted(missing.items(), key=lambda item: len(item[1]))
        total, size = len(set(paths)), self._encoding.batch_size
        self._encoding.progress(total - len(left), total)
        for start in range(0, len(left), size):
            batch = left[start : start + size]
            for (path, _), vector in zip(batch, self._encode([text for _, text in batch]), strict=True):
                _save(path, vector)
            self._encoding.progress(total - len(left) + start + len(batch), total)
        return np.stack([np.load(path) for path in paths]) if paths else np.empty((0, 0))

    def _encode(self, texts: Sequence[str]) -> Vectors:
        try:
            vectors = self._model.encode(
                list(texts),
                batch_size=self._encoding.batch_size,
                normalize_embeddings=True,
                show_progress_bar=False,
            )
        except RuntimeError as error:  # PyTorch also raises it when memory runs out
            raise NoEncoderError(
                f"the encoder {self._name!r} failed: {error}. If memory ran out, give a smaller --batch-size or "
                "--device cpu"
            ) from error
        return np.asarray(vectors, dtype=np.float64)

    def _path(self, text: str) -> Path:
        digest = hashlib.sha256(f"{self._identity}\n{text}".encode("utf-8", "surrogatepass")).hexdigest()
        return Path(settings.VAR) / "vectors" / digest[:2] / f"{digest}.npy"


def _cannot_load(name: str, error: Exception) -> str:
    message = str(error).strip() or type(error).__name__
    if "trust_remote_code" in message:
        return (
            f"the encoder {name!r} contains code, which would run in this process. If you trust it, add "
            "--trust-encoder"
        )
    return f"the encoder {name!r} cannot be loaded: {message}"


def _save(path: Path, vector: Vectors) -> None:
    content = io.BytesIO()
    np.save(content, vector)
    write_atomically(path, content.getvalue())
