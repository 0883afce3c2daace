"""Test data and figures by the sha256 of their bytes, in the store of `settings.BLOBS`.

Equal content is stored once, and a stored blob never changes.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from django.conf import settings

from benchmark.blob_stores import BlobStore, Bucket, BucketStore, FolderStore
from benchmark.blob_stores.cache import BlobCache


def store() -> BlobStore:
    """Return the store of the settings."""
    return open_store(settings.BLOBS)


def open_store(location: Path | Bucket) -> BlobStore:
    """Return the store in a folder or a bucket. A bucket is read through the cache of the settings."""
    if isinstance(location, Bucket):
        return _bucket_store(location, Path(settings.BLOBS_CACHE), settings.BLOBS_CACHE_BYTES)
    return FolderStore(Path(location))


@cache
def _bucket_store(bucket: Bucket, folder: Path, bound: int) -> BucketStore:
    return BucketStore(bucket, BlobCache(folder, bound))


def put(content: bytes) -> str:
    """Store the content and return its sha256 in hexadecimal. Raises BlobStoreError."""
    return store().put(content)


def path(digest: str) -> Path:
    """Return the path of a file with this blob. Raises BlobMissingError and BlobStoreError for a bucket.

    In a folder, the file of a missing blob does not exist.
    """
    return store().path(digest)


def fetch(digests: Iterable[str]) -> None:
    """Make sure that this host has files with these blobs. Raises the errors of `path`."""
    store().fetch(digests)


def read(digest: str) -> bytes:
    """Return the bytes of the blob. Raises FileNotFoundError if it is not stored, and BlobStoreError."""
    return path(digest).read_bytes()


def digests() -> Iterator[str]:
    """Yield the hash of each stored blob, in order. Raises BlobStoreError."""
    return store().digests()


def remove(digest: str) -> None:
    """Delete the blob with this hash, if it is stored. Raises BlobStoreError."""
    store().remove(digest)
