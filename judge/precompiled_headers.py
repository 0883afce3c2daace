"""The header that most contest programs include, compiled once for each compiler and set of flags.

An entry is a folder: `digest`, and `include` with the precompiled header in it, which compilations see read-only.
GCC itself refuses a precompiled header that does not fit the flags or what stands before the `#include`,
and then reads the real one.
"""

import contextlib
import fcntl
import functools
import hashlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from judge import cache
from judge.compiler import Files, compile_key, run_compiler, stored
from judge.languages import LANGUAGES, Language, ToolMissing, language_of
from judge.sandbox import Sandbox, SandboxFault, open_sandbox

_UNFINISHED = "new-"

_failed: set[Path] = set()
"""Entries that could not be made; trying again with every program would be slow."""


def prepare() -> None:
    """Make the precompiled headers that are missing of the languages that files are in when nobody says so.

    Those of the others (C++ 17 and 23) are made for the first program that can use them. Does nothing while another
    judge makes one. Takes some seconds of one core, and little where they are there. Raises SandboxUnavailable.
    """
    sandbox = open_sandbox()
    for language in LANGUAGES.values():
        with contextlib.suppress(ToolMissing, OSError):
            if language.precompiled and language_of(language.extensions[0]) == language.name:
                precompiled_headers(sandbox, language, _including(language, language.precompiled))


def precompiled_headers(sandbox: Sandbox, language: Language, files: Files) -> Path | None:
    """A folder to search for headers before all others, or None where there is none that could help these sources.

    Makes the precompiled header when it is missing or damaged, which takes some seconds. Raises ToolMissing and OSError
    as `compile_key` does.
    """
    header = language.precompiled
    if header is None or not any(header.encode() in content for _, content in files):
        return None
    source = _including(language, header)
    entry = headers_folder() / compile_key(language, "header", source)
    if _is_sound(entry, header):
        cache.mark_used(entry)
        return entry / "include"
    if entry in _failed:
        return None
    try:
        with _only_maker():
            if not _is_sound(entry, header):  # another judge may have made it meanwhile
                _make(sandbox, language, source, entry)
    except BlockingIOError:  # another judge is making it: compiling without it takes less time than waiting
        return None
    except (OSError, SandboxFault):
        pass  # a cache that cannot be written, or a sandbox that fails: there is no sound entry then
    if _is_sound(entry, header):
        return entry / "include"
    _failed.add(entry)
    return None


def headers_folder() -> Path:
    """The folder of the entries, which need not exist."""
    return cache.default_cache() / "headers"


@contextlib.contextmanager
def _only_maker() -> Iterator[None]:
    """Keep other judges of this cache from making headers, and remove what one that was killed has left behind.

    Raises BlockingIOError while another makes one, and OSError where there can be no header at all.
    """
    folder = headers_folder()
    if not cache.private_folder(folder):
        raise PermissionError(f"{folder} is open to other users")
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for unfinished in folder.glob(f"{_UNFINISHED}*"):
            cache.remove(unfinished)
        yield
    finally:
        os.close(descriptor)


def _including(language: Language, header: str) -> tuple[tuple[str, bytes], ...]:
    """The files of a program that holds nothing but the header."""
    return ((language.source_name, f"#include <{header}>\n".encode()),)


def _make(sandbox: Sandbox, language: Language, source: Files, entry: Path) -> None:
    assert language.precompiled is not None
    with tempfile.TemporaryDirectory(
        dir=entry.parent, prefix=_UNFINISHED, ignore_cleanup_errors=True
    ) as name:
        new = Path(name)
        folder_of_source = stored(new / "source", source)
        names = tuple(name for name, _ in source)
        outcome = run_compiler(sandbox, language, folder_of_source, names, options=("-x", "c++-header"))
        if outcome.exit_status != 0:
            return
        made = new / "entry"
        file = _file(made, language.precompiled)
        file.parent.mkdir(parents=True)
        for parent in (made, made / "include", file.parent):
            parent.chmod(0o755)
        file.write_bytes(outcome.stdout)
        file.chmod(0o644)
        (made / "digest").write_text(_bound(entry.name, hashlib.sha256(outcome.stdout).hexdigest()))
        cache.remove(entry)  # a damaged one
        made.rename(entry)  # OSError where another judge was faster


def _is_sound(entry: Path, header: str) -> bool:
    file = _file(entry, header)
    if not all(map(cache.is_ours, (entry.parent, entry, entry / "include", file.parent, file))):
        return False
    try:
        status = file.stat()
        digest = _digest(file, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        return (entry / "digest").read_text() == _bound(entry.name, digest)
    except (OSError, ValueError):
        return False


@functools.lru_cache(maxsize=8)
def _digest(file: Path, *_state: int) -> str:
    """The digest of a large file, read again only when the file has been touched."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _bound(key: str, digest: str) -> str:
    """A digest that fits under this key only."""
    return hashlib.sha256(f"{key} {digest}".encode()).hexdigest()


def _file(entry: Path, header: str) -> Path:
    return entry / "include" / f"{header}.gch"
