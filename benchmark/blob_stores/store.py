"""What every store of blobs does, and its errors."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol


class BlobMissingError(FileNotFoundError):
    """An error for a blob that is not stored."""


class BlobStoreError(Exception):
    """A store that fails to return or save a blob; the message says why and what to do."""


class BlobStoreUnavailableError(BlobStoreError):
    """A store that is temporarily unavailable. The same call may succeed later."""


class DamagedBlobError(BlobStoreError):
    """A stored blob whose name is not the sha256 of its bytes."""


class BlobStore(Protocol):
    """A store of blobs. Every method but `path` and `fetch` reads and writes the store itself, never a cache."""

    def put(self, content: bytes) -> str:
        """Store the content and return its digest. A crash leaves no incomplete blob. Raises BlobStoreError."""
        ...

    def path(self, digest: str) -> Path:
        """Return the path of a file with the blob on this host. Raises BlobMissingError and BlobStoreError.

        The file stays for at least an hour. A folder returns the path of a missing blob too.
        """
        ...

    def fetch(self, digests: Iterable[str]) -> None:
        """Make sure that this host has files with these blobs. Raises the errors of `path`."""
        ...

    def load(self, digest: str) -> bytes:
        """Return the bytes of the blob. Raises BlobMissingError, DamagedBlobError and BlobStoreError."""
        ...

    def digests(self) -> Iterator[str]:
        """Yield the digests of all stored blobs in ascending order. Raises BlobStoreError."""
        ...

    def sizes(self) -> dict[str, int]:
        """Return the bytes of each stored blob by digest, without reading the blobs. Raises BlobStoreError."""
        ...

    def contains(self, digest: str) -> bool:
        """Return whether the blob is stored, without reading it. Raises BlobStoreError."""
        ...

    def remove(self, digest: str) -> None:
        """Remove the blob, also from this host's cache. Does nothing if it is not stored. Raises BlobStoreError."""
        ...


def digest_of(content: bytes) -> str:
    """Return the sha256 of the bytes in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def is_digest(name: str) -> bool:
    """Return whether a file name is a sha256 in hexadecimal."""
    return len(name) == 64 and not set(name) - set("0123456789abcdef")


def verified(digest: str, content: bytes, place: str) -> bytes:
    """Return the content if its sha256 is the digest. Otherwise raises DamagedBlobError, which names the place."""
    if digest_of(content) != digest:
        raise DamagedBlobError(
            f"The blob {digest} in {place} is damaged: its bytes have another sha256. Restore it from a backup, or "
            "remove it and import its problem again."
        )
    return content
