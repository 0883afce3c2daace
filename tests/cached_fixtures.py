"""Folders that are slow to create and only read: the first process that needs one creates it for the whole test run."""

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path


def cached_folder(name: str, fill: Callable[[Path], None]) -> Path:
    """Return the read-only folder of this name; the first call of all processes creates it with `fill`."""
    folder = Path(os.environ["HINTBENCH_TESTS"])
    path = folder / name
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            with tempfile.TemporaryDirectory(dir=folder) as unfinished:
                new = Path(unfinished) / name
                new.mkdir(mode=0o700)
                fill(new)
                new.rename(path)
    return path


def migrated_database() -> Path:
    """Return a SQLite file with every table."""
    return cached_folder("migrated", migrate) / "hintbench.sqlite3"


def add_database(var: Path) -> Path:
    """Copy a database with every table into a HINTBENCH_VAR and return the folder."""
    shutil.copy(migrated_database(), var)
    return var


def migrate(var: Path, database: str = "") -> None:
    """Create every table: in the SQLite file of a HINTBENCH_VAR, or in the empty database with this URL."""
    environment = {"DJANGO_SETTINGS_MODULE": "config.settings", "HINTBENCH_VAR": str(var)}
    if database:
        environment["DATABASE_URL"] = database
    subprocess.run(
        [sys.executable, "manage.py", "migrate", "--verbosity=0"],
        cwd=Path(__file__).resolve().parent.parent,
        env=os.environ | environment,
        check=True,
    )
