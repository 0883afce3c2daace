"""Blobs in a folder of this host."""

import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from benchmark.blob_stores.store import BlobMissingError, digest_of, is_digest, verified


class FolderStore:
    """A `BlobStore` in a folder. The file of a blob is in a subfolder named by the first two digits of its digest."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __str__(self) -> str:
        return str(self._folder)

    def put(self, content: bytes) -> str:
        """See `BlobStore`."""
        digest = digest_of(content)
        target = self.path(digest)
        # A crash of the machine may have left a file that is too short; reading all of it would take longer.
        if not target.exists() or target.stat().st_size != len(content):
            write_atomically(target, content, durable=True)  # rows that name the blob are durable too
        return digest

    def path(self, digest: str) -> Path:
        """See `BlobStore`."""
        return self._folder / digest[:2] / digest

    def fetch(self, digests: Iterable[str]) -> None:
        """See `BlobStore`."""

    def load(self, digest: str) -> bytes:
        """See `BlobStore`."""
        try:
            content = self.path(digest).read_bytes()
        except FileNotFoundError:
            raise BlobMissingError(f"The blob {digest} is not in {self._folder}.") from None
        return verified(digest, content, str(self._folder))

    def digests(self) -> Iterator[str]:
        """See `BlobStore`."""
        for folder in sorted(self._folder.glob("[0-9a-f][0-9a-f]")):
            yield from sorted(one.name for one in folder.iterdir() if is_digest(one.name))

    def sizes(self) -> dict[str, int]:
        """See `BlobStore`."""
        return {digest: self.path(digest).stat().st_size for digest in self.digests()}

    def contains(self, digest: str) -> bool:
        """See `BlobStore`."""
        return self.path(digest).exists()

    def remove(self, digest: str) -> None:
        """See `BlobStore`."""
        self.path(digest).unlink(missing_ok=True)


def write_atomically(target: Path, content: bytes, *, durable: bool = False) -> None:
    """Write a file atomically, in a folder that only its owner can read; with `durable`, wait for the disk."""
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
