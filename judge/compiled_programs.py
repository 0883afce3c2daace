"""Compiled programs kept in the cache, so that the same source is compiled once.

An entry is one file: a digest of its name and content, the length of what the compiler said, that, and the
program. The digest holds against damage and against renaming; it makes no program trustworthy, and none
is ever run outside the sandbox.
"""

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

from judge import cache
from judge.precompiled_headers import headers_folder

_DIGEST = hashlib.sha256().digest_size
_LENGTH = 8


def load_program(key: str) -> tuple[bytes, bytes] | None:
    """The program stored under this key and what the compiler said, or None where there is no sound entry."""
    entry = programs_folder() / key
    try:
        if not cache.is_ours(entry):
            return None
        content = entry.read_bytes()
    except OSError:
        return None
    digest, body = content[:_DIGEST], content[_DIGEST:]
    if digest != _digest(key, body):
        return None
    cache.mark_used(entry)
    end = _LENGTH + int.from_bytes(body[:_LENGTH], "big")
    return body[end:], body[_LENGTH:end]


def store_program(key: str, program: bytes, said: bytes) -> None:
    """Keep a program under this key. Where the cache cannot be written, nothing happens."""
    folder = programs_folder()
    body = len(said).to_bytes(_LENGTH, "big") + said + program
    with contextlib.suppress(OSError):
        if not cache.private_folder(folder):
            return
        descriptor, name = tempfile.mkstemp(dir=folder, prefix="new-")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(_digest(key, body) + body)
            Path(name).replace(folder / key)
        except OSError:
            cache.remove(Path(name))
    if key.startswith("0"):  # looking through a full cache takes a while: one program in sixteen does it
        cache.trim((folder, headers_folder()), cache.LIMIT)


def programs_folder() -> Path:
    """The folder of the entries, which need not exist."""
    return cache.default_cache() / "programs"


def _digest(key: str, body: bytes) -> bytes:
    return hashlib.sha256(key.encode() + body).digest()
