"""Compiled programs in the cache: the same source is compiled once.

An entry is one file: a digest of its name and content, the length of the compiler's messages, the messages and the
program. The digest detects damaged and renamed entries. It does not make a program trustworthy: programs run only in
the sandbox.
"""

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

from judge.cache.folder import is_private, mark_used, private_folder, programs_folder, remove, trim

_DIGEST = hashlib.sha256().digest_size
_LENGTH = 8
_OPENED = (
    os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
)  # without waiting for the writer of a pipe


def load_program(key: str) -> tuple[bytes, bytes] | None:
    """Return the program stored under the key and the compiler's messages, or None without a valid entry."""
    try:
        entry = os.open(f"{programs_folder()}/{key}", _OPENED)
        with open(entry, "rb", buffering=0) as file:
            if not is_private(os.fstat(entry)):
                return None
            content = file.readall()
            mark_used(entry)
    except OSError:
        return None
    digest, body = content[:_DIGEST], content[_DIGEST:]
    if digest != _digest(key, body):
        return None
    end = _LENGTH + int.from_bytes(body[:_LENGTH], "big")
    return body[end:], body[_LENGTH:end]


def store_program(key: str, program: bytes, messages: bytes) -> None:
    """Store a program and the compiler's messages under the key. Do nothing where the cache cannot be written."""
    folder = programs_folder()
    body = len(messages).to_bytes(_LENGTH, "big") + messages + program
    with contextlib.suppress(OSError):
        if not private_folder(folder):
            return
        descriptor, name = tempfile.mkstemp(dir=folder, prefix="new-")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(_digest(key, body) + body)
            Path(name).replace(folder / key)
        except OSError:
            remove(Path(name))
    if key.startswith("0"):  # trimming reads the whole cache: one program in sixteen triggers it
        trim()


def _digest(key: str, body: bytes) -> bytes:
    return hashlib.sha256(key.encode() + body).digest()
