"""Jobs that tests send to a real worker."""

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
    """Record the start, then sleep for a minute."""
    note(path, str(os.getpid()))
    time.sleep(60)
    note(path, "finished")


def leave_proof(job: Job, *result: Any) -> None:
    """Create the file named in the metadata of the job, as the callback of an attacker would."""
    Path(job.meta["proof"]).touch()
