"""manage.py blobs: copy blobs between stores, and verify them."""

import json
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmark.blob_stores import (
    BlobMissingError,
    BlobStore,
    BlobStoreError,
    Bucket,
    BucketLocationError,
    DamagedBlobError,
    parse_bucket,
)
from benchmark.management.progress import progress_bar
from benchmark.models import blobs
from benchmark.models.blob_references import referenced_digests

_PARALLEL = 8
"""Number of blobs that are read or copied at once."""

_LISTED = 10
"""Maximum number of missing or damaged blobs that the text output lists; --json lists all."""


class Command(BaseCommand):
    help = (
        "Copy tests and figures between a folder and an S3-compatible bucket, or verify the bytes of each blob and "
        "that every blob that a row names is stored. Both may be repeated; a copy continues where it was interrupted."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        commands = parser.add_subparsers(dest="command", required=True)
        copy = commands.add_parser("copy", help="copy all blobs that the target lacks")
        copy.add_argument("source", metavar="FROM", help="a folder or s3://bucket/prefix")
        copy.add_argument("target", metavar="TO", help="a folder or s3://bucket/prefix")
        verify = commands.add_parser("verify", help="read every blob and compare its bytes with its name")
        verify.add_argument("store", nargs="?", metavar="STORE", help="default: the store of HINTBENCH_BLOBS")
        for one in (copy, verify):
            one.add_argument("--json", action="store_true", help="print one JSON document to standard output")

    def handle(self, *arguments: Any, **options: Any) -> None:
        try:
            if options["command"] == "copy":
                source, target = _opened(options["source"]), _opened(options["target"])
                found = _copy(source, target)
            else:
                found = _verify(_opened(options["store"]) if options["store"] else blobs.store())
        except (BlobStoreError, OSError) as error:
            raise CommandError(f"{error} What was copied is kept: repeat the command to continue.") from None
        self._print(found, as_json=options["json"])
        if found["missing"] or found["damaged"]:
            raise CommandError(
                f"{len(found['missing'])} blobs are missing and {len(found['damaged'])} are damaged. Restore them from "
                "a backup, or import their problems again."
            )

    def _print(self, found: dict[str, Any], *, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps(found))
            return
        if "copied" in found:
            self.stdout.write(f"{found['copied']} blobs copied, {found['present']} were there.")
        else:
            self.stdout.write(f"{found['verified']} blobs are stored and have the right bytes.")
        for name in ("missing", "damaged"):
            for digest in found[name][:_LISTED]:
                self.stdout.write(f"{name}: {digest}")
            if len(found[name]) > _LISTED:
                self.stdout.write(f"{name}: {len(found[name]) - _LISTED} more (--json lists all)")


def _opened(text: str) -> BlobStore:
    """Return the store with this address. Raises CommandError for an invalid address and a missing folder."""
    location: Path | Bucket = Path(text).absolute()
    if "://" in text:
        try:
            location = parse_bucket(text)
        except BucketLocationError as error:
            raise CommandError(str(error)) from None
    elif location != settings.BLOBS and not Path(text).is_dir():
        raise CommandError(f"{text} is not a folder. Make it, or use an address like s3://bucket/prefix.")
    return blobs.open_store(location)


def _copy(source: BlobStore, target: BlobStore) -> dict[str, Any]:
    """Copy every blob of the source that the target lacks; return counts and faults of blobs."""
    present = set(target.digests())
    stored = set(source.digests())
    missing = sorted(referenced_digests() - stored - present)
    damaged: list[str] = []
    copied = 0

    def copy(digest: str) -> bool:
        target.put(source.load(digest))
        return True

    for digest, done in _each(copy, sorted(stored - present), "copy"):
        copied += done is True
        if done is not True:
            (missing if isinstance(done, BlobMissingError) else damaged).append(digest)
    return {"copied": copied, "present": len(stored & present), "missing": missing, "damaged": damaged}


def _verify(store: BlobStore) -> dict[str, Any]:
    """Read every blob of the store; return counts and faults of blobs."""
    stored = set(store.digests())
    missing = sorted(referenced_digests() - stored)
    damaged: list[str] = []
    right = 0
    for digest, done in _each(lambda digest: store.load(digest) is not None, sorted(stored), "verify"):
        right += done is True
        if done is not True:
            (missing if isinstance(done, BlobMissingError) else damaged).append(digest)
    return {"verified": right, "missing": missing, "damaged": damaged}


def _each(
    work: Callable[[str], bool], digests: list[str], name: str
) -> Iterable[tuple[str, bool | BlobMissingError | DamagedBlobError]]:
    """Yield each digest with the result of the work or the fault of its blob, and show a progress bar.

    Raises BlobStoreError for a fault of the store.
    """

    def tried(digest: str) -> bool | BlobMissingError | DamagedBlobError:
        try:
            return work(digest)
        except (BlobMissingError, DamagedBlobError) as error:
            return error

    with ThreadPoolExecutor(_PARALLEL, "blobs") as pool:
        try:
            results = pool.map(tried, digests)
            yield from zip(
                digests, progress_bar(results, total=len(digests), unit="blob", desc=name), strict=True
            )
        finally:
            pool.shutdown(cancel_futures=True)
