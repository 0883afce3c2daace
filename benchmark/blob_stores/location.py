"""Addresses of buckets, such as `s3://bucket/prefix`. Importing this module loads no SDK."""

import re
from dataclasses import dataclass

_NAME = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_PREFIX = re.compile(r"(?:[A-Za-z0-9!_.*'()-]+/)*")


class BucketLocationError(ValueError):
    """An error for a text that is not the address of a bucket; the message explains the form."""


@dataclass(frozen=True)
class Bucket:
    """A bucket of an S3-compatible server. The keys of its objects begin with `prefix`, which is blank or ends in /."""

    name: str
    prefix: str = ""

    def __str__(self) -> str:
        return f"s3://{self.name}/{self.prefix}".rstrip("/")


def parse_bucket(text: str) -> Bucket:
    """Return the bucket of an address `s3://bucket/prefix`. Raises BucketLocationError."""
    name, _, rest = text.removeprefix("s3://").partition("/")
    prefix = f"{rest.strip('/')}/" if rest.strip("/") else ""
    if not text.startswith("s3://") or not _NAME.fullmatch(name) or not _PREFIX.fullmatch(prefix):
        raise BucketLocationError(
            f"{text!r} is not an address of a bucket: use s3://bucket or s3://bucket/prefix, with the server in "
            "AWS_ENDPOINT_URL_S3."
        )
    return Bucket(name, prefix)
