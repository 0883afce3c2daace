"""Jobs that tests give to a real worker."""

import os
import time
from pathlib import Path
from typing import Any

from rq.job import Job


def note(path: str, text: str) -> None:
    """Append a line to a file."""
    with Path(path).open("a") as file:
        file.write(f"{text}\n")


def work_long(path: str) -> None:
    """Note the start, then be busy for a minute."""
    note(path, str(os.getpid()))
    time.sleep(60)
    note(path, "finished")


def leave_proof(job: Job, *result: Any) -> None:
    """Make the file that the job's metadata name: the callback that an intruder would add."""
    Path(job.meta["proof"]).touch()
