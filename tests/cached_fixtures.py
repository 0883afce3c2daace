"""What takes long to make and is only read: made by the first process of a test run that needs it, for all of them."""

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path


def cached_folder(name: str, make: Callable[[Path], None]) -> Path:
    """The folder of this name, filled by `make` for the first process that asks, and changed by nobody."""
    folder = Path(os.environ["HINTBENCH_TESTS"])
    place = folder / name
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.exists():
            with tempfile.TemporaryDirectory(dir=folder) as unfinished:
                made = Path(unfinished) / name
                made.mkdir(mode=0o700)
                make(made)
                made.rename(place)
    return place


def migrated_database() -> Path:
    """A SQLite file with every table, as the migrations leave it."""
    return cached_folder("migrated", migrate) / "hintbench.sqlite3"


def add_database(var: Path) -> Path:
    """Put a database with every table into a HINTBENCH_VAR that has none."""
    shutil.copy(migrated_database(), var)
    return var


def migrate(var: Path, database: str = "") -> None:
    """Make every table: in the SQLite file of a HINTBENCH_VAR, or in the empty database of that URL."""
    environment = {"DJANGO_SETTINGS_MODULE": "config.settings", "HINTBENCH_VAR": str(var)}
    if database:
        environment["DATABASE_URL"] = database
    subprocess.run(
        [sys.executable, "manage.py", "migrate", "--verbosity=0"],
        cwd=Path(__file__).resolve().parent.parent,
        env=os.environ | environment,
        check=True,
    )
