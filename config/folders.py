"""The folder for everything that Hintbench writes."""

import os
from pathlib import Path


def make_private_folder(folder: Path) -> None:
    """Make the folder, and let this process and its children write for their own user only.

    A folder that is there already loses the permissions of other users. Raises OSError.
    """
    os.umask(0o077)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)
