"""Jobs that tests give to a real worker."""

import os
import time
from pathlib import Path


def note(path: str, text: str) -> None:
    """Append a line to a file."""
    with Path(path).open("a") as file:
        file.write(f"{text}\n")


def work_long(path: str) -> None:
    """Note the start, then be busy for a minute."""
    note(path, str(os.getpid()))
    time.sleep(60)
    note(path, "finished")
