"""Test data and figures on disk. The name of a file is the sha256 of its bytes.

Equal content is stored once, and a stored file never changes.
"""

import hashlib
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings


def put(content: bytes) -> str:
    """Store the content and return its sha256 in hexadecimal. A crash leaves no incomplete file."""
    digest = hashlib.sha256(content).hexdigest()
    target = path(digest)
    if target.exists():
        return digest
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return digest


def path(digest: str) -> Path:
    """Return the path of the blob with this hash, whether or not it exists."""
    return Path(settings.BLOBS) / digest[:2] / digest


def read(digest: str) -> bytes:
    """Return the bytes of the blob. Raises FileNotFoundError if it is not stored here."""
    return path(digest).read_bytes()


def digests() -> Iterator[str]:
    """Yield the hash of each stored blob, in order."""
    for folder in sorted(Path(settings.BLOBS).glob("[0-9a-f][0-9a-f]")):
        yield from sorted(file.name for file in folder.iterdir() if re.fullmatch("[0-9a-f]{64}", file.name))


def remove(digest: str) -> None:
    """Delete the blob with this hash, if it is stored."""
    path(digest).unlink(missing_ok=True)
