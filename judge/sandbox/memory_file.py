"""Immutable files in memory, which a sandboxed process gets instead of files of the host."""

import contextlib
import fcntl
import os
from collections.abc import Iterator

_SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE


@contextlib.contextmanager
def sealed_file(content: bytes) -> Iterator[int]:
    """Yield a descriptor of a sealed file with this content, positioned at its beginning.

    A program can reopen each of its descriptors through /proc/self/fd, for writing where permissions allow. This
    file has no path on the host and refuses every change.
    """
    descriptor = os.memfd_create("input", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        written = 0
        while written < len(content):
            written += os.pwrite(descriptor, memoryview(content)[written:], written)
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SEALS)
        yield descriptor
    finally:
        os.close(descriptor)
