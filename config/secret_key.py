"""The secret that signs browser sessions: made once, kept in the variable folder, readable by its owner only."""

import os
from pathlib import Path

from django.core.management.utils import get_random_secret_key

from config.env import env_text


def secret_key(var: Path) -> str:
    """SECRET_KEY of the environment, else the one in `var/secret_key`, which is made (0600) when missing."""
    given = env_text("SECRET_KEY")
    if given:
        return given
    var.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = var / "secret_key"
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return path.read_text().strip()
    with os.fdopen(descriptor, "w") as file:
        file.write(get_random_secret_key() + get_random_secret_key())
    return path.read_text().strip()
