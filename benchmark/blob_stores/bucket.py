"""Blobs as objects of a bucket. boto3 reads the server's address and credentials from AWS_ENDPOINT_URL_S3 …"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from benchmark.blob_stores.cache import BlobCache
from benchmark.blob_stores.location import Bucket
from benchmark.blob_stores.store import (
    BlobMissingError,
    BlobStoreError,
    BlobStoreUnavailableError,
    digest_of,
    is_digest,
    verified,
)

PARALLEL_CALLS = 8
"""Maximum number of simultaneous calls of one process to the server."""

_CONNECT_TIMEOUT, _READ_TIMEOUT = 5, 30
_ATTEMPTS = 3

_MISSING = frozenset({"404", "NoSuchKey", "NotFound"})
_DENIED = frozenset({"401", "403", "AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch"})
_OVERLOADED = frozenset({"500", "502", "503", "504", "InternalError", "SlowDown", "ServiceUnavailable"})


class BucketStore:
    """A `BlobStore` in a bucket, read through a cache on this host. Instances are safe to use in several threads."""

    def __init__(self, bucket: Bucket, cache: BlobCache) -> None:
        self._bucket = bucket
        self._cache = cache

    def __str__(self) -> str:
        return str(self._bucket)

    def put(self, content: bytes) -> str:
        """See `BlobStore`."""
        digest = digest_of(content)
        if not self.contains(digest):
            with self._errors():
                self._client.put_object(Bucket=self._bucket.name, Key=self._key(digest), Body=content)
        if self._cache.find(digest) is None:
            self._cache.add(digest, content)
        return digest

    def path(self, digest: str) -> Path:
        """See `BlobStore`."""
        return self._cache.find(digest) or self._cache.add(digest, self.load(digest))

    def fetch(self, digests: Iterable[str]) -> None:
        """See `BlobStore`."""
        missing = [digest for digest in dict.fromkeys(digests) if self._cache.find(digest) is None]
        if not missing:
            return
        assert self._client  # created before the threads start
        with ThreadPoolExecutor(PARALLEL_CALLS, "blobs") as pool:
            for _ in pool.map(self.path, missing):
                pass

    def load(self, digest: str) -> bytes:
        """See `BlobStore`."""
        with self._errors(digest):
            answer = self._client.get_object(Bucket=self._bucket.name, Key=self._key(digest))
            content: bytes = answer["Body"].read()
        return verified(digest, content, str(self))

    def digests(self) -> Iterator[str]:
        """See `BlobStore`."""
        return (digest for digest, _ in self._objects())

    def sizes(self) -> dict[str, int]:
        """See `BlobStore`."""
        return dict(self._objects())

    def contains(self, digest: str) -> bool:
        """See `BlobStore`."""
        try:
            with self._errors(digest):
                self._client.head_object(Bucket=self._bucket.name, Key=self._key(digest))
        except BlobMissingError:
            return False
        return True

    def remove(self, digest: str) -> None:
        """See `BlobStore`."""
        self._cache.remove(digest)
        with self._errors():
            self._client.delete_object(Bucket=self._bucket.name, Key=self._key(digest))

    def _objects(self) -> Iterator[tuple[str, int]]:
        """Yield digest and bytes of each blob."""
        with self._errors():
            pages = self._client.get_paginator("list_objects_v2")
            for page in pages.paginate(Bucket=self._bucket.name, Prefix=self._bucket.prefix):
                for one in page.get("Contents", ()):
                    name = one["Key"].rpartition("/")[2]
                    if is_digest(name):
                        yield name, one["Size"]

    def _key(self, digest: str) -> str:
        return f"{self._bucket.prefix}{digest[:2]}/{digest}"

    @cached_property
    def _client(self) -> Any:
        import boto3  # loads slowly, and only sites with a bucket need it
        from botocore.config import Config

        config = Config(
            connect_timeout=_CONNECT_TIMEOUT,
            read_timeout=_READ_TIMEOUT,
            retries={"mode": "standard", "total_max_attempts": _ATTEMPTS},
            max_pool_connections=PARALLEL_CALLS,
            # Servers other than Amazon's lack newer checksums, and the names of the blobs are stronger ones.
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
            s3={"addressing_style": "path"},
        )
        return boto3.session.Session().client("s3", config=config)

    @contextmanager
    def _errors(self, digest: str = "") -> Iterator[None]:
        """Convert the errors of the SDK to those of stores. The messages contain no credentials."""
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            yield
        except ClientError as error:
            code = str(error.response.get("Error", {}).get("Code", ""))
            if code in _MISSING and digest:
                raise BlobMissingError(f"The blob {digest} is not in {self}.") from None
            if code in _DENIED:
                raise BlobStoreError(
                    f"{self} denies {error.operation_name} ({code}). Check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY "
                    "and the policy of the bucket."
                ) from None
            if code in _OVERLOADED:
                raise BlobStoreUnavailableError(f"{self} does not answer now ({code}).") from None
            raise BlobStoreError(
                f"{self} refuses {error.operation_name}: {code}. Check HINTBENCH_BLOBS."
            ) from None
        except (BotoCoreError, OSError) as error:
            if isinstance(error, BotoCoreError) and "Credentials" in type(error).__name__:
                raise BlobStoreError(
                    f"{self} needs credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."
                ) from None
            raise BlobStoreUnavailableError(
                f"{self} does not answer ({type(error).__name__}). Check AWS_ENDPOINT_URL_S3 and the server."
            ) from None
