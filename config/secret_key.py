"""The secret key that signs browser sessions."""

import os
from pathlib import Path

from django.core.management.utils import get_random_secret_key

from config.env import env_text

FILE = "secret_key"
"""The file of the key in the variable folder, unless the environment has the key."""


def secret_key(var: Path) -> str:
    """Return SECRET_KEY of the environment, else the key in `var/secret_key`, which is created with mode 0600."""
    given = env_text("SECRET_KEY")
    if given:
        return given
    var.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = var / FILE
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return path.read_text().strip()
    with os.fdopen(descriptor, "w") as file:
        file.write(get_random_secret_key() + get_random_secret_key())
    return path.read_text().strip()
