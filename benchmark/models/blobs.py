"""Test data and figures on disk, by content: the file's name is the sha256 of its bytes.

Equal content is stored once, a stored file is never changed, and a row that names a hash can be checked.
"""

import hashlib
import os
import tempfile
from pathlib import Path

from django.conf import settings


def put(content: bytes) -> str:
    """Store `content` (once) and return its sha256 in hexadecimal. A crash leaves no half-written blob."""
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
    """Where the blob with this hash lies, whether or not it exists."""
    return Path(settings.BLOBS) / digest[:2] / digest


def read(digest: str) -> bytes:
    """The blob's bytes; raises FileNotFoundError when it was never stored here."""
    return path(digest).read_bytes()
