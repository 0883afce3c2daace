"""Folders of JSON lines whose manifest has the size, the number of lines and the sha256 of every file."""

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self, TypeVar
from uuid import UUID

from django.db import connection
from pydantic import ValidationError

from benchmark.transfer.records import FAMILY, FILES, FORMAT, VERSION, FileEntry, Manifest, Record

MANIFEST = "manifest.json"
LONGEST_MANIFEST = 16 * 2**20
LONGEST_LINE = 64 * 2**20
"""The maximum number of bytes in a line. The longest reply of a model is far shorter."""

_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")

R = TypeVar("R", bound=Record)


class FolderError(Exception):
    """A folder that is not a valid export; the message names the file, the line and the reason."""


def canonical(record: dict[str, Any]) -> str:
    """Return the one JSON text of a record: sorted names, no spaces, no line break. Raises ValueError for NaN."""
    return json.dumps(record, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


def content_hash(files: list[FileEntry], run: UUID) -> str:
    """Return the hash of the content of a run: sha256 over the names and hashes of its files."""
    own = sorted(f"{file.name} {file.sha256}" for file in files if file.name.startswith(f"{run}/"))
    return hashlib.sha256("\n".join(own).encode()).hexdigest()


class FileWriter:
    """A writer of one file of JSON lines, which counts and hashes what it writes."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self.rows = self._bytes = 0
        self._digest = hashlib.sha256()
        path = folder / name
        path.parent.mkdir(mode=0o700, exist_ok=True)
        self._file = path.open("xb")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def write(self, line: str) -> int:
        """Write a line and return its number, from 1."""
        content = line.encode() + b"\n"
        self._file.write(content)
        self._digest.update(content)
        self._bytes += len(content)
        self.rows += 1
        return self.rows

    @property
    def entry(self) -> FileEntry:
        """The entry of the file in the manifest."""
        return FileEntry(name=self.name, bytes=self._bytes, rows=self.rows, sha256=self._digest.hexdigest())


def write_manifest(folder: Path, runs: list[UUID], files: list[FileEntry]) -> None:
    """Write the manifest, which ends an export."""
    manifest = Manifest(format=FORMAT, runs=sorted(runs), files=sorted(files, key=lambda file: file.name))
    text = json.dumps(manifest.to_json(), sort_keys=True, indent=1)
    (folder / MANIFEST).write_text(text + "\n", encoding="utf-8")


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of a folder that holds exactly its files, with the stated sizes. Raises FolderError."""
    path = folder / MANIFEST
    if path.is_symlink() or not path.is_file():
        raise FolderError(f"{folder} has no file {MANIFEST}: it is not a folder of export_run.")
    if path.stat().st_size > LONGEST_MANIFEST:
        raise FolderError(f"{MANIFEST}: longer than {LONGEST_MANIFEST:,} bytes.")
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise FolderError(f"{MANIFEST}: not JSON: {error}.") from None
    _check_format(document)
    try:
        manifest = Manifest.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise FolderError(f"{MANIFEST}: {reason_of(error)}") from None
    _check_names(manifest)
    _check_sizes(folder, manifest)
    return manifest


def _check_format(document: Any) -> None:
    stated = document.get("format") if isinstance(document, dict) else None
    if stated == FORMAT:
        return
    family, _, version = str(stated).partition("/")
    if family == FAMILY and version.isdecimal() and int(version) > VERSION:
        raise FolderError(
            f"{MANIFEST}: the format is {stated}, and this version of Hintbench reads {FORMAT}. "
            "Import it with a newer version."
        )
    raise FolderError(f"{MANIFEST}: the format is {str(stated)[:80]!r}, not {FORMAT}.")


def _check_names(manifest: Manifest) -> None:
    """Raise FolderError unless the manifest names each file of each run once, and no other file."""
    expected = {f"{run}/{name}" for run in manifest.runs for name in FILES}
    names = [file.name for file in manifest.files]
    if twice := sorted(
        {name for name in names if names.count(name) > 1} if len(set(names)) < len(names) else ()
    ):
        raise FolderError(f"{MANIFEST}: {twice[0]} occurs twice.")
    for name in sorted(expected ^ set(names)):
        reason = "is missing from the list" if name in expected else "belongs to no run of the list"
        raise FolderError(f"{MANIFEST}: {name} {reason}.")


def _check_sizes(folder: Path, manifest: Manifest) -> None:
    for file in manifest.files:
        path = folder / file.name
        if path.is_symlink() or path.parent.is_symlink() or not path.is_file():
            raise FolderError(f"{file.name}: the manifest names this file, but there is none.")
        if (size := path.stat().st_size) != file.bytes:
            state = "truncated" if size < file.bytes else "altered"
            raise FolderError(f"{file.name}: {size:,} bytes instead of {file.bytes:,}; the file is {state}.")
    listed = {folder / file.name for file in manifest.files} | {folder / MANIFEST}
    for path in sorted(folder.rglob("*")):
        if path not in listed and not (path.is_dir() and path.parent == folder and _has_files(path, listed)):
            raise FolderError(f"{path.relative_to(folder)}: the manifest does not name this file.")


def _has_files(path: Path, listed: set[Path]) -> bool:
    return any(file.parent == path for file in listed)


def read_lines(folder: Path, entry: FileEntry) -> Iterator[bytes]:
    """Yield the lines of a file. Raises FolderError at its end if its hash or its number of lines differs."""
    digest = hashlib.sha256()
    rows = 0
    with (folder / entry.name).open("rb") as file:
        for line in _lines(file, entry.name):
            digest.update(line)
            rows += 1
            yield line
    if digest.hexdigest() != entry.sha256:
        raise FolderError(
            f"{entry.name}: its sha256 differs from the one in {MANIFEST}; the file is altered."
        )
    if rows != entry.rows:
        raise FolderError(f"{entry.name}: {rows:,} lines instead of {entry.rows:,}.")


def _lines(file: BinaryIO, name: str) -> Iterator[bytes]:
    for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE + 1), b""), 1):
        if len(line) > LONGEST_LINE:
            raise FolderError(f"{name}, line {number}: longer than {LONGEST_LINE:,} bytes.")
        yield line


def parse(kind: type[R], line: bytes, where: str) -> R:
    """Return the record of a line. Raises FolderError, whose message begins with `where`."""
    try:
        record = kind.model_validate_json(line)
    except ValidationError as error:
        raise FolderError(f"{where}: {reason_of(error)}") from None
    if connection.vendor == "postgresql" and _NUL.search(line):
        raise FolderError(f"{where}: a text holds the character NUL, which PostgreSQL does not store.")
    return record


def reason_of(error: ValidationError) -> str:
    """Return the first fault of a record in words."""
    first = error.errors(include_url=False, include_context=False)[0]
    place = ".".join(map(str, first["loc"]))
    given = repr(first["input"])
    shown = f" (it is {given if len(given) < 80 else given[:77] + '…'})" if first["type"] != "missing" else ""
    more = f"; {error.error_count() - 1} more faults" if error.error_count() > 1 else ""
    return f"{place + ': ' if place else ''}{first['msg']}{shown}{more}."
