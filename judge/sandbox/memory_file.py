"""Immutable files in memory, which a sandboxed process gets instead of files of the host."""

import fcntl
import os
from pathlib import Path

_SMALL = 2**14  # a copy inside the kernel takes longer for few bytes
_CHUNK = 2**30
_SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE


def sealed_file(content: bytes | Path) -> int:
    """Return a descriptor of a new sealed file with this content, or that of a file, positioned at its beginning.

    A program can reopen each of its descriptors through /proc/self/fd, for writing where permissions allow. This
    file has no path on the host and refuses every change. Raises OSError for a file that cannot be read.
    """
    descriptor = os.memfd_create("input", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        if isinstance(content, Path):
            _copy(content, descriptor)
        else:
            _write(content, descriptor)
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SEALS)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _write(content: bytes, descriptor: int) -> None:
    written = 0
    while written < len(content):
        written += os.pwrite(descriptor, memoryview(content)[written:], written)


def _copy(path: Path, descriptor: int) -> None:
    """Copy a file, a large one inside the kernel."""
    source = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        beginning = os.read(source, _SMALL)
        _write(beginning, descriptor)
        if len(beginning) == _SMALL:
            os.lseek(descriptor, 0, os.SEEK_END)
            while os.sendfile(descriptor, source, None, _CHUNK):
                continue
            os.lseek(descriptor, 0, os.SEEK_SET)
    finally:
        os.close(source)
