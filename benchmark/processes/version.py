"""The version of the running source."""

import subprocess
from functools import cache

from django.conf import settings


@cache
def source_version() -> str:
    """Return the version with the commit, such as "1.0.0 (b57de5ec)"; the version alone outside a git checkout.

    It is read once per process, so it names the source that the process has loaded.
    """
    command = ["git", "-C", str(settings.BASE_DIR), "rev-parse", "--short=8", "HEAD"]
    try:
        commit = subprocess.run(command, check=True, capture_output=True, text=True, timeout=5).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return str(settings.VERSION)
    return f"{settings.VERSION} ({commit})"
