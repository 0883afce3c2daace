"""Dense texts: any encoder that sentence-transformers loads, by its name or the path of a folder."""

import hashlib
import os
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from django.conf import settings
from numpy.typing import NDArray

_PROBE = "Given n numbers, print the largest sum of neighbours."

Vectors = NDArray[np.float64]


class NoEncoderError(Exception):
    """The encoder cannot be used here; the message says what to do."""


@dataclass(frozen=True)
class Encoding:
    """How texts are encoded; nothing of it is meant to touch a result.

    `device` is PyTorch's name of it, None the best there is. `trusted` lets code that comes with the encoder run in
    this process. `progress` is told the texts done and their total.
    """

    device: str | None = None
    batch_size: int = 32
    trusted: bool = False
    progress: Callable[[int, int], object] = lambda done, total: None


DEFAULT = Encoding()


class Encoder:
    """Vectors of length 1, so that products are cosines; the encoder's own pooling is used.

    Each vector is kept in a file by its text, so a text is encoded once, by whichever run, and what was encoded
    before a kill stays. An encoder is known by its vector of a probe, since a name may come to mean another one.
    Raises NoEncoderError without the package sentence-transformers, which is large and therefore no requirement.
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
        self._identity = hashlib.sha256(self._made([_PROBE]).astype(np.float32).tobytes()).hexdigest()

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """One a text, in their order. Raises NoEncoderError."""
        paths = [self._path(text) for text in texts]
        missing = {path: text for path, text in zip(paths, texts, strict=True) if not path.exists()}
        left = sorted(
            missing.items(), key=lambda item: len(item[1])
        )  # texts of a batch are filled up to the longest
        total, size = len(set(paths)), self._encoding.batch_size
        self._encoding.progress(total - len(left), total)
        for start in range(0, len(left), size):
            batch = left[start : start + size]
            for (path, _), vector in zip(batch, self._made([text for _, text in batch]), strict=True):
                _keep(path, vector)
            self._encoding.progress(total - len(left) + start + len(batch), total)
        return np.stack([np.load(path) for path in paths]) if paths else np.empty((0, 0))

    def _made(self, texts: Sequence[str]) -> Vectors:
        try:
            vectors = self._model.encode(
                list(texts),
                batch_size=self._encoding.batch_size,
                normalize_embeddings=True,
                show_progress_bar=False,
            )
        except RuntimeError as error:  # PyTorch's, for memory too
            raise NoEncoderError(
                f"the encoder {self._name!r} failed: {error}. Where memory ran out, give a smaller --batch-size or "
                "--device cpu"
            ) from error
        return np.asarray(vectors, dtype=np.float64)

    def _path(self, text: str) -> Path:
        digest = hashlib.sha256(f"{self._identity}\n{text}".encode("utf-8", "surrogatepass")).hexdigest()
        return Path(settings.VAR) / "vectors" / digest[:2] / f"{digest}.npy"


def _cannot_load(name: str, error: Exception) -> str:
    told = str(error).strip() or type(error).__name__
    if "trust_remote_code" in told:
        return (
            f"the encoder {name!r} comes with code of its own, which would run in this process. If you trust it, add "
            "--trust-encoder"
        )
    return f"the encoder {name!r} cannot be loaded: {told}"


def _keep(path: Path, vector: Vectors) -> None:
    """A crash leaves no half-written file."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            np.save(file, vector)
        os.replace(temporary, path)
    except BaseException:
        with suppress(FileNotFoundError):
            Path(temporary).unlink()
        raise
