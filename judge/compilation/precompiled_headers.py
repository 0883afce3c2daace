"""Precompiled headers: the header that most contest programs include, compiled once for each compiler and its flags.

An entry is a folder: `digest`, and `include` with the precompiled header, which compilations see read-only.
GCC itself rejects a precompiled header that does not fit the flags or the text before the `#include`,
and then reads the original header.
"""

import contextlib
import fcntl
import functools
import hashlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from judge.cache import headers_folder, is_trusted, mark_used, private_folder, remove
from judge.compilation.compiler import Files, compile_key, run_compiler
from judge.sandbox import Sandbox, SandboxFaultError, open_sandbox
from judge.toolchains import LANGUAGES, Language, ToolMissingError, language_of

_UNFINISHED = "new-"

_failed: set[Path] = set()
"""Entries that could not be created; a retry for every program would be slow."""


def prepare() -> None:
    """Create the missing precompiled headers of the default languages of their suffixes.

    Headers of other languages (C++ 17 and 23) are created for the first program that can use them. Does nothing while
    another judge creates one. Takes some seconds of one core if headers are missing. Raises SandboxUnavailableError.
    """
    sandbox = open_sandbox()
    for language in LANGUAGES.values():
        with contextlib.suppress(ToolMissingError, OSError):
            if language.precompiled and language_of(language.extensions[0]) == language.name:
                precompiled_headers(sandbox, language, _including(language, language.precompiled))


def precompiled_headers(sandbox: Sandbox, language: Language, files: Files) -> Path | None:
    """Return a folder that must precede all include folders, or None if no precompiled header helps these sources.

    Creates the precompiled header if it is missing or damaged, which takes some seconds. Raises ToolMissingError and
    OSError like `compile_key`.
    """
    header = language.precompiled
    if header is None or not any(header.encode() in content for _, content in files):
        return None
    source = _including(language, header)
    entry = headers_folder() / compile_key(language, "header", source)
    if _is_valid(entry, header):
        mark_used(entry)
        return entry / "include"
    if entry in _failed:
        return None
    try:
        with _exclusive():
            if not _is_valid(entry, header):  # another judge may have created it meanwhile
                _create(sandbox, language, source, entry)
    except BlockingIOError:  # another judge is creating it: compiling without it is faster than waiting
        return None
    except (OSError, SandboxFaultError):
        pass  # the cache cannot be written, or the sandbox fails: no valid entry exists
    if _is_valid(entry, header):
        return entry / "include"
    _failed.add(entry)
    return None


@contextlib.contextmanager
def _exclusive() -> Iterator[None]:
    """Lock the headers of this cache against other judges, and remove unfinished entries of killed judges.

    Raises BlockingIOError while another judge holds the lock, and OSError where the cache cannot be used.
    """
    folder = headers_folder()
    if not private_folder(folder):
        raise PermissionError(f"{folder} is open to other users")
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for unfinished in folder.glob(f"{_UNFINISHED}*"):
            remove(unfinished)
        yield
    finally:
        os.close(descriptor)


def _including(language: Language, header: str) -> tuple[tuple[str, bytes], ...]:
    """Return the files of a program that contains only the header."""
    return ((language.source_name, f"#include <{header}>\n".encode()),)


def _create(sandbox: Sandbox, language: Language, source: Files, entry: Path) -> None:
    assert language.precompiled is not None
    with tempfile.TemporaryDirectory(
        dir=entry.parent, prefix=_UNFINISHED, ignore_cleanup_errors=True
    ) as name:
        new = Path(name)
        names = tuple(name for name, _ in source)
        outcome = run_compiler(sandbox, language, source, names, options=("-x", "c++-header"))
        if outcome.exit_status != 0:
            return
        unfinished = new / "entry"
        file = _file(unfinished, language.precompiled)
        file.parent.mkdir(parents=True)
        for parent in (unfinished, unfinished / "include", file.parent):
            parent.chmod(0o755)
        file.write_bytes(outcome.stdout)
        file.chmod(0o644)
        (unfinished / "digest").write_text(_bound(entry.name, hashlib.sha256(outcome.stdout).hexdigest()))
        remove(entry)  # damaged, if it exists
        unfinished.rename(entry)  # raises OSError if another judge was faster


def _is_valid(entry: Path, header: str) -> bool:
    file = _file(entry, header)
    if not all(map(is_trusted, (entry.parent, entry, entry / "include", file.parent, file))):
        return False
    try:
        status = file.stat()
        times = status.st_mtime_ns, status.st_ctime_ns
        digest = _digest(_FileVersion(file, status.st_ino, status.st_size, times))
        return (entry / "digest").read_text() == _bound(entry.name, digest)
    except (OSError, ValueError):
        return False


class _FileVersion(NamedTuple):
    """A file with the attributes that change when the file does."""

    path: Path
    inode: int
    size: int
    times: tuple[int, int]


@functools.lru_cache(maxsize=8)
def _digest(version: _FileVersion) -> str:
    """Return the digest of a large file. Cached until the file changes."""
    with version.path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _bound(key: str, digest: str) -> str:
    """Return a digest that is valid under this key only."""
    return hashlib.sha256(f"{key} {digest}".encode()).hexdigest()


def _file(entry: Path, header: str) -> Path:
    return entry / "include" / f"{header}.gch"
