"""The folder for all data that Hintbench writes."""

import os
from pathlib import Path


def make_private_folder(folder: Path) -> None:
    """Create the folder, or restrict an existing one, so that only this user has access. Raises OSError.

    The umask of this process and its children is set to keep new files private, too.
    """
    os.umask(0o077)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)
