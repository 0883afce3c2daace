"""The folder for all data that Hintbench writes."""

import os
import shutil
from pathlib import Path

MINIMUM_FREE_DISK = 50_000_000
"""Bytes of free disk that a start needs for the database and the logs."""


class UnusableFolderError(Exception):
    """The folder for all data cannot be used; the message says why and what to do."""


def describe_unusable(error: OSError) -> str:
    """Return which file or folder cannot be used, the reason, and the variable that names another folder."""
    return f"{error.filename}: {error.strerror}. HINTBENCH_VAR names the folder for all data."


def make_private_folder(folder: Path) -> None:
    """Create the folder, or restrict an existing one, so that only this user has access.

    The umask of this process and its children is set to keep new files private, too. Raises UnusableFolderError, also
    if less than MINIMUM_FREE_DISK is free.
    """
    os.umask(0o077)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise UnusableFolderError(describe_unusable(error)) from error
    if free < MINIMUM_FREE_DISK:
        raise UnusableFolderError(
            f"only {free / 1e6:.0f} MB are free on the disk of {folder}, and {MINIMUM_FREE_DISK / 1e6:.0f} MB are "
            "needed. Free some space, or set HINTBENCH_VAR to a folder on another disk."
        )
