"""Unpacking of untrusted zip archives and gzip files."""

import gzip
import io
import lzma
import stat
import zipfile
import zlib
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TextIO

from django.conf import settings

from benchmark.datasets.records import SourceError

MAXIMUM_UNPACKED: int = settings.IMPORT_MAXIMUM_UNPACKED
"""Maximum total size in bytes. The default exceeds the largest real contest with all its packages."""

MAXIMUM_FILES = 50_000

MAXIMUM_RATIO = 500
"""Maximum unpacked bytes per byte of the archive beyond the first `_ANY_RATIO`; real test data compresses less."""

_ANY_RATIO = 64 * 2**20

_CHUNK = 2**20

_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    OSError,
)
"""What `zipfile` raises for an archive that it cannot read; ValueError for example for a name that is not UTF-8."""


def unpack(archive: Path, folder: Path) -> None:
    """Unpack the zip archive into the empty folder.

    Raises SourceError for an unreadable zip, members outside the folder, links, encrypted members, more than
    MAXIMUM_FILES members, more than MAXIMUM_UNPACKED bytes, or more than MAXIMUM_RATIO times the archive's size.
    Declared sizes can only reject an archive early; the limits apply to the bytes that are unpacked.
    """
    try:
        with zipfile.ZipFile(archive) as content:
            members = content.infolist()
            if len(members) > MAXIMUM_FILES:
                raise SourceError(f"{archive} contains {len(members)} files; the maximum is {MAXIMUM_FILES}")
            for member in members:
                _refuse_hostile(archive, member)
            if sum(member.file_size for member in members) > MAXIMUM_UNPACKED:
                raise _too_large(archive)
            left = _bound(archive)
            for member in members:
                left -= _write(content, member, folder, left)
                if left < 0:
                    raise _too_large(archive)
    except _DAMAGED as error:
        raise SourceError(
            f"{archive} cannot be unpacked: {error}. It may be damaged: fetch it again."
        ) from error


def _refuse_hostile(archive: Path, member: zipfile.ZipInfo) -> None:
    name = member.filename
    parts = PurePosixPath(name.replace("\\", "/")).parts
    if name.startswith(("/", "\\")) or ".." in parts or PureWindowsPath(name).drive or "\0" in name:
        raise SourceError(
            f"{archive} contains {name!r}, which would be written outside its folder; nothing was imported"
        )
    kind = stat.S_IFMT(member.external_attr >> 16)
    if kind and not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
        raise SourceError(
            f"{archive} contains {name!r}, which is a link or a special file; nothing was imported"
        )
    if member.flag_bits & 0x1:
        raise SourceError(f"{archive} is encrypted; unpack it and import the folder")


def _write(content: zipfile.ZipFile, member: zipfile.ZipInfo, folder: Path, left: int) -> int:
    """Unpack one member and return the bytes written: at most one chunk more than `left`."""
    target = folder / member.filename.replace("\\", "/")
    if member.is_dir():
        target.mkdir(parents=True, exist_ok=True)
        return 0
    target.parent.mkdir(parents=True, exist_ok=True)
    written = 0
    with content.open(member) as packed, target.open("xb") as unpacked:
        while written <= left and (chunk := packed.read(_CHUNK)):
            unpacked.write(chunk)
            written += len(chunk)
    return written


def open_gzip(file: Path) -> TextIO:
    """Open a gzip file as UTF-8 text. Its reads raise SourceError beyond the bounds of `unpack`."""
    return io.TextIOWrapper(io.BufferedReader(_BoundedGzip(file), _CHUNK), encoding="utf-8")


class _BoundedGzip(io.RawIOBase):
    """The unpacked bytes of a gzip file, up to the bounds of `unpack`."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._packed = gzip.GzipFile(file)
        self._left = _bound(file)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Read at most one chunk. Raises SourceError beyond the bounds."""
        count = self._packed.readinto(buffer)
        self._left -= count
        if self._left < 0:
            raise _too_large(self._file)
        return count

    def close(self) -> None:
        self._packed.close()
        super().close()


def _bound(archive: Path) -> int:
    """Return the number of bytes to which the archive may unpack."""
    return min(MAXIMUM_UNPACKED, _ANY_RATIO + MAXIMUM_RATIO * archive.stat().st_size)


def _too_large(archive: Path) -> SourceError:
    return SourceError(
        f"{archive} would unpack to more than {MAXIMUM_UNPACKED // 2**20} MiB or {MAXIMUM_RATIO} times its size; "
        "unpack it yourself and import the result if you trust it, or raise IMPORT_UNPACKED_MB"
    )
