"""Stores of blobs: a folder, or a bucket of an S3-compatible server with a cache on each host.

The name of a blob is the sha256 of its bytes in hexadecimal. A stored blob never changes.
"""

from benchmark.blob_stores.bucket import BucketStore
from benchmark.blob_stores.folder import FolderStore
from benchmark.blob_stores.location import Bucket, BucketLocationError, parse_bucket
from benchmark.blob_stores.store import (
    BlobMissingError,
    BlobStore,
    BlobStoreError,
    BlobStoreUnavailableError,
    DamagedBlobError,
    digest_of,
)

__all__ = [
    "BlobMissingError",
    "BlobStore",
    "BlobStoreError",
    "BlobStoreUnavailableError",
    "Bucket",
    "BucketLocationError",
    "BucketStore",
    "DamagedBlobError",
    "FolderStore",
    "digest_of",
    "parse_bucket",
]
