"""Busy processes beside a measurement."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def busy_processes(count: int) -> Iterator[None]:
    """Keep this number of processes busy during the block.

    Each has a session of its own, because the kernel shares the processor among sessions first, and
    ends when this process has ended.
    """
    command = [sys.executable, "-c", f"import os\nwhile os.getppid() == {os.getpid()}: pass"]
    processes = [subprocess.Popen(command, start_new_session=True) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()
