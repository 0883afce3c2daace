"""Immutable files in memory, which a sandboxed process gets instead of files of the host."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

_CHUNK = 2**30
_SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE


@contextlib.contextmanager
def sealed_file(content: bytes | Path) -> Iterator[int]:
    """Yield a descriptor of a sealed file with this content, or that of a file, positioned at its beginning.

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
        yield descriptor
    finally:
        os.close(descriptor)


def _write(content: bytes, descriptor: int) -> None:
    written = 0
    while written < len(content):
        written += os.pwrite(descriptor, memoryview(content)[written:], written)


def _copy(path: Path, descriptor: int) -> None:
    """Copy a file inside of the kernel."""
    source = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        while os.sendfile(descriptor, source, None, _CHUNK):
            continue
        os.lseek(descriptor, 0, os.SEEK_SET)
    finally:
        os.close(source)
